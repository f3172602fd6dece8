#include "results/judge/timed_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/arithmetic/statistics.h"
#include "results/tables/numbers.h"

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

bool any(const std::vector<GateRow>& rows, Verdict wanted) {
  return std::any_of(rows.begin(), rows.end(), [&](const GateRow& row) { return row.verdict == wanted; });
}

class Gate {
 public:
  Gate(const std::vector<TimedRow>& rows, const TimedRule& rule, const MeasurePair& measure)
      : rows_(rows), rule_(rule), measure_(measure) {}

  GateResult run() {
    Set same(rows_.size());
    add(same, rule_.pairs, true);
    set_bounds(same);
    if (std::any_of(bounds_.begin(), bounds_.end(), [&](double bound) { return too_loud(bound); })) {
      add(same, rule_.most - rule_.pairs, true);
      set_bounds(same);
    }
    GateResult all{"timed", {}, {}, measured(), {}};
    if (any(all.rows, Verdict::kRegression)) confirm(all.rows);
    for (std::size_t row = 0; row < rows_.size(); ++row) judge_noise(bounds_[row], all.rows[row]);
    std::vector<double> noise;
    for (const auto& pairs : same) noise.push_back(pair_noise(pairs));
    all.notes.push_back(fmt::format("noise of a pair of base with itself: {} to {}",
                                    percent_text(*std::min_element(noise.begin(), noise.end())),
                                    percent_text(*std::max_element(noise.begin(), noise.end()))));
    return all;
  }

 private:
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

  // By one-sided 95 % bounds.
  std::vector<GateRow> judge(const Set& set) const {
    std::vector<GateRow> judged;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::vector<double> base, head;
      for (const TimedPair& pair : set[i]) {
        base.push_back(pair.base);
        head.push_back(pair.head);
      }
      const auto interval = ratio_interval(base, head, kLevel);
      GateRow row{.name = rows_[i].name,
                  .metric = rows_[i].metric,
                  .verdict = Verdict::kInsufficient,
                  .n = int(base.size()),
                  .base = median(base),
                  .head = median(head),
                  .speed_up = paired_ratio(base, head).value,
                  .interval = interval,
                  .threshold = std::expm1(bounds_[i])};
      if (base == head) {
        row.verdict = Verdict::kNoChange;
      } else if (interval) {
        row.verdict = judged_change(row.speed_up, interval, *row.threshold);
      }
      judged.push_back(std::move(row));
    }
    return judged;
  }

  // Measures a set of both programs, with more pairs if some row is undecided.
  std::vector<GateRow> measured() {
    Set both(rows_.size());
    add(both, rule_.pairs, false);
    std::vector<GateRow> rows = judge(both);
    if (!any(rows, Verdict::kInconclusive)) return rows;
    add(both, rule_.most - rule_.pairs, false);
    return judge(both);
  }

  // Judges rows that seem slower by fresh pairs.
  void confirm(std::vector<GateRow>& rows) {
    const std::vector<GateRow> fresh = measured();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].verdict != Verdict::kRegression || fresh[row].verdict == Verdict::kRegression) continue;
      rows[row] = fresh[row];
      rows[row].notes.emplace_back("seemed slower, but not again in a fresh set of pairs, which is shown");
    }
  }

  void judge_noise(double bound, GateRow& row) const {
    if (!too_loud(bound) || row.verdict == Verdict::kRegression || row.verdict == Verdict::kImprovement) return;
    row.verdict = Verdict::kInconclusive;
    row.notes.push_back(fmt::format("the machine is too loud: only a change above {} would show, asked for is {}",
                                    percent_text(std::expm1(bound)), percent_text(rule_.threshold)));
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

}  // namespace hopbench
