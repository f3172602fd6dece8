// Virtual time: all ranks of a trial in one process, deterministic, with gradients really computed.
//
// An event heap ordered by (time, sequence number), strands that run until they wait, a network that says when a
// message is there. `occupy` starts the job on a pool of threads, puts its end on the heap at now + cost, and joins it
// when virtual time gets there: so the arithmetic runs on all cores while the order of events stays fixed.
//
// The run ends when every rank's body has returned, or when nothing can happen any more and every rank that must finish
// (the workers) has: then what still waits (servers, responders) is ended by Stop. If nothing can happen and a worker
// still waits, that is a deadlock: Error, with every waiting rank, its reason and its iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/runtime/network.h"
#include "backends/runtime/runtime.h"
#include "backends/runtime/strand.h"

namespace hopbench {

struct SimulationOptions {
  int ranks = 1;
  StrandKind strands = StrandKind::kFibers;
  int threads = 1;  // for the jobs; 1: in place, on the simulation's own thread
  /// Nonzero: ties are broken in a permuted order and every latency is jittered by up to 10 %, keyed by this seed. A
  /// sweep over seeds is a search over schedules.
  std::uint64_t shuffle = 0;
  std::size_t stack_bytes = 256 * 1024;
  Observer* observer = nullptr;
};

class Simulation : public Timeline {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation() override;

  /// To be called once before run. The network lives on this simulation's timeline.
  void use(std::unique_ptr<Network> network);

  Runtime& rank(int r);
  /// The body of rank r: its first strand. `must_finish` false: a server, ended by Stop once all others have returned.
  void start(int r, std::function<void()> body, bool must_finish = true);

  /// Runs everything. Throws what a body threw (with the rank in front), or the deadlock report.
  void run();

  /// Kills a rank at a time: its strands end, its peers find kGone after its last message.
  void kill(int r, Time when);
  /// The reports of a deadlock call this for a line about a rank ("iteration 12, 3 messages in its mailbox").
  void describe_with(std::function<std::string(int rank)> describe);

  // Timeline
  Time now() const override;
  void at(Time when, std::function<void()> action) override;

  std::int64_t events_run() const;
  std::int64_t messages_delivered() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopbench
