// Checks if a suite is still set as it was when it was tuned. Its record [tuning] holds a hash of each variant's
// settings.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

std::string text_at(const Layer& layer, const std::string& path) {
  const auto found = layer.find(path);
  return found == layer.end() ? "" : found->second.text;
}

std::string integer_at(const Layer& layer, const std::string& path) {
  const auto found = layer.find(path);
  return found == layer.end() ? "?" : fmt::format("{}", found->second.integer);
}

// Returns labels and settings as recorded. (If the record has mistakes, the suite is refused for them.)
const std::vector<Value>& recorded_variants(const Draft& draft) {
  static const std::vector<Value> kNone;
  const auto found = draft.tuning.find("tuning.variants");
  return found == draft.tuning.end() ? kNone : found->second.items;
}

// Returns the settings that every variant has now; none if the measure or scenario where it was tuned no longer exists.
std::multimap<std::string, std::string> present_marks(const Draft& draft) {
  const std::string measure = text_at(draft.tuning, "tuning.measure");
  const std::string scenario = text_at(draft.tuning, "tuning.scenario");
  const MeasureDraft* m = named(draft.measures, measure, &MeasureDraft::name);
  const ScenarioDraft* s = named(draft.scenarios, scenario, &ScenarioDraft::name);
  std::multimap<std::string, std::string> marks;
  if (m == nullptr || s == nullptr) return marks;
  Mistakes ignored;  // the scenario may belong to no measure, and is then not checked
  for (const TrialSpec& trial : expand(at_tuning_place(draft, *m, *s), ignored))
    marks.emplace(trial.label, settings_mark(trial));
  return marks;
}

std::vector<std::string> changed_variants(const Draft& draft) {
  std::map<std::string, std::string> recorded;
  for (const Value& variant : recorded_variants(draft))
    recorded[variant.find("label")->value.text] = variant.find("settings")->value.text;
  const std::multimap<std::string, std::string> present = present_marks(draft);
  std::vector<std::string> changed;
  for (const VariantDraft& variant : draft.variants) {
    const auto [first, last] = present.equal_range(variant.label);
    const bool same = first != last && std::all_of(first, last, [&](const auto& mark) {
                        const auto then = recorded.find(variant.label);
                        return then != recorded.end() && then->second == mark.second;
                      });
    if (!same) changed.push_back(variant.label);
  }
  return changed;
}

std::string how(const Draft& draft) {
  const Layer& record = draft.tuning;
  std::string text = fmt::format("{} settings for each variant, on '{}' in '{}'", integer_at(record, "tuning.trials"),
                                 text_at(record, "tuning.measure"), text_at(record, "tuning.scenario"));
  if (const auto lr = record.find("tuning.lr"); lr != record.end())
    text += fmt::format(", lr {} to {}", lr->second.items[0].as_real(), lr->second.items[1].as_real());
  text += fmt::format(", draws {} (repeats: {}), by {}", text_at(record, "tuning.draws"),
                      integer_at(record, "tuning.repeats"), text_at(record, "tuning.by"));
  std::vector<std::string> with;
  if (const auto found = record.find("tuning.with"); found != record.end())
    for (const Value& word : found->second.items) with.push_back(word.text);
  return with.empty() ? text : text + ", with " + join(with, " ");
}

std::vector<std::string> variants_at_the_edge(const Draft& draft) {
  std::vector<std::string> labels;
  for (const Value& variant : recorded_variants(draft)) {
    const Entry* edge = variant.find("edge");
    if (edge != nullptr && edge->value.flag) labels.push_back(variant.find("label")->value.text);
  }
  return labels;
}

// Returns what else a reader of tuned results must know.
std::string caveats(const Draft& draft, const std::vector<std::string>& edge) {
  std::vector<std::string> far, others;
  for (const Value& variant : recorded_variants(draft)) {
    if (variant.find("samples") == nullptr) far.push_back(variant.find("label")->value.text);
  }
  for (const MeasureDraft& measure : draft.measures) {
    const bool other =
        measure.what == MeasureKind::kConvergence && measure.name != text_at(draft.tuning, "tuning.measure");
    if (other) others.push_back(measure.name);
  }
  std::string text;
  if (!edge.empty()) text += "; on the edge of the grid: " + join(edge, ", ");
  if (!far.empty() && far.size() < recorded_variants(draft).size())
    text += "; no setting reached the target: " + join(far, ", ");
  if (!others.empty()) text += "; not tuned on: " + join(others, ", ");
  return text;
}

}  // namespace

Draft at_tuning_place(const Draft& draft, const MeasureDraft& measure, const ScenarioDraft& scenario) {
  Draft place = draft;
  place.measures = {measure};
  place.measures.front().scenarios.clear();
  place.scenarios = {scenario};
  place.forced.push_back({"", "run.repeats", integer_value(1, draft.place)});
  place.forced.push_back({"", "run.order", text_value("sequential", draft.place)});
  return place;
}

std::string settings_mark(const TrialSpec& spec) {
  TrialSpec settings = spec;
  settings.suite = settings.measure = settings.scenario_name = settings.scenario.name = settings.label = "";
  settings.seed = settings.workload.seed = 0;
  settings.repeat = settings.workload.repeat = 0;
  return settings.hash();
}

TunedState tuned_state(const Draft& draft) {
  if (!draft.tuned) return {false, "untuned: learning rates were not tuned with one budget for every variant"};
  if (draft.tuning.empty())
    return {false, "untuned: the suite says tuned = true, but has no record [tuning]: hopbench tune writes one"};
  const std::vector<std::string> changed = changed_variants(draft);
  if (!changed.empty())
    return {false, fmt::format("untuned: not set as it was tuned: {} (that was: {})", join(changed, ", "), how(draft))};
  std::vector<std::string> edge = variants_at_the_edge(draft);
  return {true, "tuned: " + how(draft) + caveats(draft, edge), std::move(edge)};
}

}  // namespace hopbench
