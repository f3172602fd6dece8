// Outputs of commands: those that may be replaced, and those that are refused before the command begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "backends/base/error.h"
#include "cli/output_files.h"
#include "results/files/run_folder.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class OutputFiles : public testing::Test {
 protected:
  OutputFiles() {
    folder_.write("mine.toml", "mine");
    folder_.write("run/trials.jsonl", "");
    folder_.write("run/suite.toml", "");
    folder_.write("run/events/a.jsonl", "");
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  /// The error's text; "" if the outputs can be written. Whatever it is, no file is changed or left behind.
  std::string said_of(const std::vector<OutputFile>& outputs) const {
    std::string said;
    const auto names = [&] {
      std::vector<std::string> all;
      for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) all.push_back(entry.path());
      std::sort(all.begin(), all.end());
      return all;
    };
    const std::vector<std::string> before = names();
    try {
      check_output_files(outputs, std::array{at("mine.toml")});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      said = error.what();
    }
    EXPECT_EQ(names(), before);
    EXPECT_EQ(text_of(at("mine.toml")), "mine");
    return said;
  }

  Folder folder_;
};

TEST_F(OutputFiles, ThatCanBeWrittenAreLeftAsTheyAre) {
  folder_.write("old.csv", "old");
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(said_of({{"--json", "-"}, {"--csv", at("old.csv")}, {"--markdown", std::nullopt}, {"", at("new")}}), "");
  EXPECT_EQ(said_of({{"--json", at("pipe")}, {"--csv", "/dev/null"}, {"", at("run/report.html")}}), "");
  EXPECT_EQ(text_of(at("old.csv")), "old");
}

TEST_F(OutputFiles, ThatCannotBeWrittenAreNamed) {
  EXPECT_EQ(said_of({{"--json", at("no/x")}}),
            "--json=" + at("no/x") + ": there is no folder " + at("no") + ": make it first");
  EXPECT_THAT(said_of({{"-o", at("mine.toml/x")}}), HasSubstr("-o " + at("mine.toml/x") + ": there is no folder"));
  EXPECT_THAT(said_of({{"--csv", at("run")}}),
              AllOf(HasSubstr("--csv="), HasSubstr("cannot be written: Is a directory")));
  EXPECT_THAT(said_of({{"", at(std::string(300, 'x'))}}), HasSubstr("cannot be written: File name too long"));
  EXPECT_THAT(said_of({{"--junit", "/proc/x"}}), HasSubstr("--junit=/proc/x: cannot be written"));
}

TEST_F(OutputFiles, AreNotWhatTheCommandReads) {
  EXPECT_EQ(said_of({{"--csv", at("./mine.toml")}}),
            "--csv=" + at("./mine.toml") + ": this command itself reads or writes that file: name another");
  fs::create_symlink("mine.toml", at("link"));
  fs::create_hard_link(at("mine.toml"), at("twin"));
  EXPECT_THAT(said_of({{"--csv", at("link")}}), HasSubstr("itself reads"));
  EXPECT_THAT(said_of({{"--csv", at("twin")}}), HasSubstr("itself reads"));
}

TEST_F(OutputFiles, AreNoPartOfARun) {
  for (const char* name : {"run/trials.jsonl", "run/suite.toml", "run/host.csv", "run/events/a.jsonl", "run/events/b",
                           "run/baseline.json"})
    EXPECT_THAT(said_of({{"-o", at(name)}}), HasSubstr("that file is part of a run: name another")) << name;
  fs::create_directory(at("free"));
  EXPECT_EQ(said_of({{"-o", at("free/host.csv")}}), "");
}

TEST_F(OutputFiles, AreNotWrittenThroughALinkInARunsFolder) {
  folder_.write("elsewhere", "mine");
  fs::create_symlink("../elsewhere", at("run/report.html"));
  fs::create_symlink("../nowhere", at("run/trace.json"));
  fs::create_symlink("elsewhere", at("latest"));
  for (const char* name : {"run/report.html", "run/trace.json"})
    EXPECT_EQ(said_of({{"", at(name)}}), at(name) +
                                             ": a symbolic link in a run's folder is not written through: remove it, "
                                             "or name another file");
  EXPECT_EQ(said_of({{"-o", at("latest")}}), "") << "a link of the user's own";
}

TEST_F(OutputFiles, AreOneEach) {
  EXPECT_EQ(said_of({{"--json", "-"}, {"--csv", "-"}}),
            "--json and --csv cannot both go to standard output: give one of them a file, --csv=FILE");
  EXPECT_EQ(said_of({{"--json", at("x")}, {"--csv", at("run/../x")}}),
            "--json=" + at("x") + " and --csv=" + at("run/../x") + " are the same file: name two");
}

TEST_F(OutputFiles, TheGithubSummaryIsCheckedToo) {
  const auto said = [](const std::string& path, ExitCode code) -> std::string {
    const Variable variable("GITHUB_STEP_SUMMARY", path);
    try {
      check_github_summary();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(said("", ExitCode::kUsage), HasSubstr("$GITHUB_STEP_SUMMARY is not set"));
  EXPECT_THAT(said(at("run"), ExitCode::kEnvironment), HasSubstr("cannot write " + at("run")));
  EXPECT_EQ(said(at("summary.md"), ExitCode::kOk), "");
  EXPECT_FALSE(fs::exists(at("summary.md")));
}

// --- The folder of a run

class ResultFolder : public OutputFiles {
 protected:
  std::string said_of(const std::string& folder, ExitCode code = ExitCode::kUsage) const {
    try {
      check_free(at(folder), std::array{at("mine.toml")});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "";
  }
};

TEST_F(ResultFolder, IsNewOrEmpty) {
  fs::create_directory(at("empty"));
  EXPECT_EQ(said_of("empty"), "");
  EXPECT_EQ(said_of("empty/"), "");
  EXPECT_EQ(said_of("new/deep/er"), "");
  EXPECT_FALSE(fs::exists(at("new")));
}

TEST_F(ResultFolder, HoldsNothingOfTheUsers) {
  for (const char* name : {"notes/.hidden", "notes/a", "notes/b", "notes/c", "notes/suite.toml"})
    folder_.write(name, "x");
  EXPECT_EQ(said_of("notes"), at("notes") +
                                  " is not empty and does not hold a run of hopbench (.hidden, a, b and 2 more): "
                                  "choose a new or empty folder with -o");
  EXPECT_THROW(RunFolder::create(at("notes"), "", "{}"), Error);
  EXPECT_EQ(text_of(at("notes/suite.toml")), "x");
  EXPECT_FALSE(fs::exists(at("notes/events")));
}

TEST_F(ResultFolder, HoldsNoRunAndNoInput) {
  EXPECT_THAT(said_of("run"), HasSubstr("run holds a run already: go on with it by --resume " + at("run")));
  folder_.write("trials.jsonl", "");
  EXPECT_EQ(said_of("."), at(".") + " holds " + at("mine.toml") +
                              ", which this run reads and its results might overwrite: choose a new or empty folder "
                              "with -o");
}

TEST_F(ResultFolder, CanBeMade) {
  EXPECT_THAT(said_of("mine.toml", ExitCode::kEnvironment), HasSubstr("cannot make " + at("mine.toml")));
  EXPECT_THAT(said_of("mine.toml/sub", ExitCode::kEnvironment), HasSubstr("cannot make " + at("mine.toml/sub")));
}

TEST_F(ResultFolder, IsNotWrittenThroughItsLinks) {
  const RunFolder run = RunFolder::create(at("linked"), "", "{}");
  for (const char* name : {"linked/summary.md", "linked/summary.md.new"}) fs::create_symlink("../mine.toml", at(name));
  run.write_text("summary.md", "new");
  EXPECT_EQ(text_of(at("linked/summary.md")), "new");
  EXPECT_EQ(text_of(at("mine.toml")), "mine");
}

TEST_F(ResultFolder, IsGoneAgainIfItCannotBeFilled) {
  const std::string context(1 << 20, ' ');
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  fs::create_directory(at("empty"));
  for (const char* name : {"new", "empty"}) {
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_THROW(RunFolder::create(at(name), "", context), Error);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(said_of(name), "") << "the same command works once there is room";
  }
  EXPECT_FALSE(fs::exists(at("new")));
}

TEST(SafeFileNames, StayInTheirFolder) {
  EXPECT_EQ(safe_file_name("."), "%2E");
  EXPECT_EQ(safe_file_name(".."), "%2E.");
  EXPECT_EQ(safe_file_name("a.b"), "a.b");
}

}  // namespace
}  // namespace hopbench
