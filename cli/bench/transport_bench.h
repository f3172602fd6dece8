// `hopbench bench transport` without its options and tables: one operation, done one way, by ranks that are processes.
//
//   bench_way (launcher)  --launch-->  bench_rank (child): warm-up, all start at one instant, timed, results checked
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/runtime/process/launch.h"
#include "backends/transport/exchange.h"
#include "suites/trial/child_task.h"

namespace hopbench {

/// A way to do the operation, as it is called in tables:
///   a transport's name     ours: what a protocol's send, gather, reduce and ring_mean take
///   "bare NAME"            the same without us (exchange.h); gloo's all-reduces: "bare gloo ring", "... bcube", ...
///   "in place"             no transport at all
///   "open mpi"             the same by a program for mpirun (ci/studies/mpi_peer.cpp)
struct WayBench {
  std::string way;
  ExchangeSpec exchange;  // of rank 0
  int iterations = 20, warmup = 5;
  std::string mpi_peer = {};  // that program
};

/// Times in seconds, without the transport's own set-up.
struct WayTimes {
  std::vector<double> single;  // of each operation, of all ranks (ping-pong: of rank 0)
  double mean = 0;             // of an operation, at the slowest rank
  std::int64_t wrong = 0;      // wrong numbers of all ranks after one more operation
};

/// Returns the ways to do the operation on this build, ours first.
/// `device`: with vectors on the GPU.
std::vector<std::string> ways_of(Operation operation, bool device);

/// Throws Error naming the rank if one fails.
WayTimes bench_way(const WayBench& bench, const std::atomic<int>* interrupts);

std::string to_text(const WayBench& bench);
/// Throws Error (trial) if the text is not one.
WayBench way_bench_from_text(const std::string& text);

/// Runs the rank's side; returns what the launcher reads.
std::string bench_rank(ChildChannel& channel, const ChildTask& job);

}  // namespace hopbench
