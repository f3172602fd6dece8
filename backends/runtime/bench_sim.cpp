#include "backends/runtime/bench_sim.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/base/random.h"
#include "backends/runtime/simulated.h"

namespace hopbench {
namespace {

constexpr Kind kVector{1}, kToken{2};

std::vector<int> neighbours_of(int rank, int ranks) {
  std::vector<int> all{(rank + 1) % ranks, (rank + ranks - 1) % ranks, (rank + ranks / 2) % ranks,
                       (rank + (ranks + 1) / 2) % ranks};
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, rank);
  return all;
}

void exchange(Runtime& self, int rank, const std::vector<int>& neighbours, const MessageBenchOptions& options) {
  const Payload one_float = Vec(1).share();
  const auto all_here = [&](Kind kind, Iter k) {
    return [&self, &neighbours, kind, k] { return self.mailbox.count(is(kind, k)) == neighbours.size(); };
  };
  const auto receive = [&](Kind kind, Iter k, const char* why) {
    self.await(all_here(kind, k), kNever, why);
    for (std::size_t i = 0; i < neighbours.size(); ++i) self.mailbox.take(is(kind, k));
  };
  for (Iter k = 0; k < options.iterations; ++k) {
    if (options.uneven) {
      Random random({.rank = rank, .iteration = k});
      self.occupy({.cost = std::chrono::microseconds(10'000 + static_cast<std::int64_t>(random.below(20'000)))});
    }
    for (const int peer : neighbours) {
      self.post(peer, {.kind = kVector, .iter = k, .body = one_float, .bytes = options.bytes});
    }
    receive(kVector, k, "the neighbours' vectors");
    if (options.bytes == 0) continue;
    for (const int peer : neighbours) self.post(peer, {.kind = kToken, .iter = k, .words = {1}});
    receive(kToken, k, "tokens");
  }
}

}  // namespace

MessageBench run_message_bench(const MessageBenchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Simulation simulation({.ranks = options.ranks});
  simulation.use(make_network({}, options.ranks, simulation, 1, 0));
  std::vector<std::vector<int>> neighbours;
  for (int r = 0; r < options.ranks; ++r) {
    neighbours.push_back(neighbours_of(r, options.ranks));
    for (const int peer : neighbours.back()) simulation.connect(r, peer);
  }
  for (int r = 0; r < options.ranks; ++r) {
    const std::vector<int>& mine = neighbours[static_cast<std::size_t>(r)];
    simulation.start(r, [&simulation, &mine, &options, r] { exchange(simulation.rank(r), r, mine, options); });
  }
  simulation.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  return {.messages = simulation.messages_delivered(),
          .events = simulation.events_run(),
          .wall_s = wall.count(),
          .virtual_s = to_seconds(simulation.now())};
}

}  // namespace hopbench
