// Starts the ranks of a real trial as processes (fork + exec of this same binary), here or where its crews are
// (crew.h), supervises them, and collects their results. It knows nothing of protocols or suites: a job is opaque
// bytes, and so is a result.
//
// It promises three things. It returns within the limits below whatever the ranks do. When it returns, no process of
// the trial is left and nothing lies in /dev/shm or /tmp. A failure names the rank, how it ended (exit code, signal,
// stopped, stalled) and the phase and iteration it was in. Ranks die with the launcher (PR_SET_PDEATHSIG) and ignore
// ^C: the launcher decides.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/failure.h"
#include "backends/base/local_place.h"
#include "backends/base/process/limits.h"
#include "backends/base/time.h"
#include "backends/runtime/links/link_emulator.h"
#include "backends/runtime/process/board.h"
#include "backends/transport/wire.h"

namespace hopbench {

class Crew;

/// The places of ranks. Default: all in one crew of this process.
struct Placement {
  std::vector<Crew*> crews;
  std::vector<int> crew_of;       // rank -> index into crews
  std::vector<LocalPlace> local;  // rank -> its place on its machine
};

struct LaunchOptions {
  std::vector<std::string> command;  // argv of a rank; the launcher adds nothing. Empty command[0]: /proc/self/exe
  int ranks = 1;
  std::string job;           // handed to every rank
  std::int64_t credits = 0;  // see Credits
  LocalPlace alone = {};     // of the rank, if it is the only one
  Duration rendezvous_timeout = kRendezvousTimeout;
  Duration stall_timeout = kStallTimeout;  // no rank made progress for this long
  Duration trial_timeout = kTrialTimeout;
  std::int64_t warm_up = 0;  // iterations of a rank before those that are measured; a report of the limit names them
  Duration grace{std::chrono::milliseconds(500)};  // between asking survivors to end and killing them
  /// If set, a rank that dies after the start (by a signal, or by exiting without result and error) does not end the
  /// trial: for protocols that go on without it. A rank that fails still ends it.
  bool survivors_go_on = false;
  /// Not empty: only the death of one of these does not end it, once its slot has shown it (RankSlot::crashed_ns).
  std::vector<int> may_crash = {};
  Placement placement = {};  // default: all ranks are processes of this one
  /// Emulated links: ranks find their end at descriptor kLinksFd (emulated_wire.h). nullptr: none.
  LinkEmulator* links = nullptr;
  const std::atomic<int>* interrupts = nullptr;  // rises with every ^C: 1 end the trial, 2 kill at once
  std::function<void(const Board&)> progress;    // called about every 100 ms
};

struct RankOutcome {
  bool ok = false;
  std::string result;  // what the rank sent with ChildChannel::finish; may be set although it died later
  std::string error;   // of the rank itself, or "killed by signal 9 while computing iteration 12"
  std::int64_t crashed_ns = -1, iteration = -1, samples = 0;  // as in its slot
};

struct LaunchResult {
  bool ok = false;  // every rank delivered (with survivors_go_on: every survivor, at least one)
  bool interrupted = false;
  /// Its text is one line, the cause first: "rank 3 was killed by signal 9 (SIGKILL) while waiting in iteration 17:
  /// ...". If ok: the first death that the others survived.
  Failure failure;
  int died = -1;                     // the rank whose death the failure is; -1: the failure is another one
  std::optional<Failure> complaint;  // the failure in the words of the rank that reported it, without its name
  std::vector<RankOutcome> ranks;
  double wall_s = 0;
};

/// Runs a trial. Ranks die with the thread that calls this. Several threads may call it, each for a trial of its own.
/// Throws Error only if it cannot start processes at all.
LaunchResult launch(const LaunchOptions& options);

/// The rank's side. File descriptors 3 (control) and 4 (board) are inherited, and 5 with emulated links. Opening it
/// also prepares the process for real trials: SCHED_BATCH, timers without slack.
class ChildChannel : public Meeting {
 public:
  static std::unique_ptr<ChildChannel> open();  // Error if this process was not started by launch()

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& job() const = 0;
  virtual LocalPlace local() const = 0;
  virtual bool lent() const = 0;  // started by an agent, for a launcher that has nothing to write on this machine
  virtual const std::string& address() const = 0;  // where its transport is to listen; empty: loopback
  virtual Board& board() = 0;
  /// Blocks until every rank is ready. Returns the trial's start on CLOCK_MONOTONIC (slightly in the future), the same
  /// for all ranks.
  virtual std::int64_t ready() = 0;
  virtual void finish(const std::string& result) = 0;  // the rank's result; then it may exit 0
  /// Reports a failure. The text is one line; then the rank should exit nonzero. The first failure counts. Must be
  /// called before the wire is destroyed: of several failures the launcher names the one that was reported first, and
  /// the others' may be about this rank.
  virtual void fail(const Failure& failure) = 0;
  /// Sets the action for the launcher's request to end (called once, on a thread of the channel; must not block), for
  /// example to stop the runtime so that logs get written. Without it the process exits at once. After `grace` the
  /// process is killed.
  virtual void on_end(std::function<void()> action) = 0;
};

}  // namespace hopbench
