// Virtual time: all ranks of a trial in one process, deterministic, with gradients really computed.
//
// An event heap ordered by (time, sequence number), strands that run until they wait, and a network that determines
// when a message arrives. `occupy` starts the job on a pool of threads, puts its end on the heap at now + cost, and
// joins it when virtual time gets there. So the arithmetic runs on all cores while the order of events stays fixed.
// Jobs never run on a fiber's small stack.
//
// Work that does not yield (vector operations) holds its rank's turn until its cost is over. No other strand of that
// rank runs meanwhile; other ranks do. So the event stream is in the order of the trial's clock across all ranks.
//
// The run ends when every rank that must finish (the workers) has returned and only deadlines can still happen. Then
// Stop ends the strands that still wait (servers, responders). If nothing can happen and a worker still waits, that is
// a deadlock: an Error, with every waiting strand, its reason and the start of its wait.
//
// If a rank's body returns, or a server's is stopped, each peer finds kBye after that rank's last message. Both kBye
// and kGone travel over the network in order. The observer does not see them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/runtime/runtime.h"
#include "backends/runtime/virtual/network.h"
#include "backends/runtime/virtual/strand.h"

namespace hopbench {

class SimRank;

struct SimulationOptions {
  int ranks = 1;
  StrandKind strands = StrandKind::kFibers;  // threads if fibers are not available: the order of events is the same
  int threads = 1;                           // for the jobs; 1: in place, on the simulation's own thread
  /// Nonzero: ties are broken in a permuted order and every message takes up to 10 % longer, keyed by this seed. The
  /// order of each pair's messages stays. A sweep over seeds is a search over schedules.
  std::uint64_t shuffle = 0;
  double stretch = 0.1;  // with shuffle: messages take up to this share longer
  std::size_t stack_bytes = 256 * 1024;
  Observer* observer = nullptr;  // sees kSend, kDeliver, kDrop; settled() after each event that gave a strand a turn
};

class Simulation : public Timeline {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation() override;

  /// Must be called once before run. The network lives on this simulation's timeline. Without it messages take no time.
  void use(std::unique_ptr<Network> network);
  /// Makes ranks a and b peers: they may post to each other (a post to any other rank throws Error), and each learns
  /// when the other leaves (kBye, kGone). If no pair is ever connected, all ranks are peers of all.
  void connect(int a, int b);

  Runtime& rank(int r);
  /// Sets rank r's body, its first strand. `must_finish` false: a server, ended by Stop once all others have returned.
  void start(int r, std::function<void()> body, bool must_finish = true);

  /// Runs everything, once. Throws what a body threw (with the rank in front), or the deadlock report.
  void run();

  /// Kills a rank at a time. Its strands end, and its peers find kGone after what it had posted by then. A rank whose
  /// body has returned has said kBye and is left alone.
  void kill(int r, Time when);
  /// Sets a function that is called before a rank is killed. If it throws, that ends the run instead.
  void before_kill(std::function<void(int rank)> tell);
  /// Sets a function that reports of a deadlock call for a rank's line ("iteration 12, 3 messages in its mailbox").
  void describe_with(std::function<std::string(int rank)> describe);

  // Timeline
  Time now() const override;
  void at(Time when, std::function<void()> action) override;

  std::int64_t events_run() const;
  std::int64_t messages_delivered() const;  // kBye and kGone not counted

 private:
  friend class SimRank;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hopbench
