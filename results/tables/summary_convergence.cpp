// The table of a measure of convergence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "results/arithmetic/curve.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using Trials = std::vector<const TrialRow*>;
using Values = std::vector<double>;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Returns the median over all trials: "12.5", "> 40 (1 of 3 reached)". A trial that did not reach the target counts as
/// later than every other. If that makes the median unknown, how far the trials went bounds it from below.
Cell reach_cell(const Trials& trials, Crossing TargetReached::*measure, std::optional<double> Crossing::*how,
                double CurveEnd::*end) {
  Values reached, bounds;
  int count = 0;
  for (const TrialRow* row : trials) {
    const std::optional<double> at = target_reached(*row).*measure.*how;
    count += at ? 1 : 0;
    reached.push_back(at.value_or(kInfinite));
    bounds.push_back(at.value_or(curve_end(row->record).*end));
  }
  Number number = median_of(reached);
  if (count == number.n) return {number, kPlainNumber};
  if (std::isinf(number.value)) number = {.value = median(bounds), .n = number.n, .beyond = true};
  const Number alone{.value = number.value, .n = number.n, .beyond = number.beyond};
  return {fmt::format("{} ({} of {} reached)", text_of(alone), count, number.n), number};
}

/// Returns "0.51 / 0.52 / 0.61", or "diverged": final values of the mean model, the median rank and the worst rank,
/// medians over the trials. A value that is not finite counts as larger than every other.
Cell finals_cell(const Trials& trials, double CurvePoint::*value, double scale) {
  Cell cell;
  bool all_diverged = true;
  constexpr std::pair<const char*, const char*> kModels[] = {
      {"mean", "mean_model"}, {"median rank", "median_rank"}, {"worst rank", "worst_rank"}};
  for (const auto& [model, name] : kModels) {
    Values finals;
    for (const TrialRow* row : trials) {
      const CurvePoint* last = final_point(row->record, model);
      if (last != nullptr) finals.push_back(std::isfinite(last->*value) ? scale * last->*value : kInfinite);
    }
    const Number number = median_of(finals);
    const bool diverged = std::isinf(number.value);
    all_diverged = all_diverged && diverged;
    cell.text += (cell.text.empty() ? "" : " / ") + (diverged ? "diverged" : number_text(number.value));
    cell.numbers.push_back({name, number});
  }
  if (all_diverged) cell.text = "diverged";
  return cell;
}

bool has_accuracy(const Group& group) {
  const Trials trials = group.trials();
  return std::any_of(trials.begin(), trials.end(),
                     [](const TrialRow* row) { return best_accuracy(row->record).value_or(0) > 0; });
}

/// Returns the words for the model whose loss has to reach the target.
std::string whose_loss(const Group& group) {
  std::set<std::string_view> models;
  for (const TrialRow* row : group.trials()) models.insert(target_model(*row));
  if (models.size() > 1) return "the servers' model, or of the mean model where there are no servers";
  const std::string_view model = models.empty() ? "mean" : *models.begin();
  if (model == "server") return "the servers' model";
  return model == "mean" ? "the mean model" : "the " + std::string(model);
}

void add_target_notes(Table& table, const Group& group) {
  table.note(
      fmt::format("target: loss {} of {}; fitted: crossing of the fitted falling curve; held: first of {} evaluations "
                  "in a row at or below it",
                  number_text(group.labels().target_loss), whose_loss(group), group.labels().target_hold));
  Values intervals;
  for (const TrialRow* row : group.trials()) {
    const double interval = evaluation_interval(row->record);
    if (interval > 0) intervals.push_back(interval);
  }
  if (!intervals.empty())
    table.note(fmt::format("evaluated every {} samples, off the clock", whole_text(median(intervals))));
  explain(table, "> T");
}

}  // namespace

// Returns no pairs if a trial of a pair did not reach the target: leaving that pair out would flatter.
PairedSamples target_pairs(const Group& group, const Variant& variant) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return {};
  PairedSamples times = pairs_of(variant.trials, reference->trials, [](const TrialRow& row) {
    const std::optional<double> time = target_reached(row).time_s.fitted;
    return time && *time > 0 ? time : std::nullopt;
  });
  if (times.without() > 0) return {};
  std::swap(times.values, times.reference);  // a shorter time is a greater speed
  return times;
}

Table convergence_table(const Group& group) {
  const bool with_target = group.labels().target_loss > 0, with_accuracy = has_accuracy(group);
  Table table{.title = group.title(), .columns = listed({"variant", "n"}), .caption = group.in_words()};
  const auto add_columns = [&](std::initializer_list<const char*> names) {
    for (Head& head : listed(names)) table.columns.push_back(std::move(head));
  };
  if (with_target) add_columns({"time to target", "time held", "samples to target", "samples held", "speed-up"});
  add_columns({"loss"});
  if (with_accuracy) add_columns({"accuracy"});
  for (const Variant& variant : group.variants) {
    const Trials ok = variant.ok();
    TableRow row{variant.name, count_cell(variant)};
    if (with_target) {
      row.push_back(reach_cell(ok, &TargetReached::time_s, &Crossing::fitted, &CurveEnd::time_s));
      row.push_back(reach_cell(ok, &TargetReached::time_s, &Crossing::held, &CurveEnd::time_s));
      row.push_back(reach_cell(ok, &TargetReached::samples, &Crossing::fitted, &CurveEnd::samples));
      row.push_back(reach_cell(ok, &TargetReached::samples, &Crossing::held, &CurveEnd::samples));
      row.push_back(speed_up_cell(group, variant, target_pairs(group, variant)));
    }
    row.push_back(finals_cell(ok, &CurvePoint::loss, 1));
    if (with_accuracy) row.push_back(finals_cell(ok, &CurvePoint::accuracy, 100));
    table.rows.push_back(std::move(row));
  }
  using Names = std::vector<std::string>;
  table.narrow = with_target ? Names{"variant", "time to target", "speed-up"} : Names{"variant", "loss", "accuracy"};
  add_marks_column(table, group);
  if (with_target) add_target_notes(table, group);
  table.note("loss and accuracy: of the last evaluation, medians over the trials");
  return table;
}

}  // namespace hopbench
