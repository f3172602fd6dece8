// Real processes: one rank a process, over a Wire, on the machine's own clock.
//
// Strands are threads; one mutex a rank, the baton, is released in exactly `await` and `occupy`. Of the strands that
// wait one polls the Wire, the others sleep.
//
// Pacing. With `pace` on, work with a cost occupies wall time `cost` from its start: the real arithmetic first, then
// sleep to the deadline, milestones at their times (where the job is still busy then: as soon as it says `reached`, or
// is done); work that outlasts its cost is an overrun. So a rank's iteration
// takes what the trial says whatever the other ranks do to the cores. With `pace` off the work takes the time it takes,
// and a slowdown is added as sleep in proportion. Vector operations (yields = false) take their real time in both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backends/runtime/board.h"
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

  /// Runs the body and every strand it spawns until the rank ends: a worker's body has returned (or a server's has been
  /// ended by Stop), all peers said kBye or are gone, and nothing that has arrived can wake a waiting strand. Says kBye
  /// to all when the body returns. Peers that are servers are not waited for. Rethrows what a strand threw. Starts at
  /// Time{}. Then it closes the wire, unless something was thrown: then peers find kGone when the wire is destroyed. So
  /// an error is best told to the launcher before that, or it hears the peers' complaints first.
  void run(std::function<void()> body, bool must_finish = true);

  /// Ends the run before its time: every strand gets Stop, run throws Error. From any thread; never blocks.
  void end();

  Time now() const override;
  void post(int to, Message message) override;
  bool await(const Ready& ready, Time deadline, const char* why, int messages = 1) override;
  Occupied occupy(Work work) override;
  void spawn(std::function<void()> strand) override;

  /// Run delay (schedstat) that the strands met outside compute slots and past their deadlines: what makes a paced
  /// trial cpu-contended; unpaced, all of it. The transport's own threads are not in it. To be asked after the run.
  Duration contended() const;
  /// All run delay of this process, its transport's threads included; known after run.
  Duration waited_for_cores() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopbench
