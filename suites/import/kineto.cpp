// Files of the PyTorch profiler.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <regex>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "suites/import/input.h"
#include "suites/import/marks.h"
#include "suites/import/readers.h"
#include "suites/import/trace_events.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepName = "ProfilerStep#";
constexpr const char* kMisplaced =
    "events begin far from all others, before their launch or after later launches of their stream: they are left out";
constexpr const char* kNeverEnded = "events last beyond all later ones, as if they had never ended: they are left out";

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
  return integer_in(std::string_view(event.name).substr(kStepName.size()));
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
  KinetoFile(const std::string& path, Communication& communication) : path_(path), communication_(communication) {}
  void note(const TraceEvent& event);
  /// Ends the first reading.
  void settle();
  void add(const TraceEvent& event);
  bool has_marks() const { return !steps_.empty(); }
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
    const char* wrong = nullptr;  // why it is left out
    double after = -kInfinity;    // end of the kernels that were launched after its mark and before the next one
    bool open = false;            // its end is not known, since one of its kernels is damaged
  };
  enum class Work { kNone, kKernel, kHost };
  enum Spanned { kRank, kLost, kEarly };  // keys of spans_: all work, and kernels whose launch is not in the file
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::uint64_t kWhole = 0;     // key of the last begin of all events
  static constexpr std::int64_t kNoLaunch = -1;  // stands for a correlation

  Work work_of(const TraceEvent& event);
  /// Returns the time at which the work with this correlation was launched.
  std::optional<double> launched_at(std::int64_t correlation) const;
  /// Returns the last step that had begun at the time; -1 before the first one.
  std::ptrdiff_t begun_at(double time) const;
  /// Returns the step that a begin and a correlation belong to, by launches if the file has them.
  std::ptrdiff_t step_of(double begin, std::int64_t correlation) const {
    return begun_at(launched_at(correlation).value_or(begin));
  }
  /// Finds launches and kernels whose times contradict those of others. Correlations count launches, and the kernels of
  /// a stream begin in their order. Forgets such launches.
  void find_misplaced();
  /// Takes the marks out whose times are not usable, or contradict their numbers.
  void take_damaged_marks();
  bool never_ended(const TraceEvent& event, std::int64_t correlation) const;
  /// Notes that an event is left out.
  void note_fault(const char* why, const std::string& name) { ++faults_.try_emplace(why, 0, name).first->second.first; }
  /// Leaves out the step to which a damaged event belongs by its time, or all if that is not known (NaN).
  void doubt(double time);
  void add_lost(const TraceEvent& event, std::int64_t correlation);
  void add_crossing(const TraceEvent& event);
  /// Leaves out the steps to which kernels of an unknown step may belong.
  void doubt_lost();
  /// Returns how long the step lasts: where the GPU lags, from the end of the kernels of the step before to that of its
  /// own.
  Span window(std::size_t step, double end_before) const;
  /// Returns true if the begin of a step is not known, since the step before is open.
  bool is_begin_open(std::size_t step, const Span& window) const;
  void report(std::int64_t rank, bool exposed, Remarks& remarks) const;

  const std::string& path_;
  Communication& communication_;
  std::vector<std::int64_t> damaged_marks_;              // steps
  std::vector<Step> steps_;                              // by begin
  std::vector<Ordered> launches_, kernels_, misplaced_;  // by correlation; until and from settle(), misplaced kernels
  Extent extent_;
  LastBegins last_;
  double first_begin_ = kInfinity, last_begin_ = -kInfinity, last_mark_end_ = -kInfinity;
  bool has_kernels_ = false, has_backend_ = false, by_launch_ = false, any_doubtful_ = false;

  WorkSpans spans_;
  std::size_t lost_ = 0, early_ = 0;
  std::map<std::string, std::pair<std::size_t, std::string>> faults_;  // events by what is wrong, and the first's name
};

KinetoFile::Work KinetoFile::work_of(const TraceEvent& event) {
  if (is_kernel(event)) return Work::kKernel;
  if (is_category(event, {"gpu_user_annotation", "python_function"}) || is_launch(event)) return Work::kNone;
  // Beside kernels, operators and calls only start them.
  const bool works = has_kernels_ ? is_of_backend(event.name) || communication_.is_added(event.name)
                                  : is_operator(event) || communication_.is(event.name);
  return works ? Work::kHost : Work::kNone;
}

void KinetoFile::note(const TraceEvent& event) {
  constexpr std::size_t kMostLaunches = std::size_t{1} << 22;  // and kernels: 96 MiB
  std::int64_t correlation = kNoLaunch;
  if (const auto step = step_in(event)) {
    steps_.push_back({.number = *step, .host = {event.begin, event.end}});
  } else if (is_kernel(event)) {
    has_kernels_ = true;
    correlation = event.correlation.value_or(kNoLaunch);
    by_launch_ = by_launch_ || event.correlation.has_value();
    if (event.correlation && !event.is_damaged()) kernels_.push_back({event.thread, correlation, event.begin});
  } else if (is_launch(event)) {
    if (!event.is_damaged()) launches_.push_back({0, *event.correlation, event.begin});
  } else {
    has_backend_ = has_backend_ || is_of_backend(event.name) || event.name.starts_with("nccl:");
  }
  if (event.is_damaged()) return;
  first_begin_ = std::min(first_begin_, event.begin);
  last_begin_ = std::max(last_begin_, event.begin);
  extent_.note(event.begin, event.end);
  last_.note(event.thread, {event.begin, correlation});
  last_.note(kWhole, {event.begin, correlation});
  if (last_.threads() > WorkSpans::kMostThreads)
    throw usage_error(printable(path_) + ": its events have more threads than a process has: is it of one rank?");
  if (launches_.size() + kernels_.size() > kMostLaunches)
    throw usage_error(fmt::format("{}: more than {} launches and kernels: record fewer steps in a file",
                                  printable(path_), kMostLaunches));
}

void KinetoFile::settle() {
  find_misplaced();
  take_damaged_marks();
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.host.begin < b.host.begin; });
  std::map<std::int64_t, int> times;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    ++times[step.number];
    if (Step* const next = i + 1 < steps_.size() ? &step + 1 : nullptr;
        next != nullptr && step.host.end > next->host.begin + kClockError) {
      step.wrong = "marked beyond the begin of the next step: left out";
      if (step.host.end < next->host.end) next->wrong = "its mark begins in that of the step before: left out";
      step.host.end = next->host.begin;
    }
    last_mark_end_ = std::max(last_mark_end_, step.host.end);
    if (by_launch_) continue;
    step.first = step.host.begin;
    step.last = step.host.end;
  }
  for (Step& step : steps_)
    if (times[step.number] > 1) step.wrong = "marked more than once: left out";
}

void KinetoFile::find_misplaced() {
  take_misplaced(launches_, [&](const Ordered& launch) { return extent_.is_far(launch.time); });
  by_launch_ = by_launch_ && !launches_.empty();
  misplaced_ = take_misplaced(kernels_, [&](const Ordered& kernel) {
    return extent_.is_far(kernel.time) || kernel.time < launched_at(kernel.number).value_or(kernel.time) - kClockError;
  });
  kernels_ = {};
}

void KinetoFile::take_damaged_marks() {
  const auto key = [](const Step& step, int sign) {
    return Ordered{0, sign > 0 ? step.number : ~step.number,
                   sign * step.host.begin};  // ~ turns the order of all numbers
  };
  const auto sane_marks = [&](int sign) {  // of two marks that are exchanged, one is sane forwards, the other backwards
    std::vector<Ordered> marks;
    for (const Step& step : steps_)
      if (!extent_.is_far(step.host.end)) marks.push_back(key(step, sign));
    take_misplaced(marks, [](const Ordered&) { return false; });
    return marks;
  };
  const std::vector<Ordered> up = sane_marks(1), down = sane_marks(-1);
  std::erase_if(steps_, [&](const Step& step) {
    const bool sane = std::binary_search(up.begin(), up.end(), key(step, 1)) &&
                      std::binary_search(down.begin(), down.end(), key(step, -1));
    if (!sane) damaged_marks_.push_back(step.number);
    return !sane;
  });
}

void KinetoFile::doubt(double time) {
  if (std::isnan(time)) any_doubtful_ = true;
  const std::ptrdiff_t at = begun_at(time);
  if (at < 0) return;
  Step& step = steps_[std::size_t(at)];
  step.open = true;
  if (time < step.host.end) step.wrong = "one of its events is damaged: left out";
}

std::optional<double> KinetoFile::launched_at(std::int64_t correlation) const {
  if (!by_launch_ || correlation == kNoLaunch) return std::nullopt;
  const auto at = std::lower_bound(launches_.begin(), launches_.end(), Ordered{0, correlation, -kInfinity});
  return at != launches_.end() && at->number == correlation ? std::optional(at->time) : std::nullopt;
}

std::ptrdiff_t KinetoFile::begun_at(double time) const {
  const auto after =
      std::partition_point(steps_.begin(), steps_.end(), [&](const Step& step) { return step.host.begin <= time; });
  return after - steps_.begin() - 1;
}

bool KinetoFile::never_ended(const TraceEvent& event, std::int64_t correlation) const {
  const double known_end = std::max(last_begin_, last_mark_end_);
  const auto last_step = [&](const LastBegins::Last& last) { return step_of(last.first, last.second); };
  const std::ptrdiff_t step = step_of(event.begin, correlation);
  return last_.never_ended(event.thread, event, step, last_step) || last_.never_ended(kWhole, event, step, last_step) ||
         event.end - known_end > known_end - first_begin_;
}

void KinetoFile::add(const TraceEvent& event) {
  const Work work = work_of(event);
  if (work == Work::kNone) return;
  const bool kernel = work == Work::kKernel, communicates = communication_.is(event.name);
  const std::int64_t correlation = kernel ? event.correlation.value_or(kNoLaunch) : kNoLaunch;
  const auto launch = launched_at(correlation);
  const bool misplaced =
      extent_.is_far(event.begin) ||
      std::binary_search(misplaced_.begin(), misplaced_.end(), Ordered{event.thread, correlation, event.begin});
  if (misplaced || event.is_damaged() || never_ended(event, correlation)) {
    if (!event.is_damaged()) note_fault(misplaced ? kMisplaced : kNeverEnded, event.name);
    const bool of_launch = kernel && by_launch_;
    if (communicates || of_launch) doubt(launch.value_or(misplaced || of_launch ? std::nan("") : event.begin));
    return;
  }
  if (kernel || communicates) communication_.note(event.name, (event.end - event.begin) * 1e-6);
  spans_.add(kRank, communicates ? SpanOf::kCommunication : SpanOf::kCompute, event.thread, {event.begin, event.end});
  if (kernel && by_launch_ && !launch) return add_lost(event, correlation);
  if (kernel && !by_launch_) add_crossing(event);
  const std::ptrdiff_t at = step_of(event.begin, correlation);
  if (at < 0) return;
  Step& step = steps_[std::size_t(at)];
  if (launch.value_or(event.begin) >= step.host.end) return void(step.after = std::max(step.after, event.end));
  if (launch) step.first = std::min(step.first, event.begin), step.last = std::max(step.last, event.end);
  // Without kernels, a backend's spans say when a collective ends, and calls do not.
  const bool counts = has_kernels_ || !has_backend_ || is_of_backend(event.name) || event.name.starts_with("nccl:");
  if (!communicates || !counts || !Communication::is_collective(event.name)) return;
  step.last_collective = std::max(step.last_collective, event.end);
  ++step.collectives;
}

/// Takes a kernel whose launch is not in the file.
void KinetoFile::add_lost(const TraceEvent& event, std::int64_t correlation) {
  const bool early = correlation != kNoLaunch && correlation < launches_.front().number;
  ++(early ? early_ : lost_);
  spans_.add(early ? kEarly : kLost, SpanOf::kCommunication, 0, {event.begin, event.end});
}

/// Takes a kernel of a file without launches if it runs beyond the mark in which it begins.
void KinetoFile::add_crossing(const TraceEvent& event) {
  constexpr double kLeastShare = 0.01;  // of a step
  if (steps_.empty()) return;
  const Span& mark = steps_[std::size_t(std::max<std::ptrdiff_t>(0, begun_at(event.begin)))].host;
  const double least = kLeastShare * (mark.end - mark.begin), begin = event.begin + least, end = event.end - least;
  const std::ptrdiff_t first = begun_at(begin);
  const bool beyond =
      first >= 0 && begin < steps_[std::size_t(first)].host.end && end > steps_[std::size_t(first)].host.end;
  if (begin < end && (beyond || first < begun_at(end))) spans_.add(kLost, SpanOf::kCommunication, 0, {begin, end});
}

void KinetoFile::doubt_lost() {
  // Kernels that were launched before the first call in the file are of earlier steps if they already run when the
  // first step begins. Else the calls of this step may be missing.
  constexpr double kAtOnce = 0.01;  // of a step
  Spans lost = spans_.take_exposed(kLost);
  const Spans early = spans_.take_exposed(kEarly);
  if (steps_.empty()) return;
  const Span& mark = steps_[0].host;
  if (!early.empty() && early[0].begin > mark.begin + kAtOnce * (mark.end - mark.begin)) {
    lost.insert(lost.end(), early.begin(), early.end());
    unite(lost);
    lost_ += std::exchange(early_, 0);
  }
  std::vector<double> firsts(steps_.size() + 1, kInfinity);  // of this step or a later one
  for (std::size_t i = steps_.size(); i-- > 0;) firsts[i] = std::min(firsts[i + 1], steps_[i].first);
  double last = -kInfinity;
  for (std::size_t i = 0; i <= steps_.size(); ++i) {  // between the kernels of two steps, a kernel may be of either
    if (!within(lost, last, firsts[i]).empty()) {
      for (std::size_t k = i - std::min<std::size_t>(i, 1); k <= i && k < steps_.size(); ++k)
        if (steps_[k].wrong == nullptr)
          steps_[k].wrong = "launches of kernels that may belong to it are missing or damaged: left out";
    }
    if (i < steps_.size()) last = std::max(last, steps_[i].last);
  }
}

void KinetoFile::report(std::int64_t rank, bool exposed, Remarks& remarks) const {
  const auto say = [&](bool what, const char* why, const std::string& detail = "") {
    if (what) remarks.rank(rank, why, detail);
  };
  for (const auto& [why, events] : faults_)
    remarks.rank(rank, why, fmt::format("{} of them, {}", events.first, quotable(events.second)));
  say(lost_ > 0, "kernels whose launches are not in the file, or damaged: steps to which they may belong are left out",
      fmt::format("{} kernels", lost_));
  say(early_ > 0, "kernels that were launched before the recording are of no step", fmt::format("{} kernels", early_));
  say(has_kernels_ && !by_launch_ && has_marks(),
      "the launches of kernels are not in the file, so that a step is what the processor marks: record "
      "ProfilerActivity.CPU, too");
  say(!exposed && has_marks(), "no communication is exposed: its seconds are whole steps");
  say(spans_.closed_gap() > 0, "very many events: short gaps between them were closed",
      fmt::format("up to {} us", spans_.closed_gap()));
}

Span KinetoFile::window(std::size_t i, double end_before) const {
  const Step& step = steps_[i];
  const Span host = step.host;
  if (!by_launch_) return host;
  // A step that launched nothing begins when the one before ends. The GPU has nothing to do when the profile begins, so
  // it lags as much as it does at the end of the first step.
  const double begin = i == 0 ? host.begin + step.last - host.end : end_before;
  return {std::max(host.begin, std::min(begin, step.first)), std::max(host.end, step.last)};
}

bool KinetoFile::is_begin_open(std::size_t i, const Span& window) const {
  constexpr double kMostShare = 0.05;  // of the step
  return by_launch_ && i > 0 && steps_[i - 1].open &&
         std::min(steps_[i].first, window.end) - window.begin > kMostShare * (window.end - window.begin);
}

RankMarks KinetoFile::marks(std::int64_t rank, double shift, Remarks& remarks) {
  const auto seconds = [&](double microseconds) { return microseconds * 1e-6 + shift; };
  doubt_lost();
  RankMarks found{rank, {}, spans_.take_exposed(kRank)};
  report(rank, !found.exposed.empty(), remarks);
  for (const std::int64_t step : damaged_marks_)
    remarks.step(rank, step, "its mark has no usable time, or one that contradicts its number: left out");
  double end = -kInfinity;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Span span = window(i, end);
    end = std::max(span.end, step.after);
    if (step.wrong != nullptr)
      remarks.step(rank, step.number, step.wrong);
    else if (any_doubtful_)
      remarks.step(rank, step.number, "a damaged event may be of any step: left out");
    else if (is_begin_open(i, span))
      remarks.step(rank, step.number, "begins when the step before ends, one of whose events is damaged: left out");
    else
      found.steps.add(
          {step.number, seconds(span.begin), seconds(span.end), seconds(step.last_collective), step.collectives});
  }
  found.steps.settle();
  for (Span& span : found.exposed) span = {seconds(span.begin), seconds(span.end)};
  return found;
}

/// Returns the number that follows "rank" or "worker" in a file's name, else the only number in it.
std::optional<std::int64_t> rank_in_name(const std::string& path) {
  static const std::regex kNamed(".*(?:rank|worker)[-_]?([0-9]+).*", std::regex::icase),
      kOnly("[^0-9]*([0-9]+)[^0-9]*");
  const std::string name = fs::path(path).filename().string();
  std::smatch parts;
  if (!std::regex_match(name, parts, kNamed) && !std::regex_match(name, parts, kOnly)) return std::nullopt;
  return integer_in(parts[1].str());
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
  KinetoFile file(path, to.communication);
  const TraceHead head = read_trace_events(path, [&](const TraceEvent& event) { file.note(event); });
  file.settle();
  read_trace_events(path, [&](const TraceEvent& event) { file.add(event); });
  const std::int64_t rank = rank_of(head, path, files);
  if (!base) base = head.base_ns;
  report_head(head, path, to.remarks);
  if (!file.has_marks() && head.damaged == 0)
    to.remarks.cause(fmt::format(
        "rank {}: {} has no step: profile with a schedule and prof.step(), which mark steps as ProfilerStep#N", rank,
        printable(path)));
  return file.marks(rank, (double(head.base_ns) - double(*base)) * 1e-9, to.remarks);
}

}  // namespace

void read_kineto(const std::vector<std::string>& paths, const Layout& layout, Imported& to) {
  const std::vector<std::string> files = files_at(paths);
  std::map<std::int64_t, RankMarks> found;
  std::map<std::int64_t, std::string> file_of;
  std::optional<std::int64_t> base;
  for (const std::string& path : files) {
    RankMarks more = read_file(path, files.size(), base, to);
    if (!layout.grouped()) settle_exposed(more);
    const std::string before = std::exchange(file_of[more.rank], path);
    const auto [at, is_new] = found.try_emplace(more.rank, std::move(more));
    if (is_new) continue;
    RankMarks& rank = at->second;  // a schedule that repeats writes several files of one
    for (const StepMarks& marks : more.steps)
      if (rank.steps.find(marks.step) != nullptr)
        throw usage_error(fmt::format("{} and {} are both of rank {} and have step {}", printable(before),
                                      printable(path), rank.rank, marks.step));
    for (const StepMarks& marks : more.steps) rank.steps.add(marks);
    rank.steps.settle();
    rank.exposed.insert(rank.exposed.end(), more.exposed.begin(), more.exposed.end());
    unite(rank.exposed);
  }
  std::vector<RankMarks> ranks;
  for (auto& [number, rank] : found) ranks.push_back(std::move(rank));
  add_rows(ranks, layout, true, to);
}

}  // namespace hopbench
