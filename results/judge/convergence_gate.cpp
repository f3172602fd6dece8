#include "results/judge/convergence_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "results/arithmetic/curve.h"
#include "results/arithmetic/groups.h"
#include "results/arithmetic/pairs.h"

namespace hopbench {
namespace {

constexpr double kConvergenceLevel = 0.05;

/// The iterations to the target of one variant, in pairs of base and head.
struct Judged {
  std::string name;
  PairedSamples pairs;  // values: head's
};

/// Returns nothing for a trial that failed, which never gets there.
std::optional<double> iterations_of(const TrialRow& row) {
  return ended_well(row) ? target_reached(row).iterations.fitted : std::nullopt;
}

std::vector<Judged> pairs_by_variant(const RunFolder& base, const RunFolder& head) {
  std::vector<Judged> all;
  std::map<std::string, const TrialRow*> by_trial;
  for (const TrialRow& row : head.rows()) by_trial[row.record.id] = &row;
  for (const Group& group : groups_of(base.rows(), "")) {
    if (!group.is_convergence() || group.labels().target_loss <= 0) continue;
    for (const Variant& variant : group.variants) {
      std::vector<PairOf<TrialRow>> pairs;
      for (const TrialRow* row : variant.trials) {
        const auto other = by_trial.find(row->record.id);  // its settings may be others: the exact row reports that
        if (other != by_trial.end() && other->second->record.hash == row->record.hash)
          pairs.push_back({other->second, row});
      }
      if (pairs.empty()) continue;
      all.push_back({fmt::format("{}/{}/{}/{}", group.suite, group.measure, group.scenario, variant.name),
                     samples_of(pairs, iterations_of)});
    }
  }
  return all;
}

}  // namespace

std::vector<GateRow> convergence_rows(const RunFolder& base, const RunFolder& head, std::vector<std::string>& notes) {
  std::vector<Judged> judged = pairs_by_variant(base, head);
  const auto few = std::erase_if(judged, [](const Judged& one) {
    return int(one.pairs.values.size()) + one.pairs.lost < kSeedsToJudge || one.pairs.values.size() < 2;
  });
  if (few > 0) {
    notes.push_back(
        fmt::format("iterations to target of {} variants are not judged: {} seeds are needed", few, kSeedsToJudge));
  }
  std::vector<GateRow> rows;
  for (const auto& [name, pairs] : judged) {
    const Number ratio = paired_ratio(pairs.reference, pairs.values);
    GateRow row{.name = name,
                .metric = "iterations to target",
                .n = ratio.n,
                .base = median(pairs.reference),
                .head = median(pairs.values),
                .speed_up = ratio.value};
    if (pairs.lost > 0) {
      row.verdict = Verdict::kRegression;
      row.notes.push_back(fmt::format("{} seeds no longer reach the target", pairs.lost));
    } else if (pairs.reference != pairs.values) {
      row.interval =
          ratio_interval(pairs.reference, pairs.values, kConvergenceLevel / static_cast<double>(judged.size()));
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
