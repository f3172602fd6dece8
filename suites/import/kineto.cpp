// Files of the PyTorch profiler.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "suites/import/damage.h"
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

/// Returns true for a call of the processor that launches work of a GPU.
bool is_launch(const TraceEvent& event) {
  return event.correlation &&
         (event.category.ends_with("_runtime") || event.category.ends_with("_driver") || event.category == "Runtime");
}
/// Returns true for a span in which the processor itself communicates, also beside kernels.
bool is_of_backend(const std::string& name) {
  return name.starts_with("gloo:") || name.starts_with("mpi:") || name.starts_with("ucc:");
}

/// The events of one file, which is read twice: note() takes what they are compared with, add() what they are. Times
/// are microseconds as they stand in it.
class KinetoFile {
 public:
  explicit KinetoFile(Communication& communication) : communication_(communication) {}
  void note(const TraceEvent& event);
  /// Ends the first reading.
  void settle();
  void add(const TraceEvent& event);
  bool has_too_many_threads() const { return last_.threads() > WorkSpans::kMostThreads; }
  bool has_marks() const { return !steps_.empty(); }
  bool has_too_many_launches() const { return launches_.size() > kMostLaunches; }
  static constexpr std::size_t kMostLaunches = std::size_t{1} << 22;  // 64 MiB
  /// Returns the steps, moved by `shift` seconds, and reports what is wrong with them.
  RankMarks marks(std::int64_t rank, double shift, Remarks& remarks);

 private:
  /// A step as the processor marks it, and what the GPU does in it.
  struct Step {
    std::int64_t number = 0;
    Span host;
    double first = kInfinity, last = -kInfinity;  // begin and end of the kernels that it launched
    double last_collective = -kInfinity;
    std::uint32_t collectives = 0;
    const char* wrong = nullptr;  // why it is left out, if the marks say so
  };
  enum class Work { kNone, kKernel, kHost };
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::uint64_t kWhole = 0;     // key of the last begin of all events
  static constexpr std::int64_t kNoLaunch = -1;  // stands for a correlation

  Work work_of(const TraceEvent& event) const;
  /// Returns the time at which the work with this correlation was launched.
  std::optional<double> launched_at(std::int64_t correlation) const;
  /// Returns the last step that had begun at the time; -1 before the first one.
  std::ptrdiff_t begun_at(double time) const;
  /// Returns the step that a begin and a correlation belong to, by launches if the file has them.
  std::ptrdiff_t step_of(double begin, std::int64_t correlation) const {
    return begun_at(launched_at(correlation).value_or(begin));
  }
  bool never_ended(const TraceEvent& event, std::int64_t correlation) const;
  /// Leaves out the steps `first` to `last`, because the launches are not in the file that tell which kernels are
  /// theirs.
  void doubt(std::ptrdiff_t first, std::ptrdiff_t last);
  void doubt_crossed(const TraceEvent& event);  // steps between which the kernel runs, if no kernel has a launch
  void doubt_lost();                            // steps to which kernels without a launch may belong
  /// Makes steps last from the end of the kernels of the step before to the end of their own, where the GPU lags.
  void set_windows();

  Communication& communication_;
  std::vector<Step> steps_;                                // by begin
  std::vector<std::pair<std::int64_t, double>> launches_;  // correlation and time, sorted by settle()
  LastBegins last_;
  double first_begin_ = kInfinity, last_begin_ = -kInfinity, last_mark_end_ = -kInfinity;
  bool has_kernels_ = false, has_backend_ = false, by_launch_ = false;

  WorkSpans spans_;          // of rank 0; those of kernels whose launch is not in the file also of 1 and 2
  std::vector<int> doubts_;  // differences, from a step to the next, of the number of reasons to leave it out
  std::size_t never_ended_ = 0, lost_ = 0, early_ = 0;  // lost_ and early_: kernels whose launch is not in the file
  double first_early_ = kInfinity;
  std::string first_never_ended_;
};

KinetoFile::Work KinetoFile::work_of(const TraceEvent& event) const {
  if (is_kernel(event)) return Work::kKernel;
  if (is_category(event, {"gpu_user_annotation", "python_function"}) || is_launch(event)) return Work::kNone;
  // Beside kernels, operators and calls only start them.
  if (has_kernels_)
    return is_of_backend(event.name) || communication_.has_added_word(event.name) ? Work::kHost : Work::kNone;
  return is_operator(event) || communication_.is(event.name) ? Work::kHost : Work::kNone;
}

void KinetoFile::note(const TraceEvent& event) {
  first_begin_ = std::min(first_begin_, event.begin);
  last_begin_ = std::max(last_begin_, event.begin);
  std::int64_t correlation = kNoLaunch;
  if (const auto step = step_in(event)) {
    steps_.push_back({.number = *step, .host = {event.begin, event.end}});
  } else if (is_kernel(event)) {
    has_kernels_ = true;
    correlation = event.correlation.value_or(kNoLaunch);
    by_launch_ = by_launch_ || event.correlation.has_value();
  } else if (is_launch(event)) {
    launches_.emplace_back(*event.correlation, event.begin);
  } else {
    has_backend_ = has_backend_ || is_of_backend(event.name) || event.name.starts_with("nccl:");
  }
  last_.note(event.thread, event.begin, correlation);
  last_.note(kWhole, event.begin, correlation);
}

void KinetoFile::settle() {
  std::sort(launches_.begin(), launches_.end());
  by_launch_ = by_launch_ && !launches_.empty();
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.host.begin < b.host.begin; });
  std::set<std::int64_t> numbers, twice;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!numbers.insert(steps_[i].number).second) twice.insert(steps_[i].number);
    if (i + 1 < steps_.size() && steps_[i].host.end > (steps_[i + 1].host.begin + steps_[i + 1].host.end) / 2) {
      steps_[i].wrong = "marked beyond the begin of the next step: left out";
      steps_[i].host.end = steps_[i + 1].host.begin;
    }
    last_mark_end_ = std::max(last_mark_end_, steps_[i].host.end);
  }
  for (Step& step : steps_)
    if (twice.contains(step.number)) step.wrong = "marked more than once: left out";
}

std::optional<double> KinetoFile::launched_at(std::int64_t correlation) const {
  if (!by_launch_ || correlation == kNoLaunch) return std::nullopt;
  const auto at = std::lower_bound(launches_.begin(), launches_.end(), std::pair{correlation, -kInfinity});
  return at != launches_.end() && at->first == correlation ? std::optional(at->second) : std::nullopt;
}

std::ptrdiff_t KinetoFile::begun_at(double time) const {
  const auto after =
      std::partition_point(steps_.begin(), steps_.end(), [&](const Step& step) { return step.host.begin <= time; });
  return after - steps_.begin() - 1;
}

bool KinetoFile::never_ended(const TraceEvent& event, std::int64_t correlation) const {
  const double known_end = std::max(last_begin_, last_mark_end_);
  const auto last_step = [&](const LastBegins::Last& last) { return step_of(last.begin, last.id); };
  const std::ptrdiff_t step = step_of(event.begin, correlation);
  return last_.never_ended(event.thread, event, step, last_step) || last_.never_ended(kWhole, event, step, last_step) ||
         event.end - known_end > known_end - first_begin_;
}

void KinetoFile::add(const TraceEvent& event) {
  const Work work = work_of(event);
  if (work == Work::kNone) return;
  const bool kernel = work == Work::kKernel;
  const std::int64_t correlation = kernel ? event.correlation.value_or(kNoLaunch) : kNoLaunch;
  if (never_ended(event, correlation)) {
    if (++never_ended_ == 1) first_never_ended_ = event.name;
    return;
  }
  const bool communicates = communication_.is(event.name);
  if (kernel || communicates) communication_.note(event.name, (event.end - event.begin) * 1e-6);
  spans_.add(0, communicates ? SpanOf::kCommunication : SpanOf::kCompute, event.thread, {event.begin, event.end});
  if (kernel && by_launch_ && !launched_at(correlation)) {
    const bool early = correlation != kNoLaunch && correlation < launches_.front().first;
    ++(early ? early_ : lost_);
    if (early) first_early_ = std::min(first_early_, event.begin);
    return spans_.add(early ? 2 : 1, SpanOf::kCommunication, 0, {event.begin, event.end});
  }
  if (kernel && !by_launch_) doubt_crossed(event);
  const std::ptrdiff_t at = step_of(event.begin, correlation);
  if (at < 0 || launched_at(correlation).value_or(event.begin) >= steps_[std::size_t(at)].host.end) return;
  Step& step = steps_[std::size_t(at)];
  if (kernel && by_launch_) step.first = std::min(step.first, event.begin), step.last = std::max(step.last, event.end);
  // Without kernels, a backend's spans say when a collective ends, and calls do not.
  const bool counts = has_kernels_ || !has_backend_ || is_of_backend(event.name) || event.name.starts_with("nccl:");
  if (!communicates || !counts || !Communication::is_collective(event.name)) return;
  step.last_collective = std::max(step.last_collective, event.end);
  ++step.collectives;
}

void KinetoFile::doubt(std::ptrdiff_t first, std::ptrdiff_t last) {
  if (doubts_.empty()) doubts_.resize(steps_.size() + 1);
  first = std::max<std::ptrdiff_t>(first, 0);
  if (first > last) return;
  ++doubts_[std::size_t(first)];
  --doubts_[std::size_t(last) + 1];
}

void KinetoFile::doubt_crossed(const TraceEvent& event) {
  constexpr double kLeastShare = 0.01;  // of a step
  std::ptrdiff_t last = begun_at(event.end);
  if (last < 0) return;
  const Span& host = steps_[std::size_t(last)].host;
  const double least = kLeastShare * (host.end - host.begin);
  const std::ptrdiff_t first = begun_at(event.begin + least);
  last = begun_at(event.end - least);
  const bool beyond = last >= 0 && event.end - least > steps_[std::size_t(last)].host.end;
  if (first < last || (beyond && event.begin + least < steps_[std::size_t(last)].host.end)) doubt(first, last);
}

void KinetoFile::doubt_lost() {
  std::vector<double> before(steps_.size(), -kInfinity), after(steps_.size(), kInfinity);  // ends and begins of others
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    const std::size_t k = steps_.size() - 1 - i;
    before[i] = std::max(before[i - 1], steps_[i - 1].last);
    after[k] = std::min(after[k + 1], steps_[k + 1].first);
  }
  // Kernels that were launched before the first call in the file are of earlier steps if they already run when the
  // first step begins. Else the calls of this step may be missing.
  Spans all = spans_.take_exposed(1);
  const Spans early = spans_.take_exposed(2);
  constexpr double kAtOnce = 0.01;  // of a step
  if (!steps_.empty() && first_early_ > steps_[0].host.begin + kAtOnce * (steps_[0].host.end - steps_[0].host.begin)) {
    all.insert(all.end(), early.begin(), early.end());
    lost_ += std::exchange(early_, 0);
  }
  for (const Span& lost : all) {
    const auto first = std::upper_bound(after.begin(), after.end(), lost.begin) - after.begin();
    const auto last =
        std::min(std::lower_bound(before.begin(), before.end(), lost.end) - before.begin() - 1, begun_at(lost.end));
    const bool inside =
        first == last && steps_[std::size_t(first)].first <= lost.begin && lost.end <= steps_[std::size_t(first)].last;
    if (!inside) doubt(first, last);
  }
}

void KinetoFile::set_windows() {
  double end = -kInfinity;  // of the step before
  for (std::size_t i = 0; i < steps_.size() && by_launch_; ++i) {
    Step& step = steps_[i];
    const Span host = step.host;
    double earliest = std::min(end, step.first);  // a step that launched nothing begins when the one before ends
    // The GPU has nothing to do when the profile begins, so it lags as much as it does at the end of the first step.
    if (i == 0) earliest = std::min(step.first, host.begin + step.last - host.end);
    end = std::max(host.end, step.last);
    step.host = {std::max(host.begin, earliest), end};
  }
}

RankMarks KinetoFile::marks(std::int64_t rank, double shift, Remarks& remarks) {
  const auto seconds = [&](double microseconds) { return microseconds * 1e-6 + shift; };
  doubt_lost();
  set_windows();
  RankMarks found{rank, {}, spans_.take_exposed(0)};
  if (never_ended_ > 0)
    remarks.rank(rank, "events last beyond all later ones, as if they had never ended: they are left out",
                 fmt::format("{} of them, {}", never_ended_, quotable(first_never_ended_)));
  if (lost_ > 0)
    remarks.rank(rank, "kernels whose launches are not in the file: steps to which they may belong are left out",
                 fmt::format("{} kernels", lost_));
  if (early_ > 0)
    remarks.rank(rank, "kernels that were launched before the recording are of no step",
                 fmt::format("{} kernels", early_));
  if (has_kernels_ && !by_launch_ && !steps_.empty())
    remarks.rank(rank,
                 "the launches of kernels are not in the file, so that a step is what the processor marks: record "
                 "ProfilerActivity.CPU, too");
  if (found.exposed.empty() && !steps_.empty())
    remarks.rank(rank, "no communication is exposed: its seconds are whole steps");
  if (spans_.closed_gap() > 0)
    remarks.rank(rank, "very many events: short gaps between them were closed",
                 fmt::format("up to {} us", spans_.closed_gap()));
  int doubts = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    doubts += doubts_.empty() ? 0 : doubts_[i];
    const char* wrong = step.wrong;
    if (doubts > 0 && wrong == nullptr)
      wrong = "launches of kernels that may belong to it are not in the file: left out";
    if (wrong != nullptr) {
      remarks.step(rank, step.number, wrong);
    } else {
      found.steps.add({step.number, seconds(step.host.begin), seconds(step.host.end), seconds(step.last_collective),
                       step.collectives});
    }
  }
  found.steps.settle();
  for (Span& span : found.exposed) span = {seconds(span.begin), seconds(span.end)};
  return found;
}

/// Returns the number that follows "rank" or "worker" in a file's name, else the only number in it.
std::optional<std::int64_t> rank_in_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const auto number_at = [&](std::size_t begin) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
    return error == std::errc() ? std::optional(number) : std::nullopt;
  };
  for (const std::string_view word : {"rank", "worker"}) {
    const std::size_t at = name.rfind(word);
    if (at == std::string::npos) continue;
    std::size_t begin = at + word.size();
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
  const auto rank = head.rank || files == 1 ? head.rank : rank_in_name(path);
  const bool fits = rank && *rank >= 0 && *rank < kMostRanksOfTrace;
  if (!fits && files == 1) return 0;
  if (!rank)
    throw usage_error(fmt::format("{} does not say of which rank it is: it has no distributedInfo. Name it rankN.json",
                                  printable(path)));
  if (!fits)
    throw usage_error(
        fmt::format("{} is of rank {}, which is not from 0 to {}", printable(path), *rank, kMostRanksOfTrace - 1));
  return *rank;
}

/// Reads a file twice and returns its steps, on a clock that begins at `base` (set by the first file).
RankMarks read_file(const std::string& path, std::size_t files, std::optional<std::int64_t>& base, Imported& to) {
  require_file_to_reread(path);
  KinetoFile file(to.communication);
  TraceHead head = read_trace_events(path, [&](const TraceEvent& event) {
    file.note(event);
    if (file.has_too_many_threads())
      throw usage_error(printable(path) + ": its events have more threads than a process has: is it of one rank?");
    if (file.has_too_many_launches())
      throw usage_error(fmt::format("{}: more than {} launches: record fewer steps in a file", printable(path),
                                    KinetoFile::kMostLaunches));
  });
  file.settle();
  head = read_trace_events(path, [&](const TraceEvent& event) { file.add(event); });
  const std::int64_t rank = rank_of(head, path, files);
  if (!base) base = head.base_ns;
  report_head(head, path, to.remarks);
  RankMarks marks = file.marks(rank, (double(head.base_ns) - double(*base)) * 1e-9, to.remarks);
  if (!file.has_marks() && head.damaged == 0)
    to.remarks.cause(
        fmt::format("rank {}: {} has no step: profile with a schedule and prof.step(), which mark "
                    "steps as ProfilerStep#N",
                    rank, printable(path)));
  return marks;
}

/// Adds the steps of another file of the same rank, as a schedule that repeats writes them.
void append_cycle(RankMarks& to, const RankMarks& more, const std::string& first, const std::string& second) {
  for (const StepMarks& marks : more.steps) {
    if (to.steps.find(marks.step) != nullptr)
      throw usage_error(fmt::format("{} and {} are both of rank {} and have step {}", printable(first),
                                    printable(second), to.rank, marks.step));
  }
  for (const StepMarks& marks : more.steps) to.steps.add(marks);
  to.steps.settle();
  to.exposed.insert(to.exposed.end(), more.exposed.begin(), more.exposed.end());
  unite(to.exposed);
}

}  // namespace

void read_kineto(const std::vector<std::string>& paths, const Layout& layout, Imported& to) {
  const std::vector<std::string> files = files_at(paths);
  std::map<std::int64_t, std::pair<RankMarks, std::string>> found;  // by rank; with its first file
  std::optional<std::int64_t> base;
  for (const std::string& path : files) {
    RankMarks marks = read_file(path, files.size(), base, to);
    if (!layout.grouped()) settle_exposed(marks);
    const std::int64_t rank = marks.rank;
    if (const auto [at, is_new] = found.try_emplace(rank, std::move(marks), path); !is_new)
      append_cycle(at->second.first, marks, at->second.second, path);
  }
  std::vector<RankMarks> ranks;
  for (auto& [rank, marks] : found) ranks.push_back(std::move(marks.first));
  add_rows(ranks, layout, true, to);
}

}  // namespace hopbench
