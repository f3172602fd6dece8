// The seam: what a protocol cannot do for itself. Five methods.
//
// There is one Runtime for virtual time (simulated.h: all ranks in one process) and one for real processes (process.h:
// one rank a process, over a Wire). Nothing above this line knows which of them it stands on.
//
// Turns. A rank runs one or more strands; at most one of them runs protocol code at a time, and it loses its turn only
// inside `await` and `occupy`. So protocols need no locks. In virtual time strands are fibers (or lock-step threads);
// with real processes they are threads and the turn is a mutex, the baton.
//
// One message, walked through: rank 0 calls post(1, m). Virtual time: the network is asked when it arrives, an event is
// put on the heap, and when virtual time gets there m is put into rank 1's mailbox, the observer sees kDeliver, and
// every strand of rank 1 whose `ready` now holds runs, oldest wait first. Real processes: m goes to the Wire (or, if
// that has no room, to the outbox for peer 1); rank 1's waiting strand polls its Wire, puts m into the mailbox, and
// looks at `ready` again.
#pragma once

#include <functional>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/mailbox.h"
#include "backends/runtime/message.h"
#include "results/record.h"

namespace hopbench {

/// Thrown by a blocked `await` or `occupy` at the end of the run. No std::exception, so that nobody catches it by
/// accident: only a strand's entry does.
struct Stop {};

/// The device is busy: with arithmetic that takes `cost` of the trial's time (slowdown already in it).
struct Work {
  Duration cost{};
  /// The arithmetic itself: pure, touches nothing of the node but what it was given. May run on another thread.
  /// `reached(i)` is to be called when milestone i's results are complete; it matters only where nothing is paced.
  std::function<void(const std::function<void(int)>& reached)> job{};
  /// Milestone i happens at start + at * cost, in rising order; `then` runs with the rank's turn.
  struct Milestone {
    double at = 1.0;
    std::function<void()> then{};
  };
  std::vector<Milestone> milestones{};
  /// False: the strand keeps its turn and only the clock moves on (vector operations: mean, optimizer step). Then `job`
  /// runs at once, and what the strand does next happens `cost` later; in real processes it happens when the job
  /// is done. If `cost` is above `nominal`, real processes then sleep until the job has taken cost / nominal times as
  /// long.
  bool yields = true;
  /// With !yields and no job: real processes sleep for `cost` with the turn in hand, so nothing of this rank runs.
  bool hang = false;
  /// Duration this work takes without the scenario's slowdown; for the record of what was injected.
  Duration nominal{};
};

/// How long the work took on the trial's clock, and what of that came after its own end, while another strand had the
/// turn that it waited for. The rest is known of real processes only: whether its arithmetic outlasted its slot, how
/// long its thread was ready to run and had no core, the share of the host's memory in use.
struct Occupied {
  Duration took{}, late{};
  bool overran = false;
  Duration stolen{};
  double memory = 0;
};

using Ready = std::function<bool()>;

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Time now() const = 0;

  /// Hands a message over for rank `to`. Never blocks, keeps order per pair. `to` may be this rank itself.
  virtual void post(int to, Message message) = 0;

  /// Gives the turn away until `ready()` holds (looked at after anything that may have changed it), or until
  /// `deadline`. True: ready. False: the deadline came first. Throws Stop at the end of the run. `why` is static text:
  /// it becomes the deadlock report and the time-waiting-by-reason column. `messages`: `ready` cannot come true before
  /// so many more are here (departures apart), so that a runtime need not wake the rank for each of them.
  virtual bool await(const Ready& ready, Time deadline, const char* why, int messages = 1) = 0;

  /// Keeps the device busy. Gives the turn away meanwhile, unless !work.yields. An exception thrown by the job comes
  /// out here.
  virtual Occupied occupy(Work work) = 0;

  /// Starts another strand of this rank; it gets its first turn when the caller gives its own away. Everything the
  /// strand refers to must outlive the run: strands end by Stop at the latest when the rank ends.
  virtual void spawn(std::function<void()> strand) = 0;

  // Not virtual: what every runtime keeps for its rank.
  Mailbox mailbox;               // filled by the runtime, emptied by the Node
  Observer* observer = nullptr;  // may stay null: then no events are made
};

}  // namespace hopbench
