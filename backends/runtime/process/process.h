// Real processes: one rank per process, over a Wire, on the machine's own clock.
//
// Strands are threads. Each rank has one mutex, the baton, which is released in exactly `await` and `occupy`. One of
// the waiting strands polls the Wire; the others sleep.
//
// Pacing. With `pace` on, work with a cost occupies wall time `cost` from its start: first the real arithmetic, then
// sleep until the deadline. Milestones happen at their times (if the job is still busy then, as soon as it calls
// `reached` or is done). Work that outlasts its cost is an overrun. So a rank's iteration takes what the trial says,
// whatever the other ranks do to the cores. With `pace` off the work takes its own time, and a slowdown is added as a
// proportional sleep. Vector operations (yields = false) take their real time in both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/runtime/process/board.h"
#include "backends/runtime/runtime.h"
#include "backends/transport/wire.h"

namespace hopbench {

struct ProcessOptions {
  int rank = 0, size = 1;
  std::vector<int> peers;  // connected ranks, ascending
  bool pace = true;
  std::int64_t start_monotonic_ns = 0;  // the trial's Time{} on CLOCK_MONOTONIC, the same for all ranks of a machine;
                                        // 0: now
  Duration close_timeout{std::chrono::hours(1)};  // for the other ranks to finish, once this one has
  RankSlot* slot = nullptr;                       // where to show what this rank does; may be null
  Observer* observer = nullptr;
};

class ProcessRuntime : public Runtime {
 public:
  ProcessRuntime(const ProcessOptions& options, Wire& wire);
  ~ProcessRuntime() override;

  /// Runs the body and every strand it spawns until the rank ends: a worker's body has returned (or Stop has ended a
  /// server's), all peers said kBye or are gone, and nothing that has arrived can wake a waiting strand. Says kBye to
  /// all when the body returns. Does not wait for peers that are servers. Starts at Time{}. Rethrows what a strand
  /// threw; peers then find kGone when the wire is destroyed. Otherwise closes the wire. Report an error to the
  /// launcher before the wire is destroyed, or the launcher hears the peers' complaints first.
  void run(std::function<void()> body, bool must_finish = true);

  /// Ends the run before its time: every strand gets Stop, run throws Error. Any thread may call it; never blocks.
  void end();

  Time now() const override;
  void post(int to, Message message) override;
  bool await(const Ready& ready, Time deadline, const char* why, int messages = 1) override;
  Occupied occupy(Work work) override;
  void spawn(std::function<void()> strand) override;

  /// Returns the run delay (schedstat) that the strands met outside compute slots and past their deadlines, which makes
  /// a paced trial cpu-contended. Unpaced: all of it. The transport's own threads are not in it. Call it after run.
  Duration contended() const;
  /// Returns all run delay of this process, including its transport's threads; known after run.
  Duration waited_for_cores() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopbench
