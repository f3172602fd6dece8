// The launcher and the rank's side of it, with real processes that end in every way a rank can end.
#include "backends/runtime/launch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backends/base/error.h"
#include "tests/launched.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// --- The rank's side

[[noreturn]] void sleep_for_ever() {
  while (true) std::this_thread::sleep_for(seconds(1));
}

void be(RankSlot& slot, Phase phase, std::int64_t iteration, const char* why = "") {
  slot.iteration = iteration;
  std::strncpy(slot.waiting_for, why, sizeof slot.waiting_for - 1);
  slot.phase = phase;
}

[[noreturn]] void beat_for_ever(RankSlot& slot) {
  while (true) {
    ++slot.beats;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

std::string surroundings() {
  const bool ignores = std::signal(SIGINT, SIG_IGN) == SIG_IGN && std::signal(SIGTERM, SIG_IGN) == SIG_IGN;
  return std::string("policy ") + (sched_getscheduler(0) == SCHED_BATCH ? "batch" : "other") + ", slack " +
         std::to_string(prctl(PR_GET_TIMERSLACK)) + ", omp " + std::getenv("OMP_NUM_THREADS") +
         (ignores ? ", ignores ^C" : "") + (getpgrp() == getpid() ? ", own group" : "") + ", descriptors " +
         std::to_string(open_descriptors());
}

/// A rank as its job has it: "<what> <rank that does it>"; what the others do meanwhile belongs to it.
struct Play {
  ChildChannel& channel;
  std::string what;
  bool me;
  RankSlot& slot;

  int deliver(const std::string& result) {
    channel.finish(result);
    return 0;
  }
  void wait_until_rank_2_has_finished() {
    while (channel.board().slot(2).phase != Phase::kFinished) std::this_thread::yield();
  }
};

/// Meets all others; false if somebody's blob is not the one for this rank.
bool meet(ChildChannel& channel) {
  const int rank = channel.rank();
  std::vector<int> peers;
  std::vector<std::string> blobs;
  for (int r = 0; r < channel.size(); ++r) {
    if (r != rank) peers.push_back(r), blobs.push_back(std::to_string(rank) + " to " + std::to_string(r));
  }
  const auto theirs = channel.exchange(peers, blobs);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (theirs[i] != std::to_string(peers[i]) + " to " + std::to_string(rank)) return false;
  }
  return true;
}

int take_credits(Play& play) {
  int taken = 0;
  while (play.channel.board().credits().take()) ++taken;
  return play.deliver(std::to_string(taken));
}

/// Failures that several ranks speak of.
int complain(Play& play) {
  if (play.what == "complaint_of_killed") {
    if (play.me) be(play.slot, Phase::kFinished, 1), raise(SIGKILL);
    play.wait_until_rank_2_has_finished();
    std::this_thread::sleep_for(milliseconds(1));
  } else if (play.what == "complaint_of_exited") {
    if (play.me) return play.slot.phase = Phase::kFinished, 7;
    play.wait_until_rank_2_has_finished();
  } else if (play.me) {  // the rank with the cause is read last and speaks first
    play.channel.fail("the disk is full");
    play.slot.phase = Phase::kFinished;
    return 3;
  }
  play.wait_until_rank_2_has_finished();
  play.channel.fail("rank 2 died");
  return 3;
}

int end_politely(Play& play) {
  std::atomic<bool> asked = false;
  play.channel.on_end([&asked] { asked = true; });
  while (!asked) ++play.slot.beats, std::this_thread::sleep_for(milliseconds(2));
  return play.deliver("half of it");
}

int play_on(Play& play, std::int64_t start) {
  const std::string& what = play.what;
  if (what == "start") return play.deliver(std::to_string(start));
  if (what == "surroundings") return play.deliver(surroundings());
  if (what == "big") return play.deliver(std::string(5'000'000, static_cast<char>('a' + play.channel.rank())));
  if (what == "credits") return take_credits(play);
  if (what == "polite") return end_politely(play);
  if (what.rfind("complaint", 0) == 0) return complain(play);
  if (what == "fail" && play.me) return play.channel.fail("the data set is missing"), 3;
  if (what == "exit" && play.me) return be(play.slot, Phase::kComputing, 7), 3;
  if (what == "late_exit" && play.me) return play.deliver("all of it"), 5;
  if (what == "abort" && play.me) be(play.slot, Phase::kWaiting, 5, "a token"), raise(SIGABRT);
  if (what == "kill" && play.me) be(play.slot, Phase::kWaiting, 5, "a token"), raise(SIGKILL);
  if (what == "survive" && play.me) raise(SIGKILL);
  if (what == "survive") return std::this_thread::sleep_for(milliseconds(100)), play.deliver("went on");
  if (what == "stop" && play.me) be(play.slot, Phase::kComputing, 3), raise(SIGSTOP);
  if (what == "hang" && play.me) be(play.slot, Phase::kComputing, 4), sleep_for_ever();
  if (what == "hang") be(play.slot, Phase::kWaiting, 3, "parameters"), sleep_for_ever();
  if (what == "linger" && play.me) play.deliver("done"), be(play.slot, Phase::kDone, 9), sleep_for_ever();
  if (what == "linger") return play.deliver("done");
  if (what == "deaf") play.channel.on_end([] {});
  beat_for_ever(play.slot);
}

int one_rank() {
  const auto channel = ChildChannel::open();
  const std::size_t space = channel->job().find(' ');
  const bool me = space != std::string::npos && std::stoi(channel->job().substr(space)) == channel->rank();
  Play play{*channel, channel->job().substr(0, space), me, channel->board().slot(channel->rank())};
  if (play.what == "absent" && me) sleep_for_ever();
  if (play.what == "die_early" && me) return 4;
  if (!meet(*channel)) return 9;
  return play_on(play, channel->ready());
}

// --- The tests

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
  EXPECT_TRUE(result.ok) << result.reason;
  EXPECT_EQ(result.reason, "");
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
  EXPECT_EQ(result.ranks[0].result, "policy batch, slack 1, omp 1, ignores ^C, own group, descriptors 8");
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
  EXPECT_EQ(result.reason, "rank 1 failed: the data set is missing");
  EXPECT_EQ(result.ranks[1].error, "the data set is missing");
}

TEST(Launch, NamesTheRankThatExits) {
  const LaunchResult result = run(launch_of(3, "exit 2"));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.reason, "rank 2 exited with code 3 while computing iteration 7");
  EXPECT_EQ(result.ranks[2].error, "exited with code 3 while computing iteration 7");
}

TEST(Launch, KeepsTheResultOfARankThatFailsAfterIt) {
  const LaunchResult result = run(launch_of(2, "late_exit 1"));
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.ranks[1].ok);
  EXPECT_EQ(result.ranks[1].result, "all of it");
}

TEST(Launch, NamesTheRankThatIsKilled) {
  EXPECT_EQ(run(launch_of(3, "kill 2")).reason,
            "rank 2 was killed by signal 9 (SIGKILL) while waiting in iteration 5: a token");
  EXPECT_EQ(run(launch_of(3, "abort 0")).reason,
            "rank 0 was killed by signal 6 (SIGABRT) while waiting in iteration 5: a token");
}

TEST(Launch, NamesTheCauseThoughSurvivorsComplainFirst) {
  const LaunchResult result = run(launch_of(4, "complaint_of_killed 2"));
  EXPECT_EQ(result.reason.substr(0, 41), "rank 2 was killed by signal 9 (SIGKILL) w");
}

TEST(Launch, NamesTheFirstOfSeveralFailures) {
  EXPECT_EQ(run(launch_of(3, "complaint_early 2")).reason, "rank 2 failed: the disk is full");
  EXPECT_EQ(run(launch_of(3, "complaint_of_exited 2")).reason, "rank 2 exited with code 7 while finished");
}

TEST(Launch, LetsSurvivorsGoOnIfAsked) {
  LaunchOptions options = launch_of(3, "survive 1");
  options.survivors_go_on = true;
  const LaunchResult result = run(options);
  EXPECT_TRUE(result.ok);
  EXPECT_FALSE(result.ranks[1].ok);
  EXPECT_EQ(result.ranks[2].result, "went on");
  EXPECT_EQ(result.reason.substr(0, 39), "rank 1 was killed by signal 9 (SIGKILL)");
}

TEST(Launch, NamesTheRankThatIsStoppedThoughOthersGoOn) {
  LaunchOptions options = launch_of(3, "stop 1");
  options.stall_timeout = milliseconds(700);
  EXPECT_EQ(run(options).reason, "rank 1 has been stopped for 700ms while computing iteration 3");
}

TEST(Launch, NamesTheRankThatHangs) {
  LaunchOptions options = launch_of(3, "hang 2");
  options.stall_timeout = milliseconds(500);
  EXPECT_EQ(run(options).reason, "stalled: nothing happened for 500ms: rank 2 hangs while computing iteration 4");
}

TEST(Launch, NamesTheRankThatDoesNotExit) {
  LaunchOptions options = launch_of(2, "linger 1");
  options.stall_timeout = milliseconds(500);
  const LaunchResult result = run(options);
  EXPECT_EQ(result.reason, "stalled: nothing happened for 500ms: rank 1 hangs while done in iteration 9");
  EXPECT_EQ(result.ranks[1].result, "done");
}

TEST(Launch, NamesTheRankThatNeverConnects) {
  LaunchOptions options = launch_of(3, "absent 1");
  options.rendezvous_timeout = milliseconds(500);
  EXPECT_EQ(run(options).reason.substr(0, 43), "rank 1 (starting) not ready within 500ms: r");
}

TEST(Launch, DoesNotWaitForARankThatDiesBeforeTheStart) {
  EXPECT_EQ(run(launch_of(3, "die_early 0")).reason, "rank 0 exited with code 4 while starting");
}

TEST(Launch, EndsATrialThatTakesTooLong) {
  LaunchOptions options = launch_of(2, "beat");
  options.trial_timeout = milliseconds(400);
  EXPECT_EQ(run(options).reason.substr(0, 49), "the trial took longer than its limit of 400ms: ra");
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
  EXPECT_EQ(result.reason, "interrupted");
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

TEST(Launch, SaysThatACommandCannotBeExecuted) {
  LaunchOptions options = launch_of(2, "start");
  options.command = {"/nowhere/hopbench", test_mark()};
  EXPECT_EQ(run(options).reason.substr(6), " could not be started while starting");
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

int test_rank() { return one_rank(); }

int test_launcher(const char* mark) {
  LaunchOptions options = launch_of(3, "deaf");
  options.command = {"", "--rank", mark};
  return launch(options).ok ? 0 : 1;
}

}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::test_rank();
  if (argc > 2 && std::string(argv[1]) == "--launcher") return hopbench::test_launcher(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
