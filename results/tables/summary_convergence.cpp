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

using Values = std::vector<double>;

std::string reach_text(const std::vector<Reach>& trials) {
  if (trials.empty()) return "-";
  Values reached;
  for (const Reach& trial : trials) {
    if (trial.at) reached.push_back(*trial.at);
  }
  if (reached.size() == trials.size()) return median_text(reached);
  const Reach middle = median_reach(trials);
  const std::string text = middle.at ? number_text(*middle.at) : "> " + number_text(middle.until);
  return fmt::format("{} ({} of {} reached)", text, reached.size(), trials.size());
}

struct Reaches {
  std::vector<Reach> time, time_held, samples, samples_held;
};

Reaches reaches_of(const std::vector<const TrialRow*>& trials) {
  Reaches all;
  for (const TrialRow* row : trials) {
    const TargetReached reached = target_reached(*row);
    const CurveEnd end = curve_end(row->record);
    all.time.push_back({reached.time_s.fitted, end.time_s});
    all.time_held.push_back({reached.time_s.held, end.time_s});
    all.samples.push_back({reached.samples.fitted, end.samples});
    all.samples_held.push_back({reached.samples.held, end.samples});
  }
  return all;
}

std::string speed_up_text(const Group& group, const Variant& variant) {
  const SpeedUpPairs pairs = target_pairs(group, variant);
  if (variant.name == group.reference && !pairs.above.empty()) return "1 (reference)";
  return ratio_text(pairs.above, pairs.below);
}

/// Returns the final values of the mean model, the median rank and the worst rank: medians over the trials, NaN without
/// trials. A value that is not finite counts as larger than every other.
Values final_medians(const std::vector<const TrialRow*>& trials, double CurvePoint::*value) {
  Values medians;
  for (const char* model : {"mean", "median rank", "worst rank"}) {
    Values finals;
    for (const TrialRow* row : trials) {
      const CurvePoint* last = final_point(row->record, model);
      if (last == nullptr) continue;
      finals.push_back(std::isfinite(last->*value) ? last->*value : std::numeric_limits<double>::infinity());
    }
    medians.push_back(median(finals));
  }
  return medians;
}

/// Returns "0.51 / 0.52 / 0.61", or "diverged".
std::string finals_text(const Values& medians, double scale) {
  const auto diverged = [](double value) { return std::isinf(value); };
  if (std::all_of(medians.begin(), medians.end(), diverged)) return "diverged";
  std::string text;
  for (const double value : medians)
    text += (text.empty() ? "" : " / ") + (diverged(value) ? std::string("diverged") : number_text(scale * value));
  return text;
}

bool has_accuracy(const Group& group) {
  const auto trials = group.trials();
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

void add_target_notes(Grid& grid, const Group& group, const TrialLabels& labels) {
  grid.notes.push_back(
      fmt::format("target: loss {} of {}; fitted: crossing of the fitted falling curve; held: first of {} evaluations "
                  "in a row at or below it",
                  number_text(labels.target_loss), whose_loss(group), labels.target_hold));
  Values intervals;
  for (const TrialRow* row : group.trials()) {
    const double interval = evaluation_interval(row->record);
    if (interval > 0) intervals.push_back(interval);
  }
  if (!intervals.empty()) {
    grid.notes.push_back(fmt::format("evaluated every {} samples, off the clock", whole_text(median(intervals))));
  }
  grid.notes.push_back(explained("> T"));
}

}  // namespace

Reach median_reach(std::span<const Reach> trials) {
  Values with_infinity, bounds;
  for (const Reach& trial : trials) {
    with_infinity.push_back(trial.at.value_or(std::numeric_limits<double>::infinity()));
    bounds.push_back(trial.at.value_or(trial.until));
  }
  const double middle = median(with_infinity);
  if (middle < std::numeric_limits<double>::infinity()) return {middle, middle};
  return {std::nullopt, median(bounds)};
}

std::vector<Reach> times_to_target(const Variant& variant) { return reaches_of(variant.ok()).time; }

// Returns no pairs if a trial of a pair did not reach the target: leaving that pair out would flatter.
SpeedUpPairs target_pairs(const Group& group, const Variant& variant) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return {};
  SpeedUpPairs pairs;
  for (const auto& [a, b] : pairs_of(variant, *reference)) {
    const auto time = target_reached(*a).time_s.fitted, reference_time = target_reached(*b).time_s.fitted;
    if (!time || !reference_time || *time <= 0 || *reference_time <= 0) return {};
    pairs.above.push_back(*reference_time);  // a shorter time is a greater speed
    pairs.below.push_back(*time);
  }
  return pairs;
}

Grid convergence_grid(const Group& group) {
  const TrialLabels& labels = group.variants.front().trials.front()->labels;
  const bool with_target = labels.target_loss > 0, with_accuracy = has_accuracy(group);
  Grid grid;
  grid.title = group.title;
  std::vector<std::string> head{"variant", "n"};
  if (with_target) {
    head.insert(head.end(), {"time to target, s", "time held, s", "samples to target", "samples held", "speed-up"});
  }
  head.push_back("loss: mean / median / worst rank");
  if (with_accuracy) head.push_back("accuracy, %: mean / median / worst rank");
  grid.rows.push_back(std::move(head));
  for (const Variant& variant : group.variants) {
    const auto ok = variant.ok();
    std::vector<std::string> row{variant.name, count_text(variant)};
    if (with_target) {
      const Reaches reaches = reaches_of(ok);
      row.insert(row.end(), {reach_text(reaches.time), reach_text(reaches.time_held), reach_text(reaches.samples),
                             reach_text(reaches.samples_held), speed_up_text(group, variant)});
    }
    row.push_back(finals_text(final_medians(ok, &CurvePoint::loss), 1));
    if (with_accuracy) row.push_back(finals_text(final_medians(ok, &CurvePoint::accuracy), 100));
    grid.rows.push_back(std::move(row));
  }
  using Names = std::vector<std::string>;
  grid.narrow = with_target ? Names{"variant", "time to target", "speed-up"} : Names{"variant", "loss", "accuracy"};
  add_marks_column(grid, group);
  if (with_target) add_target_notes(grid, group, labels);
  grid.notes.push_back("loss and accuracy: of the last evaluation, medians over the trials");
  return grid;
}

}  // namespace hopbench
