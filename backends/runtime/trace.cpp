#include "backends/runtime/trace.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr int kMostRanks = 100'000;
constexpr double kMostSeconds = 1e9;

/// A stream for one draw, without the draws of other rules.
Random stream(const RandomKey& key, std::size_t skipped) {
  Random random(key);
  for (std::size_t draw = 0; draw < skipped; ++draw) random.next_u32();
  return random;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    cells.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return cells;
    begin = end + 1;
  }
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The places of the three columns in a line.
struct Header {
  Trace::Kind kind;
  std::size_t rank, at, value, columns;
};

std::optional<Header> header_of(const std::vector<std::string_view>& names) {
  const auto place = [&](std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? std::optional<std::size_t>() : std::size_t(found - names.begin());
  };
  const auto rank = place("rank"), step = place("step"), seconds = place("seconds"), time = place("time"),
             factor = place("factor");
  if (!rank) return std::nullopt;
  if (step && seconds) return Header{Trace::Kind::kSteps, *rank, *step, *seconds, names.size()};
  if (time && factor) return Header{Trace::Kind::kTimes, *rank, *time, *factor, names.size()};
  return std::nullopt;
}

}  // namespace

/// The rows of a file, by rank: step or nanosecond, value.
struct Trace::Rows {
  std::vector<std::vector<std::pair<std::int64_t, double>>> of_rank;

  /// Adds a row. Returns why it cannot be one, or "".
  std::string add(const Header& header, const std::vector<std::string_view>& cells) {
    if (cells.size() != header.columns) return fmt::format("{} cells, not {}", cells.size(), header.columns);
    const auto rank = number_of<int>(cells[header.rank]);
    if (!rank || *rank < 0 || *rank >= kMostRanks)
      return fmt::format("the rank is '{}', not an integer from 0 to {}", cells[header.rank], kMostRanks - 1);
    const auto value = number_of<double>(cells[header.value]);
    if (!value || !(*value > 0) || *value > kMostSeconds)
      return fmt::format("the {} '{}', not a number above 0", header.kind == Kind::kSteps ? "seconds are" : "factor is",
                         cells[header.value]);
    std::int64_t at = 0;
    if (header.kind == Kind::kSteps) {
      const auto step = number_of<std::int64_t>(cells[header.at]);
      if (!step || *step < 0) return fmt::format("the step is '{}', not an integer from 0", cells[header.at]);
      at = *step;
    } else {
      const auto time = number_of<double>(cells[header.at]);
      if (!time || !(*time >= 0) || *time > kMostSeconds)
        return fmt::format("the time is '{}', not a number of seconds from 0", cells[header.at]);
      at = seconds_to_duration(*time).count();
    }
    if (of_rank.size() <= std::size_t(*rank)) of_rank.resize(std::size_t(*rank) + 1);
    of_rank[std::size_t(*rank)].emplace_back(at, *value);
    return "";
  }
};

std::shared_ptr<const Trace> Trace::read(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw usage_error(fmt::format("the trace {} cannot be read: it is not a file", printable(path)));
  std::ifstream file(path);
  if (!file) throw usage_error(fmt::format("the trace {} cannot be read: {}", printable(path), std::strerror(errno)));
  const auto wrong = [&](std::int64_t line, const std::string& why) {
    return usage_error(printable(fmt::format("{}:{}: {}", path, line, why)));
  };
  XXH64_hash_t digest = 0;  // of each line, seeded with that of the lines before
  std::optional<Header> header;
  Rows rows;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    digest = XXH64(line.data(), line.size(), digest);
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> cells = cells_of(line);
    if (!header) {
      header = header_of(cells);
      if (!header)
        throw wrong(number, "a trace begins with the columns rank,step,seconds or rank,time,factor, not '" +
                                line.substr(0, 60) + "'");
      continue;
    }
    if (const std::string why = rows.add(*header, cells); !why.empty()) throw wrong(number, why);
  }
  if (file.bad() || !header || rows.of_rank.empty()) throw wrong(number, "the trace has no rows");
  std::shared_ptr<Trace> trace(new Trace);
  trace->kind_ = header->kind;
  trace->ranks_ = static_cast<int>(rows.of_rank.size());
  trace->digest_ = fmt::format("{:016x}", digest);
  for (std::size_t rank = 0; rank < rows.of_rank.size(); ++rank) {
    auto& own = rows.of_rank[rank];
    if (own.empty()) throw usage_error(fmt::format("the trace {} has no rows of rank {}", printable(path), rank));
    std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto twice =
        std::adjacent_find(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == own.end()) continue;
    throw usage_error(fmt::format("the trace {} has two rows of rank {} at {}", printable(path), rank,
                                  header->kind == Kind::kSteps ? fmt::format("step {}", twice->first)
                                                               : fmt::format("{} s", double(twice->first) * 1e-9)));
  }
  header->kind == Kind::kSteps ? trace->keep_steps(rows, path) : trace->keep_times(rows, path);
  return trace;
}

void Trace::keep_steps(Rows& rows, const std::string& path) {
  std::map<std::int64_t, int> having;  // step -> number of ranks that have it
  for (const auto& own : rows.of_rank) {
    for (const auto& [step, value] : own) ++having[step];
  }
  for (const auto& [step, count] : having) {
    if (count == ranks_) numbers_.push_back(step);
  }
  incomplete_ = static_cast<std::int64_t>(having.size() - numbers_.size());
  if (numbers_.empty()) throw usage_error(fmt::format("the trace {} has no step of all ranks", printable(path)));
  least_ = std::numeric_limits<double>::infinity();
  for (auto& own : rows.of_rank) {
    for (const auto& [step, value] : own) {
      if (having[step] != ranks_) continue;
      values_.push_back(value);
      mean_ += value;
      least_ = std::min(least_, value);
    }
    own = {};
  }
  mean_ /= static_cast<double>(values_.size());
}

void Trace::keep_times(Rows& rows, const std::string& path) {
  least_ = 1;  // before the first rows
  for (const auto& own : rows.of_rank) {
    factors_.emplace_back();
    for (const auto& [at, value] : own) {
      factors_.back().emplace_back(Duration(at), value);
      least_ = std::min(least_, value);
      length_ = std::max(length_, Duration(at));
    }
  }
  if (length_ == Duration{})
    throw usage_error(fmt::format("the trace {} has no row after time 0: its last row marks its end", printable(path)));
}

std::vector<std::int64_t> Trace::starts(std::int64_t block) const {
  std::vector<std::int64_t> found;
  for (std::int64_t at = 0; at + block <= steps(); ++at) {
    if (numbers_[std::size_t(at + block - 1)] - numbers_[std::size_t(at)] == block - 1) found.push_back(at);
  }
  return found;
}

std::int64_t Trace::longest_run() const {
  std::int64_t longest = 1, run = 1;
  for (std::size_t at = 1; at < numbers_.size(); ++at) {
    run = numbers_[at] == numbers_[at - 1] + 1 ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

double Trace::factor(int rank, Duration since_begin) const {
  const auto& own = factors_[std::size_t(rank)];
  const auto later = std::upper_bound(own.begin(), own.end(), since_begin,
                                      [](Duration at, const auto& row) { return at < row.first; });
  return later == own.begin() ? 1.0 : std::prev(later)->second;
}

namespace {

constexpr std::int64_t kRankDraw = -1;  // the iteration of the draw of a worker's rank; blocks are numbered from 0
constexpr int kAllRanks = -1;

/// Returns the rank of the recording that a worker replays.
int source_of(const TraceReplay& replay, RandomKey key, std::size_t skipped) {
  if (replay.map != TraceMap::kResampleRanks) return key.rank;
  key.iteration = kRankDraw;
  return int(stream(key, skipped).below(std::uint64_t(replay.trace->ranks())));
}

/// Returns the stream of the draw of a block, which only resampled ranks have for themselves.
Random block_stream(const TraceReplay& replay, RandomKey key, std::size_t skipped, std::int64_t block) {
  if (replay.map == TraceMap::kBlockBootstrap) key.rank = kAllRanks;
  key.iteration = block;
  return stream(key, skipped);
}

}  // namespace

void TraceReplay::prepare() {
  if (trace->kind() == Trace::Kind::kSteps && map != TraceMap::kFixed) starts = trace->starts(block);
}

double TraceReplay::seconds(RandomKey key, std::size_t skipped, std::int64_t k) const {
  const int rank = source_of(*this, key, skipped);
  const std::int64_t steps = trace->steps();
  if (map == TraceMap::kFixed) {
    return trace->seconds(rank, k < steps || end == TraceEnd::kWrap ? k % steps : steps - 1);
  }
  const std::int64_t first = starts[block_stream(*this, key, skipped, k / block).below(starts.size())];
  return trace->seconds(rank, first + k % block);
}

double TraceReplay::factor(RandomKey key, std::size_t skipped, Time now) const {
  const int rank = source_of(*this, key, skipped);
  const Duration at = now.time_since_epoch(), length = trace->length();
  if (map != TraceMap::kFixed) {
    const auto room = static_cast<std::uint64_t>(std::max<Duration::rep>(1, (length - slot).count()));
    const Duration first(block_stream(*this, key, skipped, at / slot).below(room));
    return trace->factor(rank, first + at % slot);
  }
  if (at < length || end == TraceEnd::kHold) return trace->factor(rank, at);
  if (end == TraceEnd::kWrap) return trace->factor(rank, at % length);
  throw usage_error(
      fmt::format("the trace of the scenario ends at {} s, before the trial: record more, or set end to "
                  "\"wrap\" or \"hold\"",
                  to_seconds(length)));
}

}  // namespace hopbench
