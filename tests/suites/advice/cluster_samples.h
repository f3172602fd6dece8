// A small cluster file, for tests.
#pragma once

#include <string>

#include "suites/advice/cluster.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {

/// Four workers in virtual time; the last one is three times slower in the recording.
inline std::string small_cluster() {
  return R"(schema = 1
name = "cluster"
[run]
world_size = 4
iterations = 20
repeats = 3
warmup_time = "0s"
[model]
name = "timing_only"
size = 250_000
batch = 8
[compute]
noise = 0
[network]
bandwidth = "1Gbit/s"
latency = "50us"
[[scenario]]
name = "recorded"
compute = [{ kind = "trace", file = "steps.csv", map = "block_bootstrap" }]
)";
}

/// Ten steps: ranks 0 to 2 take 10 ms to 10.9 ms, rank 3 three times as long.
inline std::string small_trace() {
  std::string text = "rank,step,seconds\n";
  for (int rank = 0; rank < 4; ++rank) {
    for (int step = 0; step < 10; ++step)
      text += std::to_string(rank) + "," + std::to_string(step) + "," +
              std::to_string((rank == 3 ? 3 : 1) * (0.010 + 0.0001 * step)) + "\n";
  }
  return text;
}

/// A folder with both.
class ClusterFolder {
 public:
  explicit ClusterFolder(const std::string& text = small_cluster()) {
    folder_.write("steps.csv", small_trace());
    folder_.write("cluster.toml", text);
  }
  ClusterFile read(const ClusterOptions& options = {}) const { return read_cluster(folder_ / "cluster.toml", options); }
  std::string why(const ClusterOptions& options = {}) const {
    try {
      read(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  Folder folder_;
};

}  // namespace hopbench
