// Files of the PyTorch profiler.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <set>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "suites/import/marks.h"
#include "suites/import/readers.h"
#include "suites/import/trace_events.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepName = "ProfilerStep#";

bool is_category(const TraceEvent& event, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), event.category) != names.end();
}
// Files of PyTorch before 1.12 have the capitalised names.
bool is_kernel(const TraceEvent& event) {
  return is_category(event, {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"});
}
bool is_operator(const TraceEvent& event) { return is_category(event, {"cpu_op", "Operator"}); }

/// Returns the step of ProfilerStep#N, seen by the processor and not by a GPU.
std::optional<std::int64_t> step_in(const TraceEvent& event) {
  if (!event.name.starts_with(kStepName) || event.category == "gpu_user_annotation") return std::nullopt;
  std::int64_t step = 0;
  const char* end = event.name.data() + event.name.size();
  const auto [last, error] = std::from_chars(event.name.data() + kStepName.size(), end, step);
  return error == std::errc() && last == end ? std::optional(step) : std::nullopt;
}

/// Events of one file. Times are microseconds as they stand in it.
class KinetoFile {
 public:
  void add(const TraceEvent& event) {
    if (const auto step = step_in(event)) {
      const auto [at, is_new] = steps_.try_emplace(*step, Span{event.begin, event.end});
      if (!is_new) twice_.insert(*step);
    } else if (is_kernel(event)) {
      raise(kKernels);
      add_work(event, kKernels);
    } else if (level_ < kKernels && is_communication(event.name)) {
      const bool of_backend = event.name.starts_with("gloo:") || event.name.starts_with("mpi:") ||
                              event.name.starts_with("ucc:") || event.name.starts_with("nccl:");
      if (of_backend) raise(kBackend);
      add_work(event, of_backend ? kBackend : kCalls);
    } else if (level_ < kKernels && is_operator(event)) {
      spans_.add(0, SpanOf::kCompute, event.thread, {event.begin, event.end});
    }
  }
  bool has_too_many_threads() const { return spans_.threads() > WorkSpans::kMostThreads; }
  /// Returns the steps, moved by `shift` seconds, and reports what is wrong with them.
  RankMarks marks(std::int64_t rank, double shift, Remarks& remarks);

 private:
  // Collectives as they are called, as the library of the backend sees them, as kernels of a GPU. Where a higher level
  // is known, it says when a collective ends.
  enum Level { kCalls, kBackend, kKernels };

  void raise(Level level) {
    if (level <= level_) return;
    if (level == kKernels) spans_.clear();  // operators and calls only start kernels
    collectives_.clear();
    level_ = level;
  }
  void add_work(const TraceEvent& event, Level level) {
    const bool communication = is_communication(event.name);
    spans_.add(0, communication ? SpanOf::kCommunication : SpanOf::kCompute, event.thread, {event.begin, event.end});
    if (communication && level == level_ && is_collective(event.name)) {
      if (collectives_.size() < kMostCollectives)
        collectives_.push_back({event.begin, event.end});
      else
        too_many_collectives_ = true;
    }
  }

  static constexpr std::size_t kMostCollectives = std::size_t{1} << 20;  // 16 MiB
  std::map<std::int64_t, Span> steps_;
  std::set<std::int64_t> twice_;
  WorkSpans spans_;
  Spans collectives_;
  bool too_many_collectives_ = false;
  Level level_ = kCalls;
};

RankMarks KinetoFile::marks(std::int64_t rank, double shift, Remarks& remarks) {
  const auto seconds = [&](double microseconds) { return microseconds * 1e-6 + shift; };
  RankMarks found{rank, {}, spans_.take_exposed(0)};
  if (found.exposed.empty() && !steps_.empty())
    remarks.add(fmt::format("rank {}: no communication is exposed: its seconds are whole steps", rank));
  if (spans_.closed_gap() > 0)
    remarks.add(fmt::format("rank {}: very many events: gaps of up to {} us between them were closed", rank,
                            spans_.closed_gap()));
  if (too_many_collectives_)
    remarks.add(fmt::format("rank {}: only the first {} collectives are compared with those of other ranks", rank,
                            kMostCollectives));
  for (const std::int64_t step : twice_) {
    remarks.add(fmt::format("rank {}: step {} is marked more than once: it is left out", rank, step));
    steps_.erase(step);
  }
  for (const auto& [step, span] : steps_) found.steps.add({step, seconds(span.begin), seconds(span.end)});
  std::map<double, std::int64_t> begins;
  for (const auto& [step, span] : steps_) begins[span.begin] = step;
  for (const Span& collective : collectives_) {
    const auto after = begins.upper_bound(collective.begin);
    if (after == begins.begin()) continue;
    const std::int64_t step = std::prev(after)->second;
    if (collective.begin >= steps_.at(step).end) continue;
    StepMarks& marks = *found.steps.find(step);
    marks.last_collective = std::max(marks.last_collective, seconds(collective.end));
    ++marks.collectives;
  }
  for (Span& span : found.exposed) span = {seconds(span.begin), seconds(span.end)};
  return found;
}

/// Returns the number that follows "rank" in a file's name, else the only number in it.
std::optional<std::int64_t> rank_in_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const auto number_at = [&](std::size_t begin) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
  };
  if (const std::size_t word = name.rfind("rank"); word != std::string::npos) {
    std::size_t begin = word + 4;
    if (begin < name.size() && (name[begin] == '-' || name[begin] == '_')) ++begin;
    if (begin < name.size() && std::isdigit(static_cast<unsigned char>(name[begin])) != 0) return number_at(begin);
  }
  const std::size_t first = name.find_first_of("0123456789");
  if (first == std::string::npos) return std::nullopt;
  const std::size_t end = name.find_first_not_of("0123456789", first);
  if (end != std::string::npos && name.find_first_of("0123456789", end) != std::string::npos) return std::nullopt;
  return number_at(first);
}

/// Returns the files, and for a directory those in it whose names end in .json or .json.gz.
std::vector<std::string> files_at(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code none;
    if (!fs::is_directory(path, none)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (name.ends_with(".json") || name.ends_with(".json.gz")) files.push_back(name);
    }
    if (files.size() == before) throw usage_error(printable(path) + " has no file *.json or *.json.gz");
    std::sort(files.begin() + std::ptrdiff_t(before), files.end());
  }
  return files;
}

std::int64_t rank_of(const TraceHead& head, const std::string& path, std::size_t files) {
  const auto rank = head.rank ? head.rank : rank_in_name(path);
  if (!rank && files == 1) return 0;
  if (!rank)
    throw usage_error(fmt::format("{} does not say of which rank it is: it has no distributedInfo. Name it rankN.json",
                                  printable(path)));
  if (*rank < 0 || *rank >= kMostRanksOfTrace)
    throw usage_error(
        fmt::format("{} is of rank {}, which is not from 0 to {}", printable(path), *rank, kMostRanksOfTrace - 1));
  return *rank;
}

}  // namespace

void read_kineto(const std::vector<std::string>& paths, const Layout& layout, Imported& to) {
  const std::vector<std::string> files = files_at(paths);
  std::vector<RankMarks> ranks;
  std::map<std::int64_t, std::string> file_of;
  std::optional<std::int64_t> first_base;
  for (const std::string& path : files) {
    KinetoFile file;
    const TraceHead head = read_trace_events(path, [&](const TraceEvent& event) {
      file.add(event);
      if (file.has_too_many_threads())
        throw usage_error(printable(path) + ": its events have more threads than a process has: is it of one rank?");
    });
    const std::int64_t rank = rank_of(head, path, files.size());
    if (const auto [at, is_new] = file_of.emplace(rank, path); !is_new)
      throw usage_error(fmt::format("{} and {} are both of rank {}", printable(at->second), printable(path), rank));
    if (!first_base) first_base = head.base_ns;
    const double shift = (double(head.base_ns) - double(*first_base)) * 1e-9;
    ranks.push_back(file.marks(rank, shift, to.remarks));
    if (!layout.grouped()) settle_exposed(ranks.back());
    if (ranks.back().steps.empty())
      to.remarks.add(
          fmt::format("rank {}: {} has no usable step: profile with a schedule and prof.step(), which mark "
                      "steps as ProfilerStep#N",
                      rank, printable(path)));
    if (head.damaged > 0)
      to.remarks.add(fmt::format("rank {}: {} events without a time or a duration are left out", rank, head.damaged));
  }
  add_rows(ranks, layout, true, to);
}

}  // namespace hopbench
