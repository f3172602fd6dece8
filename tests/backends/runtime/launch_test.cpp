// The launcher and the rank's side of it, with real processes that end in every way a rank can end.
#include "backends/runtime/process/launch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "backends/base/error.h"
#include "backends/runtime/process/control.h"
#include "backends/runtime/process/spawn.h"
#include "tests/backends/runtime/launch_plays.h"
#include "tests/backends/runtime/launched.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Runs a trial; whatever became of it, nothing may be left.
LaunchResult run(const LaunchOptions& options) {
  const int descriptors = open_descriptors();
  LaunchResult result = launch(options);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was not buried";
  EXPECT_EQ(processes_with(test_mark()).size(), 0u);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(result.ranks.size(), static_cast<std::size_t>(options.ranks));
  return result;
}

TEST(Launch, CollectsResultsAndStartsAllAtOnce) {
  const LaunchResult result = run(launch_of(4, "start"));
  EXPECT_TRUE(result.ok) << result.failure.text;
  EXPECT_EQ(result.failure.text, "");
  EXPECT_FALSE(result.interrupted);
  EXPECT_GT(result.wall_s, 0);
  for (const RankOutcome& rank : result.ranks) {
    EXPECT_TRUE(rank.ok);
    EXPECT_EQ(rank.result, result.ranks[0].result) << "one start for all";
  }
}

TEST(Launch, RunsASingleRank) { EXPECT_TRUE(run(launch_of(1, "start")).ok); }

TEST(Launch, PreparesItsRanks) {
  ASSERT_EQ(std::getenv("OMP_NUM_THREADS"), nullptr) << "this test is about its default";
  const LaunchResult result = run(launch_of(1, "surroundings"));
  // Descriptors: 0-4, the listing's own three.
  EXPECT_EQ(result.ranks[0].result, "policy batch, slack 1, omp 1 passive, ignores ^C, own group, descriptors 8");
}

TEST(Launch, SetsVariablesForItsRanksAlone) {
  EXPECT_EQ(run(launch_of(1, "variable")).ranks[0].result, "");
  set_for_ranks("HB_TEST_VARIABLE", "1");
  set_for_ranks("HB_TEST_VARIABLE", "a\nb");
  EXPECT_EQ(run(launch_of(1, "variable")).ranks[0].result, "HB_TEST_VARIABLE=a\nb\n");
  EXPECT_EQ(std::getenv("HB_TEST_VARIABLE"), nullptr);
  setenv("HB_TEST_VARIABLE", "of the process", 1);
  EXPECT_EQ(run(launch_of(1, "variable")).ranks[0].result, "HB_TEST_VARIABLE=a\nb\n");
  unsetenv("HB_TEST_VARIABLE");
}

TEST(Launch, SharesItsCredits) {
  LaunchOptions options = launch_of(3, "credits");
  options.credits = 1000;
  int taken = 0;
  for (const RankOutcome& rank : run(options).ranks) taken += std::stoi(rank.result);
  EXPECT_EQ(taken, 1000);
}

TEST(Launch, TakesResultsOfMegabytes) {
  const LaunchResult result = run(launch_of(3, "big " + std::string(3'000'000, ' ') + "9"));  // nor need a job be small
  ASSERT_TRUE(result.ok);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(result.ranks[r].result, std::string(5'000'000, static_cast<char>('a' + r)));
}

TEST(Launch, SaysWhatARankSaysOfItsFailure) {
  const LaunchResult result = run(launch_of(3, "fail 1"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.failure.text, "rank 1 failed: the data set is missing");
  EXPECT_EQ(result.failure.kind, FailureKind::kError);
  EXPECT_EQ(result.failure.rank, 1);
  ASSERT_TRUE(result.complaint);
  EXPECT_EQ(result.complaint->text, "the data set is missing");
  EXPECT_EQ(result.ranks[1].error, "the data set is missing");
}

TEST(Launch, FailuresTravelAsBytes) {
  const Failure failure = failure_from_bytes(to_bytes(Failure{FailureKind::kScenario, 3, "rank 3 left\n 7 0 "}));
  EXPECT_EQ(failure.kind, FailureKind::kScenario);
  EXPECT_EQ(failure.rank, 3);
  EXPECT_EQ(failure.text, "rank 3 left\n 7 0 ");
  for (const char* bytes : {"", "2", "2 3", "2 x y", "x", "99 3 y", "0 3 y", "-1 3 y", "2 -7 y", "99999999999 3 y"}) {
    const Failure odd = failure_from_bytes(bytes);
    EXPECT_EQ(odd.kind, FailureKind::kError) << bytes;
    EXPECT_EQ(odd.rank, -1) << bytes;
    EXPECT_EQ(odd.text, bytes);
  }
}

TEST(Launch, NamesTheRankThatExits) {
  const LaunchResult result = run(launch_of(3, "exit 2"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.failure.text, "rank 2 exited with code 3 while computing iteration 7");
  EXPECT_EQ(result.failure.kind, FailureKind::kExited);
  EXPECT_EQ(result.died, 2);
  EXPECT_EQ(result.ranks[2].error, "exited with code 3 while computing iteration 7");
}

TEST(Launch, KeepsTheResultOfARankThatFailsAfterIt) {
  const LaunchResult result = run(launch_of(2, "late_exit 1"));
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.ranks[1].ok);
  EXPECT_EQ(result.ranks[1].result, "all of it");
}

TEST(Launch, NamesTheRankThatIsKilled) {
  EXPECT_EQ(run(launch_of(3, "kill 2")).failure.text,
            "rank 2 was killed by signal 9 (SIGKILL) while waiting in iteration 5: a token");
  EXPECT_EQ(run(launch_of(3, "abort 0")).failure.text,
            "rank 0 was killed by signal 6 (SIGABRT) while waiting in iteration 5: a token");
}

// A library's thread catches nothing.
TEST(Launch, NamesTheExceptionThatLeftAThread) {
  const LaunchResult result = run(launch_of(3, "thread_throws 1"));
  EXPECT_EQ(result.failure.text.substr(0, 28), "rank 1 failed: out of memory");
  EXPECT_EQ(result.failure.kind, FailureKind::kEnvironment);
}

TEST(Launch, NamesTheCauseThoughSurvivorsComplainFirst) {
  for (const char* job : {"complaint_of_killed 2", "complaint_before_death 2"}) {
    const LaunchResult result = run(launch_of(4, job));
    EXPECT_EQ(result.failure.text.substr(0, 41), "rank 2 was killed by signal 9 (SIGKILL) w");
    EXPECT_EQ(result.failure.kind, FailureKind::kKilled);
    EXPECT_EQ(result.died, 2);
    EXPECT_FALSE(result.complaint) << "the death is the cause";
  }
}

TEST(Launch, NamesTheFirstOfSeveralFailures) {
  EXPECT_EQ(run(launch_of(3, "complaint_early 2")).failure.text, "rank 2 failed: the disk is full");
  EXPECT_EQ(run(launch_of(3, "complaint_of_exited 2")).failure.text, "rank 2 exited with code 7 while finished");
}

TEST(Launch, LetsSurvivorsGoOnIfAsked) {
  LaunchOptions options = launch_of(3, "survive 1");
  options.survivors_go_on = true;
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.ok);
  EXPECT_FALSE(result.ranks[1].ok);
  EXPECT_EQ(result.ranks[2].result, "went on");
  EXPECT_EQ(result.failure.text.substr(0, 39), "rank 1 was killed by signal 9 (SIGKILL)");
}

TEST(Launch, LetsOnlyThoseDieThatMayAndSaySo) {
  for (const auto& [job, may_crash, ok] :
       {std::tuple("crash 1", 1, true), std::tuple("crash 1", 2, false), std::tuple("survive 1", 1, false)}) {
    LaunchOptions options = launch_of(3, job);
    options.survivors_go_on = true;
    options.may_crash = {may_crash};
    const LaunchResult result = run(options);
    EXPECT_EQ(result.ok, ok) << job << " where " << may_crash << " may";
    EXPECT_EQ(result.failure.text.substr(0, 39), "rank 1 was killed by signal 9 (SIGKILL)");
    EXPECT_EQ(result.ranks[1].crashed_ns, job[0] == 'c' ? 77 : -1);
    EXPECT_EQ(result.ranks[0].crashed_ns, -1);
  }
}

TEST(Launch, DoesNotBlameADeathThatWasSurvived) {
  LaunchOptions options = launch_of(3, "outlive 1");
  options.survivors_go_on = true;
  options.may_crash = {1};
  EXPECT_EQ(run(options).failure.text, "rank 0 cannot go on without that one");
}

TEST(Launch, SaysARanksErrorAloneThatNamesIt) {
  EXPECT_EQ(run(launch_of(3, "fail_by_name 1")).failure.text, "rank 1 left in iteration 3");
}

TEST(Launch, NamesTheRankThatIsStoppedThoughOthersGoOn) {
  LaunchOptions options = launch_of(3, "stop 1");
  options.stall_timeout = milliseconds(700);
  const Failure failure = run(options).failure;
  EXPECT_EQ(failure.kind, FailureKind::kStopped);
  EXPECT_EQ(failure.rank, 1);
  EXPECT_EQ(failure.text,
            "rank 1 has been stopped for 700ms while computing iteration 3\n"
            "  rank 0: ready\n"
            "  rank 1: stopped, computing iteration 3\n"
            "  rank 2: ready");
}

TEST(Launch, NamesTheRankThatHangs) {
  LaunchOptions options = launch_of(3, "hang 2");
  options.stall_timeout = milliseconds(500);
  const Failure failure = run(options).failure;
  EXPECT_EQ(failure.kind, FailureKind::kStalled);
  EXPECT_EQ(failure.text,
            "stalled: nothing happened for 500ms: rank 2 hangs while computing iteration 4: raise --stall-timeout if a "
            "step may take longer\n"
            "  rank 0: waiting in iteration 3: parameters; nothing since then from 2\n"
            "  rank 1: waiting in iteration 3: parameters; nothing since then from 2\n"
            "  rank 2: computing iteration 4");
}

TEST(Launch, NamesTheRankThatDoesNotExit) {
  LaunchOptions options = launch_of(2, "linger 1");
  options.stall_timeout = milliseconds(500);
  const LaunchResult result = run(options);
  EXPECT_EQ(result.failure.text,
            "stalled: nothing happened for 500ms: rank 1 hangs while done in iteration 9: raise --stall-timeout if a "
            "step may take longer\n"
            "  rank 0: has ended, done\n"
            "  rank 1: done in iteration 9");
  EXPECT_EQ(result.ranks[1].result, "done");
}

TEST(Launch, NamesTheRankThatNeverConnects) {
  LaunchOptions options = launch_of(3, "absent 1");
  options.rendezvous_timeout = milliseconds(500);
  const Failure failure = run(options).failure;
  EXPECT_EQ(failure.text.substr(0, 43), "rank 1 (starting) not ready within 500ms: r");
  EXPECT_EQ(failure.kind, FailureKind::kNotReady);
}

TEST(Launch, DoesNotWaitForARankThatDiesBeforeTheStart) {
  EXPECT_EQ(run(launch_of(3, "die_early 0")).failure.text, "rank 0 exited with code 4 while starting");
}

TEST(Launch, EndsATrialThatTakesTooLong) {
  LaunchOptions options = launch_of(2, "beat");
  options.trial_timeout = milliseconds(400);
  const Failure failure = run(options).failure;
  EXPECT_EQ(failure.text.substr(0, 49), "the trial took longer than its limit of 400ms: ra");
  EXPECT_EQ(failure.kind, FailureKind::kTimeLimit);
}

TEST(Launch, NamesTheWarmUpOfATrialThatTakesTooLong) {
  LaunchOptions options = launch_of(3, "hang 2");
  options.trial_timeout = milliseconds(400);
  options.warm_up = 100;
  EXPECT_EQ(run(options).failure.text,
            "the trial took longer than its limit of 400ms: raise --trial-timeout if it needs more (rank 2 is still "
            "computing iteration 4, in its warm-up of 100 iterations)");
}

TEST(Launch, LetsRanksFinishAtTheFirstInterrupt) {
  std::atomic<int> interrupts = 0;
  LaunchOptions options = launch_of(2, "polite");
  options.interrupts = &interrupts;
  options.grace = seconds(10);
  options.progress = [&](const Board& board) {
    if (board.slot(0).beats > 0 && board.slot(1).beats > 0) interrupts = 1;
  };
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.failure.text, "interrupted");
  EXPECT_EQ(result.failure.kind, FailureKind::kInterrupted);
  EXPECT_EQ(result.ranks[1].result, "half of it");
}

TEST(Launch, KillsRanksThatDoNotEndWithinTheGrace) {
  std::atomic<int> interrupts = 1;
  LaunchOptions options = launch_of(2, "deaf");
  options.interrupts = &interrupts;
  options.grace = milliseconds(200);
  EXPECT_TRUE(run(options).interrupted);
}

TEST(Launch, KillsAtOnceAtTheSecondInterrupt) {
  std::atomic<int> interrupts = 0;
  LaunchOptions options = launch_of(2, "deaf");
  options.interrupts = &interrupts;
  options.grace = std::chrono::hours(1);
  options.progress = [&](const Board& board) {
    if (board.slot(0).beats > 0) ++interrupts;
  };
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_LT(result.wall_s, 60);
}

TEST(Launch, EndsARankThatIsNotEvenThere) {
  std::atomic<int> interrupts = 1;
  LaunchOptions options = launch_of(1, "absent 0");
  options.command.push_back("--late");  // so that the request to end comes together with the job
  options.interrupts = &interrupts;
  options.grace = seconds(60);
  EXPECT_LT(run(options).wall_s, 30);
}

TEST(Launch, LetsNobodyConnectBeforeAllAreThere) {
  const LaunchResult result = run(launch_of(3, "pair 2"));
  EXPECT_EQ(result.ranks[0].result, "met after all had come");
  EXPECT_EQ(result.ranks[1].result, "met after all had come");
}

TEST(Launch, SaysThatACommandCannotBeExecuted) {
  LaunchOptions options = launch_of(2, "start");
  options.command = {"/nowhere/hopbench", test_mark()};
  const Failure failure = run(options).failure;
  EXPECT_EQ(failure.kind, FailureKind::kEnvironment);
  EXPECT_EQ(failure.text.substr(6),
            " could not be started (see ulimit -n and ulimit -u: open files and processes) while starting");
}

TEST(Launch, LeavesNobodyWhenAnExceptionPassesThroughIt) {
  LaunchOptions options = launch_of(3, "deaf");
  options.progress = [](const Board&) { throw std::runtime_error("the terminal is gone"); };
  EXPECT_THROW(launch(options), std::runtime_error);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(processes_with(test_mark()).size(), 0u);
}

TEST(Launch, TakesNoRankAlongWhenItIsKilled) {
  const std::string mark = test_mark() + "x";
  const pid_t launcher = fork();
  if (launcher == 0) {
    execl("/proc/self/exe", "launch_test", "--launcher", mark.c_str(), nullptr);
    _exit(1);
  }
  EXPECT_TRUE(eventually([&] { return processes_with(mark).size() == 4; })) << "launcher and three ranks";
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return processes_with(mark).empty(); }));
}

TEST(ChildChannel, IsForRanksOnly) {
  // Descriptor 3 of this process is no control channel, whoever started it.
  const pid_t child = fork();
  if (child == 0) {
    close(3);
    try {
      ChildChannel::open();
    } catch (const Error& e) {
      _exit(e.code() == ExitCode::kUsage ? 0 : 2);
    }
    _exit(1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace

int test_launcher(const char* mark) {
  LaunchOptions options = launch_of(3, "deaf");
  options.command = {"", "--rank", mark};
  return launch(options).ok ? 0 : 1;
}

}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::play_rank(argc > 3);
  if (argc > 2 && std::string(argv[1]) == "--launcher") return hopbench::test_launcher(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
