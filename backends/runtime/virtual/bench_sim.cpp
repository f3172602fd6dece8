#include "backends/runtime/virtual/bench_sim.h"

#include <time.h>

#include <algorithm>
#include <vector>

#include "backends/base/random.h"
#include "backends/runtime/virtual/simulated.h"

namespace hopbench {
namespace {

constexpr Kind kVector{1}, kAnswer{2};

std::vector<int> neighbours_of(int rank, int ranks) {
  std::vector<int> all{(rank + 1) % ranks, (rank + ranks - 1) % ranks, (rank + ranks / 2) % ranks,
                       (rank + (ranks + 1) / 2) % ranks};
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, rank);
  return all;
}

void exchange(Runtime& self, const std::vector<int>& neighbours, int iterations) {
  const Payload one_float = Vec(1).share();
  for (Iter k = 0; k < iterations; ++k) {
    for (const int peer : neighbours) self.post(peer, {.kind = kVector, .iter = k, .body = one_float});
    self.await([&] { return self.mailbox.count(is(kVector, k)) == neighbours.size(); }, kNever, "the neighbours");
    for (std::size_t i = 0; i < neighbours.size(); ++i) self.mailbox.take(is(kVector, k));
  }
}

void push(Runtime& self, int rank, int server, int pushes) {
  for (Iter k = 0; k < pushes; ++k) {
    Random random({.rank = rank, .iteration = k});
    const auto bytes = std::int64_t{500'000} + static_cast<std::int64_t>(random.below(1'000'000));
    self.post(server, {.kind = kVector, .iter = k, .bytes = bytes});
    self.await([&] { return self.mailbox.has(is(kAnswer)); }, kNever, "the server's answer");
    self.mailbox.take(is(kAnswer));
  }
}

void serve(Runtime& self) {
  for (;;) {
    self.await([&] { return self.mailbox.has(is(kVector)); }, kNever, "a push");
    self.post(self.mailbox.take(is(kVector))->from, {.kind = kAnswer, .words = {1}});
  }
}

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

MessageBench run(Simulation& simulation, int ranks) {
  const double start = thread_cpu_s();
  simulation.use(make_network({}, ranks, simulation, 1, 0));
  simulation.run();
  return {.messages = simulation.messages_delivered(),
          .events = simulation.events_run(),
          .cpu_s = thread_cpu_s() - start,
          .virtual_s = to_seconds(simulation.now())};
}

}  // namespace

MessageBench run_exchange_bench(int ranks, int iterations) {
  Simulation simulation({.ranks = ranks});
  std::vector<std::vector<int>> neighbours;
  for (int r = 0; r < ranks; ++r) {
    neighbours.push_back(neighbours_of(r, ranks));
    for (const int peer : neighbours.back()) simulation.connect(r, peer);
  }
  for (int r = 0; r < ranks; ++r) {
    simulation.start(r, [&, r] { exchange(simulation.rank(r), neighbours[static_cast<std::size_t>(r)], iterations); });
  }
  return run(simulation, ranks);
}

MessageBench run_incast_bench(int workers, int pushes) {
  Simulation simulation({.ranks = workers + 1});
  for (int r = 0; r < workers; ++r) {
    simulation.connect(r, workers);
    simulation.start(r, [&, r] { push(simulation.rank(r), r, workers, pushes); });
  }
  simulation.start(
      workers, [&] { serve(simulation.rank(workers)); }, false);
  MessageBench bench = run(simulation, workers + 1);
  bench.messages = std::int64_t{workers} * pushes;
  return bench;
}

}  // namespace hopbench
