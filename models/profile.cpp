#include "models/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr std::uint64_t kMostBytes = 4'000'000'000'000;  // of a model
constexpr std::size_t kNumberBytes = sizeof(float);
constexpr double kForward = 1.0 / 3;  // of a gradient's time

/// Bytes of a bucket, and a measure of its share of the time.
struct Part {
  std::uint64_t bytes = 0;
  double time = 0;
};

Profile profile_of(const std::vector<Part>& parts, double before) {
  Profile profile;
  double all = before;
  for (const Part& part : parts) {
    profile.parameters += (part.bytes + kNumberBytes - 1) / kNumberBytes;
    all += part.time;
  }
  std::size_t end = profile.parameters;  // the last layer's bucket is complete first
  double done = before;
  for (const Part& part : parts) {
    const std::size_t size = (part.bytes + kNumberBytes - 1) / kNumberBytes;
    end -= size;
    done += part.time;
    profile.buckets.push_back({.offset = end, .size = size, .done_at = done / all});
  }
  profile.buckets.back().done_at = 1;
  return profile;
}

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Reads a row into `part`. Returns why it is none, or "".
std::string read_part(std::string_view line, Part& part) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos || line.find(',', comma + 1) != std::string_view::npos)
    return fmt::format("'{}' has not two cells", line);
  const auto bytes = whole<std::uint64_t>(line.substr(0, comma));
  if (!bytes || *bytes == 0 || *bytes > kMostBytes)
    return fmt::format("the bytes are '{}', not an integer from 1 to {}", line.substr(0, comma), kMostBytes);
  constexpr double kMostSeconds = 1e6;
  const auto seconds = whole<double>(line.substr(comma + 1));
  if (!seconds || !(*seconds >= 0) || *seconds > kMostSeconds)
    return fmt::format("the seconds are '{}', not a number from 0 to {:g}", line.substr(comma + 1), kMostSeconds);
  part = {*bytes, *seconds};
  return "";
}

Profile read_csv(std::istream& file, const std::string& path) {
  const auto wrong = [&](int line, const std::string& why) {
    return usage_error(printable(fmt::format("{}:{}: {}", path, line, why)));
  };
  std::vector<Part> parts;
  double seconds = 0;
  std::uint64_t bytes = 0;
  int number = 0;
  bool header = false;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (!header) {
      header = true;
      if (line != "bytes,seconds") throw wrong(number, "the header must be bytes,seconds");
      continue;
    }
    Part part;
    if (const std::string why = read_part(line, part); !why.empty()) throw wrong(number, why);
    parts.push_back(part);
    seconds += part.time;
    bytes += part.bytes;
    if (bytes > kMostBytes) throw wrong(number, fmt::format("the buckets have more than {} bytes", kMostBytes));
  }
  if (parts.empty()) throw wrong(std::max(number, 1), "there is no bucket: write bytes,seconds and a row for each");
  if (!(seconds > 0)) throw wrong(number, "all times are 0: the gradient must take some time");
  Profile profile = profile_of(parts, 0);
  profile.gradient = std::max(seconds_to_duration(seconds), Duration{1});
  return profile;
}

/// Returns the bytes of each tensor in the order of the file.
std::vector<std::uint64_t> tensors_in(const nlohmann::json& header) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const nlohmann::json& offsets = tensor.at("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2) throw usage_error("'data_offsets' are not two numbers");
    const auto from = integer_of<std::uint64_t>(offsets[0]), to = integer_of<std::uint64_t>(offsets[1]);
    if (to < from || to > kMostBytes) throw usage_error("'data_offsets' are no span of the file");
    if (to > from) spans.emplace_back(from, to);
  }
  std::sort(spans.begin(), spans.end());
  std::vector<std::uint64_t> bytes;
  for (const auto& [from, to] : spans) bytes.push_back(to - from);
  return bytes;
}

std::vector<Part> like_ddp(const std::vector<std::uint64_t>& tensors) {
  constexpr std::uint64_t kFirst = 1 << 20, kOther = 25 << 20;  // torch.nn.parallel.DistributedDataParallel's defaults
  std::vector<Part> parts;
  Part open;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    open.bytes += *tensor;
    if (open.bytes < (parts.empty() ? kFirst : kOther)) continue;
    parts.push_back(open);
    open = {};
  }
  if (open.bytes > 0) parts.push_back(open);
  for (Part& part : parts) part.time = double(part.bytes);
  return parts;
}

Profile read_safetensors(std::istream& file, const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    return usage_error(printable(fmt::format("{} is not a safetensors file: {}", path, why)));
  };
  constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
  unsigned char length[8];
  if (!file.read(reinterpret_cast<char*>(length), sizeof length)) throw wrong("it has no header");
  std::uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > kLongestHeader) throw wrong(fmt::format("its header would have {} bytes", bytes));
  std::string text(bytes, '\0');
  if (!file.read(text.data(), std::streamsize(bytes))) throw wrong("its header is cut short");
  try {
    const std::vector<Part> parts = like_ddp(tensors_in(nlohmann::json::parse(text)));
    if (parts.empty()) throw wrong("it has no tensors");
    double all = 0;
    for (const Part& part : parts) all += part.time;
    return profile_of(parts, all * kForward / (1 - kForward));
  } catch (const nlohmann::json::exception& error) {
    throw wrong(json_mistake(error));
  }
}

}  // namespace

Profile read_profile(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw usage_error(fmt::format("the profile {} cannot be read: it is not a file", printable(path)));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error(fmt::format("the profile {} cannot be read: {}", printable(path), std::strerror(errno)));
  return path.ends_with(".safetensors") ? read_safetensors(file, path) : read_csv(file, path);
}

}  // namespace hopbench
