// No output of a command is a file that it reads. Which files a suite can name is taken from its language.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "suites/language/keys.h"
#include "tests/cli/cli.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A key that names a file: what a suite says with it, and what stands in the file.
struct Example {
  std::string model, scenario, file;
};

std::string rows_of_steps() {
  std::string text = "rank,step,seconds\n";
  for (int i = 0; i < 80; ++i) text += std::to_string(i % 4) + "," + std::to_string(i / 4) + ",0.1\n";
  return text;
}

/// A new key of that type needs an example here.
const std::map<std::string, Example> kExamples = {
    {"model.profile", {"profile = \"in.csv\"\n", "compute = []\n", "bytes,seconds\n4000,0.03\n4000,0.01\n"}},
    {"scenario.compute.file",
     {"size = 1000\n", "compute = [{ kind = \"trace\", file = \"in.csv\" }]\n", rows_of_steps()}},
    {"scenario.links.file",
     {"size = 1000\n", "links = [{ a = 0, b = 1, kind = \"trace\", file = \"in.csv\" }]\n",
      "time,bandwidth\n0,1e8\n1,2e8\n"}},
    {"scenario.faults.file",
     {"size = 1000\n", "faults = [{ kind = \"leave\", file = \"in.csv\" }]\n", "rank,from,until\n1,0.1,0.2\n"}},
};

std::string suite_with(const Example& example, bool cluster) {
  const bool paced = example.model.find("profile") == std::string::npos;
  return "schema = 1\n[run]\nworld_size = 4\niterations = 10\nrepeats = 1\nwarmup_time = \"0s\"\n[model]\nname = "
         "\"timing_only\"\n" +
         example.model + (paced ? "[compute]\npace = \"10ms\"\n" : "") +
         "[network]\nbandwidth = \"1Gbit/s\"\nlatency = \"100us\"\n" +
         (cluster ? "" : "[transport]\nname = \"sim\"\n") +
         "[[protocol]]\nname = \"ps_asp\"\n[[scenario]]\nname = \"s\"\n" + example.scenario;
}

class Inputs : public testing::Test {
 protected:
  void refused(const Args& words) const {
    SCOPED_TRACE(testing::PrintToString(words));
    const std::string before = contents(folder_.path());
    const Ended ended = hopbench(folder_.path(), words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("this command itself reads or writes that file"));
    EXPECT_EQ(contents(folder_.path()), before);
  }

  Folder folder_;
};

TEST_F(Inputs, HaveAnExampleForEachKeyThatNamesAFile) {
  for (const SuiteKey& key : suite_keys()) {
    EXPECT_EQ(key.type == KeyType::kFile, kExamples.contains(key.path)) << key.path;
    const std::string last = last_part(key.path);
    const bool a_name = last == "file" || last == "path" || last == "profile";
    EXPECT_EQ(key.type == KeyType::kFile || key.type == KeyType::kFolder, a_name) << key.path;
  }
}

TEST_F(Inputs, OfSuitesAreNoOutputsOfAnyCommand) {
  for (const auto& [key, example] : kExamples) {
    SCOPED_TRACE(key);
    folder_.write("s.toml", suite_with(example, false));
    folder_.write("job.toml", suite_with(example, true));
    folder_.write("in.csv", example.file);
    fs::remove_all(folder_ / "run");
    const Ended made = hopbench(folder_.path(), {"run", "s.toml", "-o", "run"});
    ASSERT_EQ(made.code, 0) << made.err;
    for (const char* flag : {"--json=in.csv", "--csv=in.csv", "--markdown=in.csv", "--junit=in.csv"})
      refused({"run", "s.toml", "-o", "other", flag});
    refused({"advise", "job.toml", "-r", "1", "-o", "other", "--json=in.csv"});
    refused({"run", "--resume", "run", "--json=in.csv"});
    refused({"report", "run", "-o", "in.csv"});
    refused({"trace", "run", "-o", "in.csv"});
    refused({"compare", "run", "run", "--csv=in.csv"});
    refused({"gate", "--baseline", "run", "run", "--json", "in.csv"});
    refused({"gate", "--base", "hopbench", "--head", "hopbench", "s.toml", "--junit", "in.csv"});
  }
}

TEST_F(Inputs, AreKnownByEveryName) {
  const Example& example = kExamples.at("scenario.compute.file");
  folder_.write("s.toml", suite_with(example, false));
  folder_.write("in.csv", example.file);
  fs::create_symlink("in.csv", folder_ / "link");
  fs::create_hard_link(folder_ / "in.csv", folder_ / "twin");
  for (const std::string& name :
       {std::string("./in.csv"), folder_ / "in.csv", std::string("link"), std::string("twin")})
    refused({"run", "s.toml", "-o", "other", "--json=" + name});
  folder_.write("profile.toml", suite_with({"size = 1000\n", "compute = []\n", ""}, false));
  refused({"run", "profile.toml", "--set", "scenario.s.compute=[{ kind = \"trace\", file = \"in.csv\" }]", "-o",
           "other", "--json=in.csv"});
}

TEST_F(Inputs, AreTracesThatARunReadsOnce) {
  folder_.write("s.toml", with(suite_with(kExamples.at("scenario.compute.file"), false), "repeats = 1", "repeats = 6"));
  folder_.write("in.csv", rows_of_steps());
  const int watch = inotify_init1(IN_NONBLOCK);
  ASSERT_GE(inotify_add_watch(watch, (folder_ / "in.csv").c_str(), IN_OPEN | IN_CLOSE), 0);
  const Ended ended = hopbench(folder_.path(), {"run", "s.toml", "-o", "out", "-j", "2"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  inotify_event opened[16];
  EXPECT_EQ(read(watch, opened, sizeof opened), ssize_t(2 * sizeof(inotify_event))) << "opened and closed";
  close(watch);
}

TEST_F(Inputs, OfOtherCommandsAreNoOutputsEither) {
  const Example& example = kExamples.at("scenario.compute.file");
  folder_.write("job.toml", suite_with(example, true));
  folder_.write("in.csv", example.file);
  folder_.write("more.toml", "[[protocol]]\nname = \"dpsgd\"\n");
  folder_.write("errors.csv", "family,from,to,cells,least,q05,q25,q50,q75,q95,most\n");
  refused({"advise", "job.toml", "-o", "other", "--candidates", "more.toml", "--json=more.toml"});
  refused({"advise", "job.toml", "-o", "other", "--errors", "errors.csv", "--json=errors.csv"});
  fs::create_directory(folder_ / "new");
  for (const char* own : {"new/trials.jsonl", "new/advice.html", "new/events", "new"})
    refused({"advise", "job.toml", "-o", "new", std::string("--json=") + own});
  folder_.write("program", "#!/bin/sh\n");
  refused({"gate", "--base", "hopbench", "--head", "env A=1 ./program", "job.toml", "--json=program"});
  folder_.write("profiles/rank0.json", "{}");
  refused({"import", "kineto", "profiles", "-o", "profiles/rank0.json", "--force"});
  folder_.write(
      "learns.toml",
      "schema = 1\n[run]\nworld_size = 4\nsamples = 320\n[model]\nname = \"quadratic\"\n[compute]\npace = "
      "\"10ms\"\nbackend = \"reference\"\n[transport]\nname = \"sim\"\n[tune]\ntrials = 3\n[[protocol]]\nname "
      "= \"allreduce\"\n[[scenario]]\nname = \"s\"\n" +
          example.scenario + "[[measure]]\nwhat = \"convergence\"\n");
  refused({"tune", "learns.toml", "-o", "in.toml", "--force"});
}

}  // namespace
}  // namespace hopbench
