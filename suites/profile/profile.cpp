#include "suites/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/csv_rows.h"
#include "suites/profile/safetensors.h"

namespace hopbench {
namespace {

constexpr std::uint64_t kLargestModel = 4'000'000'000'000;  // of a model
constexpr std::size_t kNumberBytes = sizeof(float);
constexpr double kForwardShare = 1.0 / 3;  // of a gradient's time
// The defaults of torch.nn.parallel.DistributedDataParallel.
constexpr std::uint64_t kFirstBucket = 1 << 20, kOtherBuckets = 25 << 20;
constexpr std::uint64_t kMostBuckets = 128;

/// Bytes of a bucket, and a measure of its share of the time.
struct Piece {
  std::uint64_t bytes = 0;
  double time = 0;
};

Profile profile_of(const std::vector<Piece>& parts, double before) {
  Profile profile;
  double all = before;
  for (const Piece& part : parts) {
    profile.parameters += (part.bytes + kNumberBytes - 1) / kNumberBytes;
    all += part.time;
  }
  std::size_t end = profile.parameters;  // the last layer's bucket is complete first
  double done = before;
  for (const Piece& part : parts) {
    const std::size_t size = (part.bytes + kNumberBytes - 1) / kNumberBytes;
    end -= size;
    done += part.time;
    profile.buckets.push_back({.offset = end, .size = size, .done_at = done / all});
  }
  profile.buckets.back().done_at = 1;
  return profile;
}

/// Reads a row into `part`. Returns why it is none, or "".
std::string read_part(const std::vector<std::string_view>& cells, Piece& part) {
  if (cells.size() != 2) return fmt::format("{} cells, not 2", cells.size());
  const auto bytes = number_in<std::uint64_t>(cells[0]);
  if (!bytes || *bytes == 0 || *bytes > kLargestModel)
    return fmt::format("the bytes are '{}', not an integer from 1 to {}", cells[0], kLargestModel);
  constexpr double kMostTime = 1e6;
  const auto seconds = number_in<double>(cells[1]);
  if (!seconds || !(*seconds >= 0) || *seconds > kMostTime)
    return fmt::format("the seconds are '{}', not a number from 0 to {:g}", cells[1], kMostTime);
  part = {*bytes, *seconds};
  return "";
}

Profile read_buckets(const std::string& path) {
  std::vector<Piece> parts;
  double seconds = 0;
  std::uint64_t bytes = 0;
  bool header = false;
  const int last = read_csv_rows(path, "profile", [&](std::string_view, const auto& cells) -> std::string {
    if (!std::exchange(header, true)) {
      const bool right = cells == std::vector<std::string_view>{"bytes", "seconds"};
      return right ? "" : "the header must be bytes,seconds";
    }
    Piece part;
    if (std::string why = read_part(cells, part); !why.empty()) return why;
    parts.push_back(part);
    seconds += part.time;
    bytes += part.bytes;
    return bytes > kLargestModel ? fmt::format("the buckets have more than {} bytes", kLargestModel) : "";
  });
  if (parts.empty()) throw csv_error(path, last, "there is no bucket: write bytes,seconds and a row for each");
  if (!(seconds > 0)) throw csv_error(path, last, "all times are 0: the gradient must take some time");
  Profile profile = profile_of(parts, 0);
  profile.gradient = std::max(seconds_to_duration(seconds), Duration{1});
  return profile;
}

std::vector<Piece> like_ddp(const std::vector<std::uint64_t>& tensors) {
  std::vector<Piece> parts;
  Piece open;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    open.bytes += *tensor;
    if (open.bytes < (parts.empty() ? kFirstBucket : kOtherBuckets)) continue;
    parts.push_back(open);
    open = {};
  }
  if (open.bytes > 0) parts.push_back(open);
  return parts;
}

/// Returns the profile whose backward pass takes a share of time for each bucket that is as large as its bytes.
Profile timed_by_bytes(std::vector<Piece> parts) {
  double all = 0;
  for (Piece& part : parts) all += part.time = double(part.bytes);
  return profile_of(parts, all * kForwardShare / (1 - kForwardShare));
}

}  // namespace

Profile read_profile(const std::string& path) {
  if (!path.ends_with(".safetensors") && !path.ends_with(".index.json")) return read_buckets(path);
  return timed_by_bytes(like_ddp(read_safetensors(path)));
}

Profile ddp_profile(std::uint64_t bytes) {
  const std::uint64_t after_first = bytes - std::min(bytes, kFirstBucket), others = kMostBuckets - 1;
  const std::uint64_t largest = std::max(kOtherBuckets, (after_first + others - 1) / others);
  std::vector<Piece> parts;
  while (bytes > 0) {
    parts.push_back({.bytes = std::min(bytes, parts.empty() ? kFirstBucket : largest)});
    bytes -= parts.back().bytes;
  }
  return timed_by_bytes(std::move(parts));
}

}  // namespace hopbench
