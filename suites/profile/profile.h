// The profile of a model's gradient, from which timing_only takes its sizes and times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/time.h"
#include "models/learner.h"

namespace hopbench {

struct Profile {
  std::size_t parameters = 0;        // numbers of four bytes, which stand for the bytes that are sent
  std::vector<Bucket> buckets;       // in the order in which they become complete
  std::optional<Duration> gradient;  // what one takes, forward pass included, if the file says so
};

/// Reads a profile. Error(kUsage), with the place, if the file is not of one of two kinds:
///
///   NAME.safetensors  the headers of such a file, with all its shards if it is one of several, or of those that
///                     NAME.safetensors.index.json lists (safetensors.h). Tensors are put into buckets like those of
///                     PyTorch's DistributedDataParallel: in reverse order, a bucket is complete once it has 25 MiB,
///                     the first one 1 MiB. The forward pass takes a third of the time, each bucket of the backward
///                     pass a share as large as its bytes.
///   any other name    CSV with the header bytes,seconds: a row for each bucket, in the order in which they become
///                     complete, and the time since the one before. The first row's time has the forward pass in it.
Profile read_profile(const std::string& path);

/// Returns the profile of a gradient of `bytes` bytes (1 or more) in DistributedDataParallel's buckets, with the times
/// of a .safetensors file. It has at most 128 buckets: those of a gradient above 3.3 GB are larger.
Profile ddp_profile(std::uint64_t bytes);

}  // namespace hopbench
