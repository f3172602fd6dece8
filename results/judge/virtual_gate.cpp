#include "results/judge/virtual_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/base/record/kinds.h"
#include "results/judge/compare.h"
#include "results/tables/numbers.h"

namespace hopbench {
namespace {

std::string row_name(const std::string& suite, const std::string& measure, const std::string& scenario,
                     const std::string& variant) {
  return fmt::format("{}/{}/{}/{}", suite, measure, scenario, variant);
}

std::vector<TrialRow> of_virtual_time(std::span<const TrialRow> rows) {
  std::vector<TrialRow> kept;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
               [](const TrialRow& row) { return row.labels.clock == "virtual"; });
  return kept;
}

/// Both sides have the same draws, so nothing in a change is chance, not even in what is learned.
Verdict verdict_of(const Comparison& row, std::optional<double> tolerance) {
  if (row.equal) return Verdict::kNoChange;
  if (tolerance) return judged_change(row.speed_up, {}, *tolerance);
  return row.least < 1 ? Verdict::kRegression : Verdict::kImprovement;
}

/// Returns true if a verdict about speed can be given; all others are compare()'s own.
bool has_speed(const Comparison& row) {
  return row.verdict != Verdict::kIncomparable && row.verdict != Verdict::kFailed && row.verdict != Verdict::kMissing &&
         row.verdict != Verdict::kNew;
}

bool diverged(const TrialRecord& record) { return has(record.warnings, WarningKind::kDiverged); }

GateRow gate_row(const Comparison& row, std::optional<double> tolerance) {
  GateRow result{.name = row_name(row.suite, row.measure, row.scenario, row.variant),
                 .metric = "virtual " + row.metric,
                 .verdict = row.verdict,
                 .n = row.n,
                 .base = row.base,
                 .head = row.head,
                 .speed_up = row.speed_up,
                 .threshold = tolerance.value_or(0),
                 .rate = row.quantity == Quantity::kRate};
  if (!row.note.empty()) result.notes.push_back(row.note);
  if (!has_speed(row)) return result;
  if (!row.missing.empty()) {
    result.verdict = Verdict::kMissing;
    return result;
  }
  if (row.n == 0 && row.lost + row.gained == 0 && row.quantity == Quantity::kRate) {
    result.verdict = Verdict::kInsufficient;
    result.notes.emplace_back("no trial has a rate above 0 on both sides");
  } else if (row.n == 0 && row.lost + row.gained == 0) {
    result.verdict = Verdict::kNoChange;
    result.notes.emplace_back("neither side reaches the target");
  } else if (row.lost != row.gained) {
    result.verdict = row.lost > row.gained ? Verdict::kRegression : Verdict::kImprovement;
  } else {
    result.verdict = verdict_of(row, tolerance);
  }
  if (row.speed_up < 1) {
    result.notes.push_back(fmt::format("slower by {} %", number_text(100 * slower_by(row), 3)));
  } else if (row.least < 1) {
    result.notes.push_back(fmt::format("a trial is slower by {} %", number_text(100 * (1 / row.least - 1), 3)));
  }
  return result;
}

/// Judges a row by one trial of the baseline, besides its speed. `head`: nullptr if that trial is not there.
void add_trial(const TrialRecord& base, const TrialRecord* head, GateRow& row) {
  if (row.verdict == Verdict::kMissing || row.verdict == Verdict::kIncomparable) return;
  if (head == nullptr) {
    row.verdict = Verdict::kMissing;
    row.notes = {base.id + " is missing"};
  } else if (head->hash != base.hash) {
    row.verdict = Verdict::kIncomparable;
    row.notes = {base.id + ": its settings are not those that it had in the baseline"};
  } else if (diverged(*head) && !diverged(base)) {
    row.verdict = Verdict::kRegression;
    row.notes.push_back(base.id + " diverged, which it did not in the baseline");
  }
}

}  // namespace

std::vector<GateRow> virtual_rows(std::span<const TrialRow> base, std::span<const TrialRow> head,
                                  std::optional<double> tolerance) {
  const CompareOptions how{.threshold = tolerance.value_or(0), .speed_only = true};
  const Results before{.name = "base", .outcomes = outcomes_in_order(of_virtual_time(base))};
  const Results after{.name = "head", .outcomes = outcomes_in_order(of_virtual_time(head))};
  std::vector<GateRow> rows;
  for (const Comparison& row : compare(before, after, how)) rows.push_back(gate_row(row, tolerance));
  return rows;
}

GateResult tolerant_gate(const std::string& base_name, const RunFolder& base, const std::string& head_name,
                         const RunFolder& head, double tolerance) {
  GateResult result{"virtual", base_name, head_name, virtual_rows(base.rows(), head.rows(), tolerance), {}};
  std::map<std::string, const TrialRecord*> trials;  // of head
  for (const TrialRow& row : head.rows()) trials[row.record.id] = &row.record;
  for (const TrialRow& row : base.rows()) {
    const TrialLabels& l = row.labels;
    if (l.clock != "virtual") continue;
    const std::string name = row_name(l.suite, l.measure, l.scenario, l.variant);
    const auto at =
        std::find_if(result.rows.begin(), result.rows.end(), [&](const GateRow& r) { return r.name == name; });
    if (at != result.rows.end()) add_trial(row.record, trials[row.record.id], *at);
  }
  add_real_time_note(base.rows(), result);
  return result;
}

}  // namespace hopbench
