#include "backends/runtime/trace.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "backends/base/process/kept.h"

namespace hopbench {
namespace {

constexpr int kMostRanks = 100'000;
constexpr double kMostSeconds = 1e9, kMostBandwidth = 1e15;

/// A stream for one draw, without the draws of other rules.
Random stream(const RandomKey& key, std::size_t skipped) {
  Random random(key);
  random.skip(skipped);
  return random;
}

constexpr const char* kLinkColumns[] = {"bandwidth", "factor", "latency"};  // in the order of Trace::Column

/// A column of values, and its place in a line.
struct ValueColumn {
  std::string_view name;
  std::size_t place;
  std::size_t series;  // of a link

  /// Reads a cell. Returns why it is no such value, or "".
  std::string read(std::string_view cell, double& value) const {
    const bool from_0 = name == "latency";
    const double most = name == "bandwidth" ? kMostBandwidth : kMostSeconds;
    const auto number = number_in<double>(cell);
    if (number && (from_0 ? *number >= 0 : *number > 0) && *number <= most) {
      value = *number;
      return "";
    }
    return fmt::format("the {} {} '{}', not a number {}{}", name, name == "seconds" ? "are" : "is", cell,
                       from_0 ? "from 0" : "above 0",
                       name == "bandwidth" ? " (faults of kind \"cut\" stop a link for a time)" : "");
  }
};

/// The places of the columns in a line.
struct Header {
  Trace::Kind kind = Trace::Kind::kSteps;
  std::size_t rank = 0, at = 0, columns = 0;
  std::vector<ValueColumn> values{};

  /// Reads the names of the columns. Returns why they are those of no trace, or "".
  std::string read(const std::vector<std::string_view>& names);
};

std::string Header::read(const std::vector<std::string_view>& names) {
  std::map<std::string_view, std::size_t> places;
  for (const char* known : {"rank", "step", "seconds", "time", "factor", "bandwidth", "latency"}) {
    const auto found = std::find(names.begin(), names.end(), known);
    if (found == names.end()) continue;
    places[known] = std::size_t(found - names.begin());
    if (std::find(found + 1, names.end(), known) != names.end()) return fmt::format("two columns are '{}'", known);
  }
  const auto has = [&](std::string_view name) { return places.contains(name); };
  const bool steps = has("rank") && has("step") && has("seconds"), times = has("rank") && has("time") && has("factor");
  if (steps && times)
    return "a trace has the columns rank,step,seconds or rank,time,factor, and this one has both: leave out those of "
           "one";
  columns = names.size();
  if (steps || times) {
    kind = steps ? Trace::Kind::kSteps : Trace::Kind::kTimes;
    rank = places["rank"];
    at = places[steps ? "step" : "time"];
    const char* const value = steps ? "seconds" : "factor";
    values.push_back({value, places[value], 0});
    return "";
  }
  if (has("bandwidth") && has("factor"))
    return "'factor' divides a bandwidth that the suite gives, and 'bandwidth' replaces it: leave out one of them";
  kind = Trace::Kind::kLink;
  for (std::size_t series = 0; series < std::size(kLinkColumns) && has("time") && !has("rank"); ++series) {
    if (has(kLinkColumns[series])) values.push_back({kLinkColumns[series], places[kLinkColumns[series]], series});
  }
  if (!values.empty()) at = places["time"];
  return values.empty() ? "a trace begins with the columns rank,step,seconds or rank,time,factor, and that of a link "
                          "with time and bandwidth, factor or latency, not '" +
                              fmt::format("{}", fmt::join(names, ",")).substr(0, 60) + "'"
                        : "";
}

}  // namespace

/// The rows of a file, by rank or column of a link: step or nanosecond, value.
struct Trace::Rows {
  std::vector<std::vector<std::pair<std::int64_t, double>>> series;

  struct Archive;

  /// Adds a row. Returns why it cannot be one, or "".
  std::string add(const Header& header, const std::vector<std::string_view>& cells) {
    if (cells.size() != header.columns) return fmt::format("{} cells, not {}", cells.size(), header.columns);
    std::size_t rank = 0;
    if (header.kind != Kind::kLink) {
      const auto read = number_in<int>(cells[header.rank]);
      if (!read || *read < 0 || *read >= kMostRanks)
        return fmt::format("the rank is '{}', not an integer from 0 to {}", cells[header.rank], kMostRanks - 1);
      rank = std::size_t(*read);
    }
    std::int64_t at = 0;
    if (header.kind == Kind::kSteps) {
      const auto step = number_in<std::int64_t>(cells[header.at]);
      if (!step || *step < 0) return fmt::format("the step is '{}', not an integer from 0", cells[header.at]);
      at = *step;
    } else {
      const auto time = number_in<double>(cells[header.at]);
      if (!time || !(*time >= 0) || *time > kMostSeconds)
        return fmt::format("the time is '{}', not a number of seconds from 0", cells[header.at]);
      at = seconds_to_duration(*time).count();
    }
    for (const ValueColumn& column : header.values) {
      double value = 0;
      if (std::string why = column.read(cells[column.place], value); !why.empty()) return why;
      const std::size_t to = header.kind == Kind::kLink ? column.series : rank;
      if (series.size() <= to) series.resize(to + 1);
      series[to].emplace_back(at, value);
    }
    return "";
  }
};

Trace::Rows Trace::rows_of(const std::string& path, Kind& kind, std::string& digest) {
  XXH64_hash_t hash = 0;  // of each row, seeded with that of the rows before
  Header header;
  Rows rows;
  const int last = read_csv_rows(path, "trace", [&](std::string_view text, const auto& cells) {
    hash = XXH64(text.data(), text.size(), hash);
    return header.columns == 0 ? header.read(cells) : rows.add(header, cells);
  });
  if (rows.series.empty()) throw csv_error(path, last, "the trace has no rows");
  kind = header.kind;
  digest = fmt::format("{:016x}", hash);
  return rows;
}

/// Sorts the rows of each series by their time, each of which it must have once.
void Trace::sort(Rows& rows, Kind kind, const std::string& path) {
  for (std::size_t rank = 0; rank < rows.series.size(); ++rank) {
    auto& own = rows.series[rank];
    if (own.empty() && kind != Kind::kLink)
      throw usage_error(fmt::format("the trace {} has no rows of rank {}", printable(path), rank));
    std::sort(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto twice =
        std::adjacent_find(own.begin(), own.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == own.end()) continue;
    throw usage_error(fmt::format("the trace {} has two rows {}at {}", printable(path),
                                  kind == Kind::kLink ? "" : fmt::format("of rank {} ", rank),
                                  kind == Kind::kSteps ? fmt::format("step {}", twice->first)
                                                       : fmt::format("{} s", double(twice->first) * 1e-9)));
  }
}

/// A trace as bytes, for child processes. Copies from it where `at` is set, and to `bytes` where it is not.
struct Trace::Rows::Archive {
  std::vector<std::uint8_t> bytes{};
  const std::uint8_t* at = nullptr;

  template <class T>
  void copy(T& member) {
    auto* const to = reinterpret_cast<std::uint8_t*>(&member);
    if constexpr (requires { member.resize(0); }) {
      std::size_t size = member.size();
      copy(size);
      member.resize(size);
      for (auto& each : member) copy(each);
    } else if (at == nullptr) {
      bytes.insert(bytes.end(), to, to + sizeof member);
    } else {
      std::copy_n(std::exchange(at, at + sizeof member), sizeof member, to);
    }
  }
  void copy_trace(Trace& t) {
    const auto all = [this](auto&... members) { (copy(members), ...); };
    all(t.kind_, t.ranks_, t.mean_, t.least_, t.incomplete_, t.length_, t.digest_, t.numbers_, t.values_, t.series_);
  }
};

std::shared_ptr<const Trace> Trace::read(const std::string& path) {
  std::shared_ptr<Trace> trace(new Trace);
  const std::string name = "trace " + path;
  if (const std::optional<Content> content = kept(name)) {
    Rows::Archive{.at = content->data()}.copy_trace(*trace);
    return trace;
  }
  Rows rows = rows_of(path, trace->kind_, trace->digest_);
  sort(rows, trace->kind_, path);
  if (trace->kind_ == Kind::kLink) rows.series.resize(std::size(kLinkColumns));
  trace->ranks_ = trace->kind_ == Kind::kLink ? 0 : static_cast<int>(rows.series.size());
  trace->kind_ == Kind::kSteps ? trace->keep_steps(rows, path) : trace->keep_times(rows, path);
  Rows::Archive archive;
  if (keeps_contents()) archive.copy_trace(*trace);
  keep(name, Content(std::move(archive.bytes)));
  return trace;
}

void Trace::keep_steps(Rows& rows, const std::string& path) {
  std::map<std::int64_t, int> having;  // step -> number of ranks that have it
  for (const auto& own : rows.series) {
    for (const auto& [step, value] : own) ++having[step];
  }
  for (const auto& [step, count] : having) {
    if (count == ranks_) numbers_.push_back(step);
  }
  incomplete_ = static_cast<std::int64_t>(having.size() - numbers_.size());
  if (numbers_.empty()) throw usage_error(fmt::format("the trace {} has no step of all ranks", printable(path)));
  least_ = std::numeric_limits<double>::infinity();
  for (auto& own : rows.series) {
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
  for (const auto& own : rows.series) {
    series_.emplace_back();
    for (const auto& [at, value] : own) {
      series_.back().emplace_back(Duration(at), value);
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

namespace {

/// Returns the first row after `since_begin`.
auto row_after(const std::vector<std::pair<Duration, double>>& rows, Duration since_begin) {
  return std::upper_bound(rows.begin(), rows.end(), since_begin,
                          [](Duration at, const auto& row) { return at < row.first; });
}

}  // namespace

double Trace::factor(int rank, Duration since_begin) const {
  const Series& own = series_[std::size_t(rank)];
  const auto later = row_after(own, since_begin);
  return later == own.begin() ? 1.0 : std::prev(later)->second;
}

std::optional<double> Trace::value(Column column, Duration since_begin) const {
  const Series& own = series_[std::size_t(column)];
  const auto later = row_after(own, since_begin);
  return later == own.begin() ? std::optional<double>() : std::prev(later)->second;
}

Duration Trace::next_row(Duration since_begin) const {
  Duration next = kLongestDuration;
  for (const Series& own : series_) {
    if (const auto later = row_after(own, since_begin); later != own.end()) next = std::min(next, later->first);
  }
  return next;
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
  return trace->factor(source_of(*this, key, skipped), place(key, skipped, now).at);
}

TraceReplay::Place TraceReplay::place(const RandomKey& key, std::size_t skipped, Time now) const {
  const Duration at = now.time_since_epoch(), length = trace->length();
  if (map != TraceMap::kFixed) {
    const auto room = static_cast<std::uint64_t>(std::max<Duration::rep>(1, (length - slot).count()));
    const std::int64_t number = at / slot;
    const Duration first(block_stream(*this, key, skipped, number).below(room));
    return {first + at % slot, after(now, slot - at % slot)};
  }
  if (at < length) return {at, Time(length)};
  if (end == TraceEnd::kHold) return {at, kNever};
  if (end == TraceEnd::kWrap) return {at % length, after(now, length - at % length)};
  throw usage_error(
      fmt::format("the trace of the scenario ends at {} s, before the trial: record more, or set end to "
                  "\"wrap\" or \"hold\"",
                  to_seconds(length)));
}

}  // namespace hopbench
