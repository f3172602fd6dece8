#include "results/judge/timed_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "results/arithmetic/statistics.h"
#include "results/tables/summary_parts.h"

namespace hopbench {
namespace {

constexpr double kLevel = 0.05;

/// The pairs of every row.
using Set = std::vector<std::vector<TimedPair>>;

std::vector<double> logs_of(std::span<const TimedPair> pairs) {
  std::vector<double> logs;
  for (const TimedPair& pair : pairs) logs.push_back(std::log(pair.head / pair.base));
  return logs;
}

/// Returns the probability of a mean log ratio so far above 0 (sign 1) or below 0 (sign -1) by chance.
double p_slower(std::span<const TimedPair> pairs, int sign) {
  std::vector<double> logs = logs_of(pairs);
  for (double& log : logs) log *= sign;
  return p_above_zero(logs);
}

class Gate {
 public:
  Gate(const std::vector<TimedRow>& rows, const TimedRule& rule, const MeasurePair& measure)
      : rows_(rows), rule_(rule), measure_(measure) {}

  GateResult run() {
    Set same(rows_.size()), both(rows_.size());
    add(same, rule_.pairs, true);
    set_bounds(same);
    if (std::any_of(bounds_.begin(), bounds_.end(), [&](double bound) { return too_loud(bound); })) {
      add(same, rule_.most - rule_.pairs, true);
      set_bounds(same);
    }
    add(both, rule_.pairs, false);
    std::vector<Verdict> verdicts = judge(both);
    if (has(verdicts, Verdict::kInconclusive)) {
      add(both, rule_.most - rule_.pairs, false);
      verdicts = judge(both);
    }
    std::vector<bool> unconfirmed(rows_.size());
    if (has(verdicts, Verdict::kRegression)) confirm(static_cast<int>(both.front().size()), verdicts, unconfirmed);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (verdicts[row] == Verdict::kNoChange && too_loud(bounds_[row])) verdicts[row] = Verdict::kInconclusive;
    }
    return result(same, both, verdicts, unconfirmed);
  }

 private:
  static bool has(const std::vector<Verdict>& verdicts, Verdict wanted) {
    return std::find(verdicts.begin(), verdicts.end(), wanted) != verdicts.end();
  }

  void set_bounds(const Set& same) {
    bounds_.clear();
    for (const auto& pairs : same) bounds_.push_back(std::max(std::log1p(rule_.threshold), noise_floor(pairs)));
  }

  bool too_loud(double bound) const { return std::expm1(bound) > kLoudest * rule_.threshold; }

  void add(Set& set, int pairs, bool base_twice) {
    for (int i = 0; i < pairs; ++i) {
      const std::vector<TimedPair> measured = measure_(base_twice);
      for (std::size_t row = 0; row < rows_.size(); ++row) set[row].push_back(measured[row]);
    }
  }

  std::vector<Verdict> judge(const Set& set) const {
    std::vector<double> slower, faster;
    for (const auto& pairs : set) {
      slower.push_back(p_slower(pairs, 1));
      faster.push_back(p_slower(pairs, -1));
    }
    const std::vector<bool> is_slower = holm(slower, kLevel), is_faster = holm(faster, kLevel);
    std::vector<Verdict> verdicts;
    for (std::size_t row = 0; row < set.size(); ++row) {
      const double bound = bounds_[row], middle = median(logs_of(set[row]));
      if (is_slower[row] && middle > bound) {
        verdicts.push_back(Verdict::kRegression);
      } else if (is_faster[row] && middle < -bound) {
        verdicts.push_back(Verdict::kImprovement);
      } else {
        verdicts.push_back(within(set[row], bound) ? Verdict::kNoChange : Verdict::kInconclusive);
      }
    }
    return verdicts;
  }

  // Returns true if the upper one-sided bound is below what would be a regression.
  static bool within(std::span<const TimedPair> pairs, double bound) {
    const std::vector<double> logs = logs_of(pairs);
    const auto n = static_cast<int>(logs.size());
    return mean_of(logs) + t_quantile(1 - kLevel, n - 1) * deviation(logs) / std::sqrt(n) < bound;
  }

  void confirm(int pairs, std::vector<Verdict>& verdicts, std::vector<bool>& unconfirmed) {
    Set fresh(rows_.size());
    add(fresh, pairs, false);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (verdicts[row] != Verdict::kRegression) continue;
      const bool again = p_slower(fresh[row], 1) < kLevel && median(logs_of(fresh[row])) > bounds_[row];
      if (again) continue;
      verdicts[row] = Verdict::kNoChange;
      unconfirmed[row] = true;
    }
  }

  GateResult result(const Set& same, const Set& both, const std::vector<Verdict>& verdicts,
                    const std::vector<bool>& unconfirmed) const {
    GateResult all{"timed", {}, {}, {}, {}};
    std::vector<double> noise;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::vector<double> base, head;
      for (const TimedPair& pair : both[i]) {
        base.push_back(pair.base);
        head.push_back(pair.head);
      }
      const PairedRatio ratio = paired_ratio(base, head);
      GateRow row{rows_[i].name, rows_[i].metric, verdicts[i],    ratio.n, median(base),
                  median(head),  ratio.ratio,     ratio.interval, {},      std::expm1(bounds_[i])};
      if (unconfirmed[i]) row.notes.emplace_back("seemed slower, but not again in a fresh set of pairs");
      if (verdicts[i] == Verdict::kInconclusive && too_loud(bounds_[i])) {
        row.notes.push_back(fmt::format("the machine is too loud: only a change above {} would show, asked for is {}",
                                        percent_text(std::expm1(bounds_[i])), percent_text(rule_.threshold)));
      }
      all.rows.push_back(std::move(row));
      noise.push_back(pair_noise(same[i]));
    }
    all.notes.push_back(fmt::format("noise of a pair of base with itself: {} to {}",
                                    percent_text(*std::min_element(noise.begin(), noise.end())),
                                    percent_text(*std::max_element(noise.begin(), noise.end()))));
    return all;
  }

  const std::vector<TimedRow>& rows_;
  const TimedRule& rule_;
  const MeasurePair& measure_;
  std::vector<double> bounds_;  // of every row, as a log ratio: a smaller change does not count
};

}  // namespace

GateResult timed_gate(const std::vector<TimedRow>& rows, const TimedRule& rule, const MeasurePair& measure) {
  return Gate(rows, rule, measure).run();
}

double noise_floor(std::span<const TimedPair> base_twice) {
  const std::vector<double> logs = logs_of(base_twice);
  const auto n = static_cast<int>(logs.size());
  return std::abs(mean_of(logs)) + t_quantile(0.975, n - 1) * deviation(logs) / std::sqrt(n);
}

double pair_noise(std::span<const TimedPair> pairs) { return deviation(logs_of(pairs)); }

std::vector<bool> holm(std::span<const double> p, double level) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<bool> rejected(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (p[order[i]] > level / static_cast<double>(p.size() - i)) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

}  // namespace hopbench
