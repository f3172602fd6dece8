// What faults cost: columns of the tables of scenarios that have some.
#include <fmt/format.h>

#include <algorithm>

#include "backends/base/text.h"
#include "results/curve.h"
#include "results/summary_parts.h"

namespace hopbench {
namespace {

using Values = std::vector<double>;
using Rows = std::vector<const TrialRow*>;

/// The same trial without faults: nullptr if there is none, or it did not end well.
const TrialRow* unharmed(const TrialRow& row, std::span<const TrialRow> rows) {
  const auto hit = std::find_if(rows.begin(), rows.end(), [&](const TrialRow& other) {
    return !other.labels.faults && other.labels.unharmed == row.labels.unharmed && !row.labels.unharmed.empty() &&
           other.record.status == TrialStatus::kOk;
  });
  return hit == rows.end() ? nullptr : &*hit;
}

std::string lost_text(const Rows& trials) {
  Values lost;
  for (const TrialRow* row : trials) lost.push_back(row->record.ranks_lost);
  return lost.empty() ? "-" : fmt::format("{:g}", median(lost));
}

/// "rate 0.74x, loss 1.02x"; of a measure of convergence the time.
std::string cost_text(const Rows& trials, std::span<const TrialRow> rows, bool convergence) {
  Values figure, figure_without, loss, loss_without;
  for (const TrialRow* row : trials) {
    const TrialRow* other = unharmed(*row, rows);
    if (other == nullptr) continue;
    const double a = convergence ? row->record.time_s : row->record.samples_per_s;
    const double b = convergence ? other->record.time_s : other->record.samples_per_s;
    if (a > 0 && b > 0) figure.push_back(a), figure_without.push_back(b);
    const CurvePoint *end = final_point(row->record, "mean"), *end_without = final_point(other->record, "mean");
    if (end == nullptr || end_without == nullptr || end->loss <= 0 || end_without->loss <= 0) continue;
    loss.push_back(end->loss);
    loss_without.push_back(end_without->loss);
  }
  std::vector<std::string> parts;
  if (!figure.empty()) parts.push_back((convergence ? "time " : "rate ") + ratio_text(figure, figure_without));
  if (!loss.empty()) parts.push_back("loss " + ratio_text(loss, loss_without));
  return parts.empty() ? "-" : join(parts, ", ");
}

}  // namespace

void add_fault_columns(Grid& grid, const Group& group, std::span<const TrialRow> rows) {
  const Rows all = group.trials();
  if (std::none_of(all.begin(), all.end(), [](const TrialRow* row) { return row->labels.faults; })) return;
  grid.rows[0].insert(grid.rows[0].end(), {"ranks lost", "against no faults"});
  bool compared = false, any_ok = false;
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const Rows ok = group.variants[v].ok();
    const std::string cost = cost_text(ok, rows, group.is_convergence());
    compared = compared || cost != "-";
    any_ok = any_ok || !ok.empty();
    std::vector<std::string>& row = grid.rows[v + 1];
    row.resize(grid.rows[0].size() - 2);
    row.insert(row.end(), {lost_text(ok), cost});
  }
  grid.notes.push_back("ranks lost: crashed or left before the end; rates and losses are of the others");
  if (compared) {
    grid.notes.push_back("against no faults: over the same variant's trials without the scenario's faults");
  } else if (any_ok) {
    grid.notes.push_back("against no faults: no trial ended well that is the same but for its scenario's faults");
  }
}

}  // namespace hopbench
