#include "tests/backends/runtime/launch_plays.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/process/launch.h"
#include "tests/backends/runtime/launched.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
         std::to_string(prctl(PR_GET_TIMERSLACK)) + ", omp " + std::getenv("OMP_NUM_THREADS") + " " +
         std::getenv("OMP_WAIT_POLICY") + (ignores ? ", ignores ^C" : "") +
         (getpgrp() == getpid() ? ", own group" : "") + ", descriptors " + std::to_string(open_descriptors());
}

/// Returns all values of the variable that launchers set for their ranks, each on a line.
std::string variables() {
  std::string all;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string(*each).rfind("HB_TEST_VARIABLE=", 0) == 0) all += std::string(*each) + "\n";
  }
  return all;
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

/// Ranks 0 and 1 need nobody but each other; rank 2 comes late and needs nobody.
int meet_in_a_pair(Play& play) {
  if (play.me) {
    std::this_thread::sleep_for(milliseconds(100));
    play.slot.iteration = 1;
  } else {
    play.channel.exchange({1 - play.channel.rank()}, {"blob"});
    play.what = play.channel.board().slot(2).iteration == 1 ? "met after all had come" : "met earlier";
  }
  play.channel.ready();
  return play.deliver(play.what);
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
  } else if (play.what == "complaint_before_death") {  // as it may look to the launcher
    if (play.me) {
      play.channel.on_end([] { raise(SIGKILL); });
      play.slot.phase = Phase::kFinished;
      sleep_for_ever();
    }
  } else if (play.what == "complaint_of_exited") {
    if (play.me) return play.slot.phase = Phase::kFinished, 7;
    play.wait_until_rank_2_has_finished();
  } else if (play.me) {  // the rank with the cause is read last and speaks first
    play.channel.fail({FailureKind::kError, -1, "the disk is full"});
    play.slot.phase = Phase::kFinished;
    return 3;
  }
  play.wait_until_rank_2_has_finished();
  play.channel.fail({FailureKind::kError, -1, "rank 2 died"});
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
  if (what == "variable") return play.deliver(variables());
  if (what == "big") return play.deliver(std::string(5'000'000, static_cast<char>('a' + play.channel.rank())));
  if (what == "credits") return take_credits(play);
  if (what == "polite") return end_politely(play);
  if (what.rfind("complaint", 0) == 0) return complain(play);
  if (what == "fail" && play.me) return play.channel.fail({FailureKind::kError, -1, "the data set is missing"}), 3;
  if (what == "exit" && play.me) return be(play.slot, Phase::kComputing, 7), 3;
  if (what == "late_exit" && play.me) return play.deliver("all of it"), 5;
  if (what == "abort" && play.me) be(play.slot, Phase::kWaiting, 5, "a token"), raise(SIGABRT);
  if (what == "thread_throws" && play.me) std::thread([] { throw std::bad_alloc(); }).join();
  if (what == "kill" && play.me) be(play.slot, Phase::kWaiting, 5, "a token"), raise(SIGKILL);
  if (what == "fail_by_name" && play.me)
    return play.channel.fail({FailureKind::kError, 1, "rank 1 left in iteration 3"}), 3;
  if (what == "crash" && play.me) play.slot.crashed_ns = 77;
  if ((what == "survive" || what == "crash") && play.me) raise(SIGKILL);
  if (what == "survive" || what == "crash")
    return std::this_thread::sleep_for(milliseconds(100)), play.deliver("went on");
  if (what == "outlive" && play.me) play.slot.crashed_ns = 77, raise(SIGKILL);
  if (what == "outlive" && play.channel.rank() == 0) {
    std::this_thread::sleep_for(milliseconds(100));
    return play.channel.fail({FailureKind::kError, 0, "rank 0 cannot go on without that one"}), 3;
  }
  if (what == "stop" && play.me) be(play.slot, Phase::kComputing, 3), raise(SIGSTOP);
  if (what == "hang" && play.me) be(play.slot, Phase::kComputing, 4), sleep_for_ever();
  if (what == "hang") {
    std::strncpy(play.slot.silent, "2", sizeof play.slot.silent - 1);
    be(play.slot, Phase::kWaiting, 3, "parameters"), sleep_for_ever();
  }
  if (what == "linger" && play.me) play.deliver("done"), be(play.slot, Phase::kDone, 9), sleep_for_ever();
  if (what == "linger") return play.deliver("done");
  if (what == "deaf") play.channel.on_end([] {});
  beat_for_ever(play.slot);
}

}  // namespace

int play_rank(bool late) {
  if (late) std::this_thread::sleep_for(milliseconds(200));
  const auto channel = ChildChannel::open();
  const std::size_t space = channel->job().find(' ');
  const bool me = space != std::string::npos && std::stoi(channel->job().substr(space)) == channel->rank();
  Play play{*channel, channel->job().substr(0, space), me, channel->board().slot(channel->rank())};
  if (play.what == "absent" && me) sleep_for_ever();
  if (play.what == "die_early" && me) return 4;
  if (play.what == "pair") return meet_in_a_pair(play);
  if (!meet(*channel)) return 9;
  return play_on(play, channel->ready());
}

}  // namespace hopbench
