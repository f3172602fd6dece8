// Products of sparse rows, which lie in host memory, with a vector on the GPU, as linear models compute them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "backends/compute/backend.h"
#include "backends/cuda/device.h"

namespace hopbench::cuda {

/// Products with working memory of their own. Any thread may call run; one call runs at a time.
class RowProducts {
 public:
  /// See Backend::margins.
  void run(const float* x, std::size_t bias_at, std::span<const Backend::SparseRow> rows, float* to);

 private:
  void make_room(std::size_t bytes);

  std::mutex mutex_;
  Pinned host_;
  Buffer device_;
};

}  // namespace hopbench::cuda
