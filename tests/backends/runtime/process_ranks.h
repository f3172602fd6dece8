// Ranks of ProcessRuntime as threads of a test, over wires in memory.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backends/runtime/process/process.h"
#include "tests/backends/runtime/loopback_wire.h"

namespace hopbench {

inline Message message_of(Kind kind, Iter iter) {
  return {.from = -1, .kind = kind, .iter = iter, .words = {}, .body = {}};
}

/// One rank: its wire and its runtime.
struct Rank {
  Rank(LoopbackHub& hub, ProcessOptions options) : wire(hub, options.rank), runtime(options, wire) {}

  Message recv(const Match& match, const char* why = "a message") {
    runtime.await([&] { return runtime.mailbox.has(match); }, kNever, why);
    return *runtime.mailbox.take(match);
  }

  LoopbackWire wire;
  ProcessRuntime runtime;
};

inline ProcessOptions alone() { return {.rank = 0, .size = 1, .peers = {}}; }

inline ProcessOptions rank_of(int size, int rank) {
  ProcessOptions options{.rank = rank, .size = size, .peers = {}};
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) options.peers.push_back(peer);
  }
  return options;
}

/// Runs a body on each of several ranks, all connected; servers are those >= workers.
struct Ranks {
  explicit Ranks(int size, int workers = -1) : workers_(workers < 0 ? size : workers) {
    for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<Rank>(hub, rank_of(size, r)));
  }
  void run(const std::function<void(Rank&, int)>& body) {
    std::vector<std::thread> threads;
    for (int r = 0; r < static_cast<int>(ranks.size()); ++r) {
      threads.emplace_back([&, r] { ranks[r]->runtime.run([&] { body(*ranks[r], r); }, r < workers_); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  LoopbackHub hub;
  std::vector<std::unique_ptr<Rank>> ranks;
  int workers_;
};

}  // namespace hopbench
