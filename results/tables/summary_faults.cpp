// The cost of faults: columns of the tables of scenarios with faults.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/base/text.h"
#include "results/arithmetic/curve.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using Values = std::vector<double>;
using Rows = std::vector<const TrialRow*>;
using Pairs = std::vector<PairOf<TrialRow>>;

constexpr double kWorkDiffers = 0.01;

/// Returns the same trial without faults; nullptr if there is none, or it did not end well.
const TrialRow* unharmed(const TrialRow& row, std::span<const TrialRow> rows) {
  const auto hit = std::find_if(rows.begin(), rows.end(), [&](const TrialRow& other) {
    return !other.labels.faults && other.labels.unharmed == row.labels.unharmed && !row.labels.unharmed.empty() &&
           other.record.status == TrialStatus::kOk;
  });
  return hit == rows.end() ? nullptr : &*hit;
}

/// Returns pairs of a trial with faults and the same trial without them.
Pairs pairs_without_faults(const Rows& trials, std::span<const TrialRow> rows) {
  Pairs pairs;
  for (const TrialRow* row : trials) {
    if (const TrialRow* other = unharmed(*row, rows); other != nullptr) pairs.push_back({row, other});
  }
  return pairs;
}

Cell lost_cell(const Rows& trials) {
  Values lost;
  for (const TrialRow* row : trials) lost.push_back(row->record.ranks_lost);
  const Number number = median_of(lost);
  return {lost.empty() ? "-" : fmt::format("{:g}", number.value), number};
}

int workers_of(const TrialRecord& record) {
  return int(std::count_if(record.ranks.begin(), record.ranks.end(), [](const RankRecord& r) { return !r.server; }));
}

int survivors_of(const TrialRecord& record) { return workers_of(record) - record.ranks_lost; }

/// The cost of faults in a cell, from its parts: "rate 0.875x, a survivor 1.00x, loss +0.012".
class CostCell {
 public:
  void add(const std::string& words, const char* name, const Number& number, const Format& format) {
    if (number.n == 0) return;
    cell_.text += (cell_.text.empty() ? "" : ", ") + words + " " + text_of(number, format);
    cell_.numbers.push_back({name, number});
  }
  bool empty() const { return cell_.text.empty(); }
  Cell cell() const { return empty() ? Cell("-") : cell_; }

 private:
  Cell cell_;
};

/// Returns the ratio of `get` of the two trials of each pair. Pairs in which one of them is not above 0 are left out.
template <class Get>
Number ratio_of(const Pairs& pairs, Get get) {
  return samples_of(pairs, [&](const TrialRow& row) { return std::optional<double>(get(row)); }).ratio();
}

/// Adds "rate 0.875x, a survivor 1.00x": the ratio of all workers' rates, and if some were lost, of each survivor's.
void add_rate_cost(const Pairs& pairs, CostCell& cost) {
  cost.add("rate", "rate", ratio_of(pairs, [](const TrialRow& row) { return row.record.samples_per_s; }), kRatioNumber);
  const bool all_there =
      std::all_of(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.row->record.ranks_lost == 0; });
  if (cost.empty() || all_there) return;
  const auto each = [](const TrialRow& row) {
    const int there = survivors_of(row.record);
    return there > 0 ? row.record.samples_per_s / there : 0;
  };
  cost.add("a survivor", "survivor", ratio_of(pairs, each), kRatioNumber);
}

std::optional<double> reached_at(const TrialRow& row) { return target_reached(row).time_s.fitted; }

/// Returns true if all pairs reached the target. If one did not, none counts, since leaving out that one would flatter.
bool all_reached(const Pairs& pairs) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [](const auto& pair) { return reached_at(*pair.row) && reached_at(*pair.reference); });
}

void add_time_cost(const Pairs& pairs, CostCell& cost) {
  if (all_reached(pairs)) {
    const auto reached = [](const TrialRow& row) { return reached_at(row).value_or(0); };
    cost.add("time to target", "time_to_target", ratio_of(pairs, reached), kRatioNumber);
  } else {
    cost.add("time of the trial", "time", ratio_of(pairs, [](const TrialRow& row) { return row.record.time_s; }),
             kRatioNumber);
  }
}

constexpr double kDiverged = std::numeric_limits<double>::infinity();

/// A difference with its sign, or "diverged".
constexpr Format kDifference{
    [](double value) { return value == kDiverged ? "diverged" : (value > 0 ? "+" : "") + number_text(value, 3); }};

/// Adds by how much the final loss is higher. Not a ratio: a floor below all losses would hide the difference.
void add_loss_cost(const Pairs& pairs, CostCell& cost) {
  Values differences;
  for (const auto& [a, b] : pairs) {
    const CurvePoint *end = final_point(a->record, "mean"), *end_without = final_point(b->record, "mean");
    if (end == nullptr || end_without == nullptr || !a->labels.learns) continue;
    if (!std::isfinite(end_without->loss)) continue;
    differences.push_back(std::isfinite(end->loss) ? end->loss - end_without->loss : kDiverged);
  }
  cost.add("loss", "loss", median_of(differences), kDifference);
}

CostCell cost_of(const Pairs& pairs, bool convergence) {
  CostCell cost;
  convergence ? add_time_cost(pairs, cost) : add_rate_cost(pairs, cost);
  add_loss_cost(pairs, cost);
  return cost;
}

/// Adds a note if losses, or times of whole trials, of unequal work are compared: "hop 0.881x".
void add_work_note(Table& table, const Group& group, std::span<const TrialRow> rows) {
  std::vector<std::string> unequal;
  bool of_times = false;
  for (const Variant& variant : group.variants) {
    const Pairs pairs = pairs_without_faults(variant.ok(), rows);
    const auto differs = [](const auto& pair) {
      const double a = curve_end(pair.row->record).samples, b = curve_end(pair.reference->record).samples;
      return std::abs(a - b) > kWorkDiffers * b;
    };
    if (std::none_of(pairs.begin(), pairs.end(), differs)) continue;
    of_times = of_times || (group.is_convergence() && !all_reached(pairs));
    const Number samples = ratio_of(pairs, [](const TrialRow& row) { return curve_end(row.record).samples; });
    unequal.push_back(variant.name + " " + text_of(samples, kRatioNumber));
  }
  if (unequal.empty()) return;
  table.fact(std::string(of_times ? "time of the trial, loss" : "loss") +
             ": not of equal work: samples done against no faults: " + join(unequal, ", "));
}

/// Returns "7 of 8" workers for all trials that lost some, each text once.
std::string survivors_text(const Group& group) {
  std::vector<std::string> seen;
  for (const Variant& variant : group.variants) {
    for (const TrialRow* row : variant.ok()) {
      if (row->record.ranks_lost == 0) continue;
      std::string text = fmt::format("{} of {}", survivors_of(row->record), workers_of(row->record));
      if (std::find(seen.begin(), seen.end(), text) == seen.end()) seen.push_back(std::move(text));
    }
  }
  return join(seen, ", ");
}

/// Adds notes on ranks that were lost before or after the window of the rates.
void add_window_notes(Table& table, const Group& group) {
  for (const Variant& variant : group.variants) {
    std::vector<std::string> first;
    std::size_t outside = 0;
    for (const TrialRow* row : variant.ok()) {
      const TrialRecord& record = row->record;
      std::vector<std::string> of_this;
      for (const RankRecord& rank : record.ranks) {
        const double at = double(rank.finished.time_since_epoch().count()) / 1e9;
        if (rank.lost.empty() || (at > record.window_start_s && at < record.window_end_s)) continue;
        of_this.push_back(fmt::format("the fault of rank {} at {:.4g} s is outside of the measured {:.4g} .. {:.4g} s",
                                      rank.rank, at, record.window_start_s, record.window_end_s));
      }
      if (of_this.empty()) continue;
      ++outside;
      if (first.empty()) first = of_this;
    }
    const std::size_t all = variant.ok().size();
    for (const std::string& note : first) {
      table.fact(variant.name + ": " + note +
                 (all > 1 ? fmt::format(" ({} of {} trials)", outside, all) : std::string()));
    }
  }
}

void add_notes(Table& table, const Group& group, std::span<const TrialRow> rows) {
  const std::string survivors = survivors_text(group);
  if (group.is_convergence()) {
    table.note("against no faults: paired with the same variant's trials without the scenario's faults");
  } else {
    explain(table, "against no faults");
    if (!survivors.empty()) {
      table.note("rate: of the survivors (" + survivors +
                 " workers) over that of all, before the fault too: it does not tell when the fault was; a "
                 "survivor: the same for each worker");
    }
  }
  if (group.labels().learns) table.note("loss: by how much it is higher at the end");
  add_work_note(table, group, rows);
}

}  // namespace

void add_fault_columns(Table& table, const Group& group, std::span<const TrialRow> rows) {
  const Rows all = group.trials();
  if (std::none_of(all.begin(), all.end(), [](const TrialRow* row) { return row->labels.faults; })) return;
  const bool lost = std::any_of(all.begin(), all.end(), [](const TrialRow* row) { return row->record.ranks_lost > 0; });
  const std::size_t before = table.columns.size();
  if (lost) table.columns.push_back(listed("ranks lost"));
  table.columns.push_back(listed("against no faults"));
  bool compared = false, any_ok = false;
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const Rows ok = group.variants[v].ok();
    const CostCell cost = cost_of(pairs_without_faults(ok, rows), group.is_convergence());
    compared = compared || !cost.empty();
    any_ok = any_ok || !ok.empty();
    TableRow& row = table.rows[v];
    row.resize(before);
    if (lost) row.push_back(lost_cell(ok));
    row.push_back(cost.cell());
  }
  if (lost) explain(table, "ranks lost");
  if (compared) {
    add_notes(table, group, rows);
  } else if (any_ok) {
    table.note("against no faults: no trial ended well that is the same but for its scenario's faults");
  }
  if (!group.is_convergence()) add_window_notes(table, group);
}

}  // namespace hopbench
