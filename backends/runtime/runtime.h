// The seam: the things that a protocol cannot do for itself, in five methods.
//
// There is one Runtime for virtual time (simulated.h: all ranks in one process) and one for real processes (process.h:
// one rank per process, over a Wire). Code above this line does not know which of them it runs on.
//
// Turns. A rank runs one or more strands; at most one of them runs protocol code at a time, and it loses its turn only
// inside `await` and `occupy`. So protocols need no locks. In virtual time strands are fibers (or lock-step threads);
// with real processes they are threads and the turn is a mutex, the baton.
//
// An example: rank 0 calls post(1, m). In virtual time the network determines when m arrives,
// and an event is put on the heap. At that time m is put into rank 1's mailbox, the observer
// sees kDeliver, and every strand of rank 1 whose `ready` now holds runs, oldest wait first.
// With real processes m goes to the Wire (or, if that has no room, to the outbox for peer 1).
// Rank 1's waiting strand polls its Wire, puts m into the mailbox, and looks at `ready` again.
#pragma once

#include <functional>
#include <vector>

#include "backends/base/time.h"
#include "backends/runtime/mailbox.h"
#include "backends/runtime/message.h"

namespace hopbench {

/// Thrown by a blocked `await` or `occupy` at the end of the run. It is not a std::exception, so that no code catches
/// it by accident: only a strand's entry does.
struct Stop {};

class Observer;

/// Work that keeps the device busy: arithmetic that takes `cost` of the trial's time (slowdown included).
struct Work {
  Duration cost{};
  /// The arithmetic itself. It is pure and uses nothing of the node but its own inputs. It may run on another thread.
  /// `reached(i)` must be called when milestone i's results are complete; it matters only if nothing is paced.
  std::function<void(const std::function<void(int)>& reached)> job{};
  /// Milestone i happens at start + at * cost, in rising order; `then` runs with the rank's turn.
  struct Milestone {
    double at = 1.0;
    std::function<void()> then{};
  };
  std::vector<Milestone> milestones{};
  /// False: the strand keeps its turn and only the clock moves on (vector operations: mean, optimizer step). Then `job`
  /// runs at once, and the strand's next action happens `cost` later. In real processes it happens when the job is
  /// done. If `cost` is above `nominal`, real processes then sleep until the job has taken cost / nominal times its own
  /// time.
  bool yields = true;
  /// With !yields and no job: real processes sleep for `cost` with the turn in hand, so nothing of this rank runs.
  bool hang = false;
  /// The duration of this work without the scenario's slowdown, for the record of what was injected.
  Duration nominal{};
};

/// The time that the work took on the trial's clock, and the part after its own end, while another strand had the turn
/// that it waited for. The rest is known for real processes only: whether its arithmetic outlasted its slot, how long
/// its thread was ready to run without a core, and the share of the host's memory in use.
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

  /// Sends a message to rank `to`. Never blocks, keeps order per pair. `to` may be this rank itself.
  virtual void post(int to, Message message) = 0;

  /// Gives the turn away until `ready()` holds (checked after anything that may have changed it), or until `deadline`.
  /// Returns true if ready, false if the deadline came first. Throws Stop at the end of the run. `why` is static text,
  /// for the deadlock report and the time-waiting-by-reason column. `messages`: `ready` cannot become true before this
  /// number of further messages has arrived (departures apart), so a runtime need not wake the rank for each of them.
  virtual bool await(const Ready& ready, Time deadline, const char* why, int messages = 1) = 0;

  /// Keeps the device busy. Gives the turn away meanwhile, unless !work.yields. Rethrows an exception that the job
  /// threw.
  virtual Occupied occupy(Work work) = 0;

  /// Starts another strand of this rank; it gets its first turn when the caller gives its own away. Everything the
  /// strand refers to must outlive the run: strands end by Stop at the latest when the rank ends.
  virtual void spawn(std::function<void()> strand) = 0;

  // Not virtual: state that every runtime keeps for its rank.
  Mailbox mailbox;               // filled by the runtime, emptied by the Node
  Observer* observer = nullptr;  // may stay null; then no events are made
};

}  // namespace hopbench
