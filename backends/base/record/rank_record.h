// The record of a rank, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/time.h"

namespace hopbench {

struct RankRecord {
  int rank = 0;
  /// Its number in the suite, which differs from `rank` where workers are left out; -1: a server, or not known.
  int worker = -1;
  bool server = false;
  int host = -1;  // -1: not known
  std::vector<IterationMark> marks;
  Time finished{};
  /// "crash" or "leave": the scenario took it at `finished`, before the end. After a crash, all else is as if the rank
  /// had done nothing.
  std::string lost;

  // --- Time
  Duration compute{}, injected_delay{}, vector_ops{};
  std::map<std::string, Duration> waits;  // by reason
  std::int64_t slow_events = 0;           // iterations that met a slowdown
  std::int64_t overruns = 0;              // paced iterations whose work did not fit (real processes)

  // --- Counts
  std::int64_t iters = 0, iters_jumped = 0, gradients = 0, gradients_lost = 0, samples = 0;
  std::vector<Iter> lost_in;              // the iterations of its gradients_lost
  std::map<std::string, double> figures;  // the protocol's own figures, by name

  // --- Staleness
  /// Iterations by which terms of its vector were behind it, without its own terms.
  double staleness_mean = 0;
  std::int64_t staleness_max = 0;
  /// Its own iteration minus the slowest live worker's, over its own entries.
  double gap_mean = 0;
  std::int64_t gap_max = 0;
  /// Pairs (worker, iteration), by worker: the newest iteration of which this rank averaged or applied a vector.
  /// The rank's own entry is its newest iteration in a mean that other workers have. Of several servers, only the first
  /// one records this, unless each hears other workers (Node::hears_alone).
  std::vector<std::pair<int, Iter>> heard;
  Iter heard_step = 0;  // the most iterations between two of one worker

  // --- Traffic
  std::int64_t messages_sent = 0, bytes_sent = 0;
  std::vector<std::int64_t> bytes_to;  // of bytes_sent, by the receiver's host; empty where there are more than 64
  std::int64_t queue_max = 0;          // most messages in the mailbox

  // --- The host, not the protocol (real processes only)
  std::string machine;  // the one that it ran on, if a run has several processes (docs/clusters.md)
  double cpu_s = 0, cpu_wait_s = 0;
  double contended_s = 0;  // run delay outside compute slots or past their deadline
  std::int64_t max_rss_bytes = 0;
  double state_vectors = 0;         // Node::state_vectors
  std::int64_t awaited_bodies = 0;  // sent once the receiver asked for them
  std::string carriers;             // the ranks that it reached over each transport
  std::string congestion_control;   // TCP's, of its machine; empty: it used no TCP
  std::string gpu;                  // address of the GPU that it computed on; empty: none
  bool gpu_shared_well = false;     // with MPS: ranks that share it compute at the same time
  int gpu_fallbacks = 0;            // number of things that it could not do there as it should
  std::string gpu_remarks;          // its use of that GPU: graphs, CUDA IPC, waits
  std::int64_t staged_bodies = 0;   // vectors copied between a GPU and host memory for messages
  /// Lateness of emulated links' messages that it waited for.
  double link_late_median_s = 0, link_late_p99_s = 0;
};

}  // namespace hopbench
