#include "results/judge/convergence_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "results/arithmetic/curve.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {
namespace {

constexpr double kConvergenceLevel = 0.05;

struct SeedPairs {
  std::string name;
  std::vector<double> base, head;  // iterations to the target, of seeds that got there in both
  int lost = 0;                    // seeds in which only base got there
};

std::optional<double> iterations_of(const TrialRow& row) {
  if (row.record.status != TrialStatus::kOk) return std::nullopt;
  return target_reached(row).iterations.fitted;
}

std::vector<SeedPairs> seed_pairs(const RunFolder& base, const RunFolder& head) {
  std::map<std::string, const TrialRow*> by_trial;
  for (const TrialRow& row : head.rows()) by_trial[row.record.id] = &row;
  std::vector<SeedPairs> all;
  for (const TrialRow& row : base.rows()) {
    const TrialLabels& l = row.labels;
    const auto other = by_trial.find(row.record.id);
    if (l.what != "convergence" || l.target_loss <= 0 || other == by_trial.end()) continue;
    if (other->second->record.hash != row.record.hash) continue;  // the exact row reports it
    const std::string name = fmt::format("{}/{}/{}/{}", l.suite, l.measure, l.scenario, l.variant);
    auto at = std::find_if(all.begin(), all.end(), [&](const SeedPairs& pairs) { return pairs.name == name; });
    if (at == all.end()) at = all.insert(all.end(), {name, {}, {}, 0});
    const std::optional<double> a = iterations_of(row), b = iterations_of(*other->second);
    if (a && !b) ++at->lost;
    if (!a || !b || *a <= 0 || *b <= 0) continue;
    at->base.push_back(*a);
    at->head.push_back(*b);
  }
  return all;
}

}  // namespace

std::vector<GateRow> convergence_rows(const RunFolder& base, const RunFolder& head, std::vector<std::string>& notes) {
  std::vector<SeedPairs> judged;
  int few = 0;
  for (SeedPairs& pairs : seed_pairs(base, head)) {
    const bool enough = int(pairs.base.size()) + pairs.lost >= kSeedsToJudge && pairs.base.size() >= 2;
    few += enough ? 0 : 1;
    if (enough) judged.push_back(std::move(pairs));
  }
  if (few > 0) {
    notes.push_back(
        fmt::format("iterations to target of {} variants are not judged: {} seeds are needed", few, kSeedsToJudge));
  }
  std::vector<GateRow> rows;
  for (const SeedPairs& pairs : judged) {
    const PairedRatio ratio = paired_ratio(pairs.base, pairs.head);
    GateRow row{pairs.name,
                "iterations to target",
                Verdict::kNoChange,
                ratio.n,
                median(pairs.base),
                median(pairs.head),
                ratio.ratio,
                {},
                {}};
    if (pairs.lost > 0) {
      row.verdict = Verdict::kRegression;
      row.notes.push_back(fmt::format("{} seeds no longer reach the target", pairs.lost));
    } else if (pairs.base != pairs.head) {
      row.interval = ratio_interval(pairs.base, pairs.head, kConvergenceLevel / static_cast<double>(judged.size()));
      row.threshold = std::max(1 / row.interval->low, row.interval->high) - 1;
      row.verdict = Verdict::kWithin;
      if (row.interval->high < 1) row.verdict = Verdict::kRegression;
      if (row.interval->low > 1) row.verdict = Verdict::kImprovement;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hopbench
