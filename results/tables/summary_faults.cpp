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
std::vector<Pair> pairs_without_faults(const Rows& trials, std::span<const TrialRow> rows) {
  std::vector<Pair> pairs;
  for (const TrialRow* row : trials) {
    if (const TrialRow* other = unharmed(*row, rows); other != nullptr) pairs.push_back({row, other});
  }
  return pairs;
}

std::string lost_text(const Rows& trials) {
  Values lost;
  for (const TrialRow* row : trials) lost.push_back(row->record.ranks_lost);
  return lost.empty() ? "-" : fmt::format("{:g}", median(lost));
}

int workers_of(const TrialRecord& record) {
  return int(std::count_if(record.ranks.begin(), record.ranks.end(), [](const RankRecord& r) { return !r.server; }));
}

int survivors_of(const TrialRecord& record) { return workers_of(record) - record.ranks_lost; }

/// Returns the ratio of `get` of the two trials of each pair. Pairs in which one of them is not above 0 are left out.
template <class Get>
std::string ratio_of(const std::vector<Pair>& pairs, Get get) {
  Values with, without;
  for (const auto& [a, b] : pairs) {
    const double above = get(*a), below = get(*b);
    if (above > 0 && below > 0) with.push_back(above), without.push_back(below);
  }
  return ratio_text(with, without);
}

/// Returns "rate 0.875x, a survivor 1.00x": the ratio of all workers' rates, and if some were lost, of each survivor's.
std::string rate_cost(const std::vector<Pair>& pairs) {
  const std::string rate = ratio_of(pairs, [](const TrialRow& row) { return row.record.samples_per_s; });
  if (rate == "-") return "";
  const bool all_there =
      std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.a->record.ranks_lost == 0; });
  if (all_there) return "rate " + rate;
  const std::string each = ratio_of(pairs, [](const TrialRow& row) {
    const int there = survivors_of(row.record);
    return there > 0 ? row.record.samples_per_s / there : 0;
  });
  return "rate " + rate + (each == "-" ? "" : ", a survivor " + each);
}

std::optional<double> reached_at(const TrialRow& row) { return target_reached(row).time_s.fitted; }

/// Returns true if all pairs reached the target. If one did not, none counts, since leaving out that one would flatter.
bool all_reached(const std::vector<Pair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [](const Pair& pair) { return reached_at(*pair.a) && reached_at(*pair.b); });
}

std::string time_cost(const std::vector<Pair>& pairs) {
  const bool to_target = all_reached(pairs);
  const std::string time =
      ratio_of(pairs, [&](const TrialRow& row) { return to_target ? reached_at(row).value_or(0) : row.record.time_s; });
  return time == "-" ? "" : (to_target ? "time to target " : "time of the trial ") + time;
}

constexpr double kDiverged = std::numeric_limits<double>::infinity();

/// Returns a difference with its sign, or "diverged".
std::string difference_text(double value) {
  return value == kDiverged ? "diverged" : (value > 0 ? "+" : "") + number_text(value, 3);
}

/// Returns by how much the final loss is higher. Not a ratio: a floor below all losses would hide the difference.
std::string loss_cost(const std::vector<Pair>& pairs) {
  Values differences;
  for (const auto& [a, b] : pairs) {
    const CurvePoint *end = final_point(a->record, "mean"), *end_without = final_point(b->record, "mean");
    if (end == nullptr || end_without == nullptr || !a->labels.learns) continue;
    if (!std::isfinite(end_without->loss)) continue;
    differences.push_back(std::isfinite(end->loss) ? end->loss - end_without->loss : kDiverged);
  }
  return differences.empty() ? "" : "loss " + median_text(differences, difference_text);
}

std::string cost_text(const std::vector<Pair>& pairs, bool convergence) {
  std::vector<std::string> parts{convergence ? time_cost(pairs) : rate_cost(pairs), loss_cost(pairs)};
  std::erase(parts, "");
  return parts.empty() ? "-" : join(parts, ", ");
}

/// Adds a note if losses, or times of whole trials, of unequal work are compared: "hop 0.881x".
void add_work_note(Grid& grid, const Group& group, std::span<const TrialRow> rows) {
  std::vector<std::string> unequal;
  bool of_times = false;
  for (const Variant& variant : group.variants) {
    const std::vector<Pair> pairs = pairs_without_faults(variant.ok(), rows);
    const auto differs = [](const Pair& pair) {
      const double a = curve_end(pair.a->record).samples, b = curve_end(pair.b->record).samples;
      return std::abs(a - b) > kWorkDiffers * b;
    };
    if (std::none_of(pairs.begin(), pairs.end(), differs)) continue;
    of_times = of_times || (group.is_convergence() && !all_reached(pairs));
    unequal.push_back(variant.name + " " +
                      ratio_of(pairs, [](const TrialRow& row) { return curve_end(row.record).samples; }));
  }
  if (unequal.empty()) return;
  grid.facts.push_back(std::string(of_times ? "time of the trial, loss" : "loss") +
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
void add_window_notes(Grid& grid, const Group& group) {
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
      grid.facts.push_back(variant.name + ": " + note +
                           (all > 1 ? fmt::format(" ({} of {} trials)", outside, all) : std::string()));
    }
  }
}

void add_notes(Grid& grid, const Group& group, std::span<const TrialRow> rows) {
  const std::string survivors = survivors_text(group);
  if (group.is_convergence()) {
    grid.notes.push_back("against no faults: paired with the same variant's trials without the scenario's faults");
  } else {
    grid.notes.push_back(explained("against no faults"));
    if (!survivors.empty()) {
      grid.notes.push_back("rate: of the survivors (" + survivors +
                           " workers) over that of all, before the fault too: it does not tell when the fault was; a "
                           "survivor: the same for each worker");
    }
  }
  if (group.variants.front().trials.front()->labels.learns)
    grid.notes.push_back("loss: by how much it is higher at the end");
  add_work_note(grid, group, rows);
}

}  // namespace

void add_fault_columns(Grid& grid, const Group& group, std::span<const TrialRow> rows) {
  const Rows all = group.trials();
  if (std::none_of(all.begin(), all.end(), [](const TrialRow* row) { return row->labels.faults; })) return;
  const bool lost = std::any_of(all.begin(), all.end(), [](const TrialRow* row) { return row->record.ranks_lost > 0; });
  const std::size_t before = grid.rows[0].size();
  if (lost) grid.rows[0].emplace_back("ranks lost");
  grid.rows[0].emplace_back("against no faults");
  bool compared = false, any_ok = false;
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const Rows ok = group.variants[v].ok();
    const std::string cost = cost_text(pairs_without_faults(ok, rows), group.is_convergence());
    compared = compared || cost != "-";
    any_ok = any_ok || !ok.empty();
    std::vector<std::string>& row = grid.rows[v + 1];
    row.resize(before);
    if (lost) row.push_back(lost_text(ok));
    row.push_back(cost);
  }
  if (lost) grid.notes.push_back(explained("ranks lost"));
  if (compared) {
    add_notes(grid, group, rows);
  } else if (any_ok) {
    grid.notes.push_back("against no faults: no trial ended well that is the same but for its scenario's faults");
  }
  if (!group.is_convergence()) add_window_notes(grid, group);
}

}  // namespace hopbench
