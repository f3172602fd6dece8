#include "results/arithmetic/steady.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/base/record/kinds.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr double kFewIterations = 5;    // of the fastest worker: a window with fewer says nothing
constexpr double kHalvesDiffer = 0.10;  // fairness section 5, as are the following two
constexpr double kOverrunsShown = 0.05;
constexpr double kContentionShown = 0.05;

/// Returns the workers that were there to the end.
std::vector<const RankRecord*> workers_of(const TrialRecord& record, int workers) {
  std::vector<const RankRecord*> list;
  for (const RankRecord& rank : record.ranks) {
    if (rank.rank < workers && !rank.server && rank.lost.empty()) list.push_back(&rank);
  }
  return list;
}

Time last_mark(const RankRecord& rank) { return rank.marks.empty() ? rank.finished : rank.marks.back().end; }

/// Returns when a rank finished, or its last mark if that is later: a rank of a failed trial may not reach its end.
Time finish_of(const RankRecord& rank) { return std::max(rank.finished, last_mark(rank)); }

struct Work {
  double samples = 0, iterations = 0;
};

using Counts = std::function<bool(const IterationMark& mark)>;

/// Returns the work in the window; only that of marks that `counts` accepts, if it is given.
Work work_inside(const RankRecord& rank, const Window& window, const Counts& counts = {}) {
  Work work;
  Time begin{};
  for (const IterationMark& mark : rank.marks) {
    if (mark.samples > 0 && (!counts || counts(mark))) {
      const double share = share_inside(begin, mark.end, window);
      work.samples += share * mark.samples;
      work.iterations += share;
    }
    begin = mark.end;
  }
  return work;
}

double samples_per_s(const std::vector<const RankRecord*>& workers, const Window& window) {
  double samples = 0;
  for (const RankRecord* rank : workers) samples += work_inside(*rank, window).samples;
  const double length = to_seconds(window.until - window.from);
  return length > 0 ? samples / length : 0;
}

/// The last iteration of a worker whose gradient another rank has used. A model carries all earlier gradients too.
struct HeardUntil {
  Iter iter = -1;  // -1: none was used
  Iter step = 0;   // the most iterations between two that were used
};

std::map<int, HeardUntil> heard_until(const TrialRecord& record) {
  std::map<int, HeardUntil> until;
  for (const RankRecord& by : record.ranks) {
    for (const auto& [worker, iter] : by.heard) {
      HeardUntil& one = until[worker];
      one.iter = std::max(one.iter, iter);
      one.step = std::max(one.step, by.heard_step);
    }
  }
  return until;
}

/// Returns the samples in the window whose gradients another rank has used. Gradients of a worker's last iterations
/// count: the trial ends before the message that would carry them.
double samples_heard(const RankRecord& rank, const HeardUntil& heard, const Window& window) {
  const Iter last = rank.marks.empty() ? 0 : rank.marks.back().iter;
  const std::set<Iter> lost(rank.lost_in.begin(), rank.lost_in.end());
  const Counts counts = [&](const IterationMark& mark) {
    const bool in_time = mark.iter <= heard.iter || mark.iter + heard.step >= last;
    return in_time && lost.count(mark.iter) == 0;
  };
  return work_inside(rank, window, counts).samples;
}

/// Returns samples/s of gradients that another rank has used, or -1 if no rank recorded what it used.
double heard_per_s(const TrialRecord& record, const std::vector<const RankRecord*>& workers, const Window& window) {
  const double length = to_seconds(window.until - window.from);
  const bool alone = record.ranks.size() == 1;
  if (length <= 0) return 0;
  if (alone) return samples_per_s(workers, window);
  std::map<int, HeardUntil> until = heard_until(record);
  if (until.empty()) return -1;
  double samples = 0;
  for (const RankRecord* rank : workers) samples += samples_heard(*rank, until[rank->rank], window);
  return samples / length;
}

std::optional<Time> warm_from(const RankRecord& rank, Iter warmup, Duration warmup_time) {
  Iter done = 0;
  for (const IterationMark& mark : rank.marks) {
    ++done;
    if (done >= warmup && mark.end >= Time(warmup_time)) return mark.end;
  }
  return std::nullopt;
}

/// Returns the steady window; nothing if no window is worth a rate.
std::optional<Window> steady_window(const std::vector<const RankRecord*>& workers, Iter warmup, Duration warmup_time) {
  Window window{Time{}, kNever};
  for (const RankRecord* rank : workers) {
    const std::optional<Time> from = warm_from(*rank, warmup, warmup_time);
    if (!from) return std::nullopt;
    window.from = std::max(window.from, *from);
    window.until = std::min(window.until, last_mark(*rank));  // no work follows
  }
  if (workers.empty() || window.until <= window.from) return std::nullopt;
  double most = 0;
  for (const RankRecord* rank : workers) most = std::max(most, work_inside(*rank, window).iterations);
  if (most < kFewIterations - 1e-6) return std::nullopt;  // shares of iterations are sums of rounded numbers
  return window;
}

Window whole_trial(const TrialRecord& record, const std::vector<const RankRecord*>& workers) {
  Window window{Time{}, Time(seconds_to_duration(record.time_s))};
  for (const RankRecord* rank : workers) window.until = std::max(window.until, finish_of(*rank));
  return window;
}

bool halves_differ(const std::vector<const RankRecord*>& workers, const Window& window) {
  const Time middle = window.from + (window.until - window.from) / 2;
  const double first = samples_per_s(workers, {window.from, middle});
  const double second = samples_per_s(workers, {middle, window.until});
  return std::max(first, second) > (1 + kHalvesDiffer) * std::min(first, second);
}

double median_iteration(const std::vector<const RankRecord*>& workers, const Window& window) {
  std::vector<double> lengths;
  for (const RankRecord* rank : workers) {
    Time begin{};
    for (const IterationMark& mark : rank->marks) {
      const bool inside = begin >= window.from && mark.end <= window.until;
      if (inside && mark.samples > 0) lengths.push_back(to_seconds(mark.end - begin));
      begin = mark.end;
    }
  }
  return lengths.empty() ? 0 : median(lengths);
}

void fill_waits(TrialRecord& record, const std::vector<const RankRecord*>& workers) {
  std::map<std::string, double> by_reason;  // nanoseconds: a sum over ranks may exceed the range of Duration
  double waited = 0, lived = 0;
  for (const RankRecord* rank : workers) {
    for (const auto& [reason, time] : rank->waits) {
      by_reason[reason] += static_cast<double>(time.count());
      waited += static_cast<double>(time.count());
    }
    lived += static_cast<double>(finish_of(*rank).time_since_epoch().count());
  }
  record.wait_share = lived > 0 ? (waited * 1e-9) / (lived * 1e-9) : 0;
  const auto most = std::max_element(by_reason.begin(), by_reason.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  record.main_wait = most == by_reason.end() || most->second <= 0 ? "" : most->first;
}

void warn(TrialRecord& record, WarningKind kind) {
  if (!has(record.warnings, kind)) record.warnings.emplace_back(kind);
}

void fill_host_warnings(TrialRecord& record, const std::vector<const RankRecord*>& workers, double trial_s) {
  std::int64_t overruns = 0, iterations = 0;
  bool contended = false;
  for (const RankRecord* rank : workers) {
    overruns += rank->overruns;
    iterations += rank->iters;
    contended = contended || rank->contended_s > kContentionShown * trial_s;
  }
  record.overrun_share = iterations > 0 ? static_cast<double>(overruns) / static_cast<double>(iterations) : 0;
  if (record.overrun_share > kOverrunsShown) warn(record, WarningKind::kOversubscribed);
  if (contended) warn(record, WarningKind::kContended);
}

/// The iteration of the slowest worker that still runs, over time.
class Slowest {
 public:
  explicit Slowest(const std::vector<const RankRecord*>& workers) {
    struct Step {  // a worker enters `into` from `from`; -1: it has finished, or is away
      Time when{};
      Iter from = 0, into = 0;
    };
    std::vector<Step> steps;
    Iter last = 0;
    for (const RankRecord* rank : workers) {
      Iter at = 0;
      IterationMark before{.iter = -1};
      for (const IterationMark& mark : rank->marks) {
        const bool away = is_absence(before, mark), stays_away = away && &mark == &rank->marks.back();
        if (away) steps.push_back({before.end, at, -1});
        const Iter into = stays_away ? -1 : mark.iter + 1;  // it counts again from its next entry
        steps.push_back({mark.end, away ? -1 : at, into});
        at = into;
        last = std::max(last, at);
        before = mark;
      }
      steps.push_back({finish_of(*rank), at, -1});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.when < b.when; });
    std::vector<std::size_t> at(static_cast<std::size_t>(last) + 1);  // the number of workers in each iteration
    at[0] = workers.size();
    Iter slowest = 0;
    for (const Step& step : steps) {
      if (step.from >= 0) --at[static_cast<std::size_t>(step.from)];
      if (step.into >= 0) {
        ++at[static_cast<std::size_t>(step.into)];
        slowest = std::min(slowest, step.into);  // a rank that was away may return behind all others
      }
      while (slowest <= last && at[static_cast<std::size_t>(slowest)] == 0) ++slowest;
      if (!changes_.empty() && changes_.back().first == step.when) changes_.pop_back();
      changes_.emplace_back(step.when, slowest <= last ? slowest : kNobody);
    }
  }

  /// Returns the slowest worker's iteration after all events of that instant; `own` if no worker still runs.
  Iter at(Time now, Iter own) const {
    const auto after = std::upper_bound(changes_.begin(), changes_.end(), now,
                                        [](Time time, const auto& change) { return time < change.first; });
    return after == changes_.begin() ? 0 : std::min(own, std::prev(after)->second);
  }

 private:
  static constexpr Iter kNobody = std::numeric_limits<Iter>::max();
  std::vector<std::pair<Time, Iter>> changes_;
};

}  // namespace

double share_inside(Time begin, Time end, const Window& window) {
  if (end <= begin) return end > window.from && end <= window.until ? 1.0 : 0.0;
  const Duration inside = std::min(end, window.until) - std::max(begin, window.from);
  return inside > Duration{} ? to_seconds(inside) / to_seconds(end - begin) : 0.0;
}

double largest_unheard_share(const TrialRecord& record, int workers) {
  const std::vector<const RankRecord*> list = workers_of(record, workers);
  std::map<int, HeardUntil> until = heard_until(record);
  if (record.ranks.size() < 2 || until.empty()) return 0;
  const Window window{Time(seconds_to_duration(record.window_start_s)), Time(seconds_to_duration(record.window_end_s))};
  double largest = 0;
  for (const RankRecord* rank : list) {
    const double all = work_inside(*rank, window).samples;
    if (all > 0) largest = std::max(largest, 1 - samples_heard(*rank, until[rank->rank], window) / all);
  }
  return largest;
}

bool disturbed(const TrialRecord& record) {
  return record.status == TrialStatus::kOk &&
         (has(record.warnings, WarningKind::kOversubscribed) || has(record.warnings, WarningKind::kContended));
}

Window fill_rates(TrialRecord& record, Iter warmup, Duration warmup_time, int workers) {
  const std::vector<const RankRecord*> list = workers_of(record, workers);
  const Window whole = whole_trial(record, list);
  const std::optional<Window> steady = steady_window(list, warmup, warmup_time);
  const Window window = steady.value_or(whole);
  if (record.status != TrialStatus::kOk) {
    // The rate of a trial that did not end well is not reliable, and its status says so.
  } else if (!steady) {
    warn(record, WarningKind::kNoSteadyWindow);
  } else if (halves_differ(list, window)) {
    warn(record, WarningKind::kNotSteady);
  }
  const double length = to_seconds(window.until - window.from);
  double iterations = 0;
  for (const RankRecord* rank : list) iterations += work_inside(*rank, window).iterations;
  record.window_start_s = to_seconds(window.from);
  record.window_end_s = to_seconds(window.until);
  record.samples_per_s = samples_per_s(list, window);
  if (record.ranks_lost == 0) record.samples_heard_per_s = heard_per_s(record, list, window);
  record.iters_per_s = length > 0 && !list.empty() ? iterations / (length * static_cast<double>(list.size())) : 0;
  record.median_iteration_s = median_iteration(list, window);
  fill_waits(record, list);
  fill_host_warnings(record, list, to_seconds(whole.until));
  return window;
}

double lead_in_window(const TrialRecord& record) {
  if (record.gap_bound < 0) return 1;
  double all = 0, least = std::numeric_limits<double>::infinity(), workers = 0;
  for (const RankRecord& rank : record.ranks) {
    const auto& marks = rank.marks;
    const bool was_away = std::adjacent_find(marks.begin(), marks.end(), is_absence) != marks.end();
    if (rank.server || was_away) continue;
    const auto made = double(std::count_if(marks.begin(), marks.end(), [&](const IterationMark& mark) {
      const double end = to_seconds(mark.end);
      return end > record.window_start_s && end <= record.window_end_s;
    }));
    all += made, least = std::min(least, made), ++workers;
  }
  return all > 0 ? all / (std::max(least, 1.0) * workers) : 1;
}

void fill_gaps(TrialRecord& record, int workers) {
  const Slowest slowest(workers_of(record, workers));
  for (RankRecord& rank : record.ranks) {
    if (rank.rank >= workers || rank.server) continue;
    std::int64_t entries = 0, sum = 0, largest = 0;
    for (std::size_t i = 0; i < rank.marks.size(); ++i) {
      if (i + 1 == rank.marks.size() || rank.marks[i + 1].samples == 0) continue;  // at its end, or still jumping
      const Iter own = rank.marks[i].iter + 1;
      const std::int64_t gap = own - slowest.at(rank.marks[i].end, own);
      ++entries;
      sum += gap;
      largest = std::max(largest, gap);
    }
    rank.gap_mean = entries > 0 ? static_cast<double>(sum) / static_cast<double>(entries) : 0;
    rank.gap_max = largest;
  }
}

}  // namespace hopbench
