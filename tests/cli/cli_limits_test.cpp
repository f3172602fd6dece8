// A run that lacks a resource of the machine ends with one line that names it and says how to go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <iterator>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// A limit on the programs that are started in the meantime.
class Limited {
 public:
  Limited(int resource, rlim_t limit) : resource_(resource) {
    EXPECT_EQ(getrlimit(resource, &before_), 0);
    const rlimit now{limit, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource, &now), 0);
  }
  ~Limited() { setrlimit(resource_, &before_); }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  int resource_;
  rlimit before_{};
};

TEST(Limits, AStackTooSmallIsSaid) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  {
    const Limited stack(RLIMIT_STACK, 64 << 10);
    const Ended ended = hopbench(folder.path(), {"run", "a.toml", "-o", "out"});
    EXPECT_EQ(ended.code, 6);
    EXPECT_EQ(ended.err, "hopbench: a stack may have 64 KiB only: allow at least 1024 (ulimit -s 8192)\n");
  }
  const Limited stack(RLIMIT_STACK, 1 << 20);
  EXPECT_EQ(hopbench(folder.path(), {"run", "a.toml", "-o", "out"}).code, 0);
}

TEST(Limits, OfFilesAreSaidAndHowToGoOn) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  {
    const Limited size(RLIMIT_FSIZE, 9000);
    const Ended ended = hopbench(folder.path(), {"run", "a.toml", "-o", "out", "--no-events", "-f", "allreduce|hop"});
    EXPECT_EQ(ended.code, 6);
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("cannot write out/trials.jsonl: File too large: allow larger files (ulimit -f)"),
                      EndsWith("; then go on with: hopbench run --resume out --filter 'allreduce|hop' "
                               "--events none --retry-failed\n")));
  }
  const std::string before = text_of(folder / "out/trials.jsonl");
  EXPECT_GE(count_lines(before), 1u);
  EXPECT_LT(count_lines(before), 4u);
  const Ended again =
      hopbench(folder.path(), {"run", "--resume", "out", "--filter", "allreduce|hop", "--retry-failed"});
  EXPECT_EQ(again.code, 0) << again.err;
  const std::string after = text_of(folder / "out/trials.jsonl");
  EXPECT_EQ(count_lines(after), 4u);
  EXPECT_EQ(after.substr(0, before.size()), before);
}

TEST(Limits, AResumedRunThatDoesNotGetToItsFolderSaysHowToGoOn) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  ASSERT_EQ(hopbench(folder.path(), {"run", "a.toml", "-o", "out", "-f", "allreduce"}).code, 0);
  std::filesystem::create_directory(folder / "meet");
  const Args first_of_two{"HOPBENCH_RANK=0", "HOPBENCH_WORLD_SIZE=2"};
  const auto resume = [](const std::string& patience) {
    return Args{"run", "--resume", "out", "--rendezvous", "meet", "--rendezvous-timeout", patience};
  };
  const Ended alone = hopbench(folder.path(), resume("100ms"), first_of_two);
  EXPECT_EQ(alone.code, 6);
  EXPECT_THAT(alone.err,
              AllOf(HasSubstr("process 1 of 2 did not come to meet"),
                    EndsWith("; then start its 2 processes again in the same way, with: hopbench run --resume out "
                             "--rendezvous meet --rendezvous-timeout 100ms --retry-failed\n")));
  Args again = resume("60s");
  for (const char* word : {"--retry-failed", "--force", "--trial-timeout", "5min", "--stall-timeout", "50s"})
    again.push_back(word);
  Running waiting(folder.path(), again, first_of_two);
  EXPECT_TRUE(
      soon([&] { return std::filesystem::exists(folder / "meet") && !std::filesystem::is_empty(folder / "meet"); }));
  waiting.send(SIGINT);
  const Ended interrupted = waiting.wait();
  EXPECT_EQ(interrupted.code, 130);
  EXPECT_THAT(interrupted.err,
              EndsWith("interrupted; start its 2 processes again in the same way, with: hopbench run --resume out "
                       "--trial-timeout 5min --stall-timeout 50s --rendezvous meet "
                       "--rendezvous-timeout 60s --force --retry-failed\n"));
}

TEST(Limits, OfTheClockOfVirtualTimeAreNotAdvisedToRunAgain) {
  const Folder folder;
  folder.write("a.toml", with(small_suite(), "{ kind = \"bernoulli\", probability = 0.3, factor = 4.0 }",
                              "{ kind = \"pareto\", shape = 1e-9 }"));
  const Ended ended = hopbench(folder.path(), {"run", "a.toml", "-o", "out", "-f", "/random/"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("2 of 2 trials failed in virtual time, where they fail in the same way"),
                               Not(HasSubstr("--retry-failed"))));
  const Ended saved = hopbench(folder.path(), {"baseline", "save", "b", "out", "--baselines", "kept", "--partial"});
  EXPECT_EQ(saved.code, 2);
  EXPECT_THAT(saved.err, AllOf(HasSubstr("and never does"), Not(HasSubstr("--retry-failed"))));
}

TEST(Limits, EventLogsThatCannotBeWrittenAreSaidAndTheirFolderIsMadeAnew) {
  const Folder folder;
  folder.write("a.toml", small_suite());
  const Args resume{"run", "--resume", "out", "--retry-failed"};
  ASSERT_EQ(hopbench(folder.path(), {"run", "a.toml", "-o", "out", "-f", "allreduce"}).code, 0);
  std::filesystem::remove_all(folder / "out/events");
  folder.write("out/events", "");
  const Ended blocked = hopbench(folder.path(), resume);
  EXPECT_EQ(blocked.code, 3);
  EXPECT_THAT(blocked.err, AllOf(HasSubstr("cannot write the event log out/events/"), HasSubstr("Not a directory"),
                                 HasSubstr("--retry-failed")));
  std::filesystem::remove(folder / "out/events");
  const Ended again = hopbench(folder.path(), resume);
  EXPECT_EQ(again.code, 0) << again.err;
  const std::filesystem::directory_iterator logs(folder / "out/events");
  EXPECT_EQ(std::distance(begin(logs), end(logs)), 2) << "of the trials that ran now";
}

}  // namespace
}  // namespace hopbench
