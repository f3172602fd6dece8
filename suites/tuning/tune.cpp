// Turns [tune] into trials: where the suite is tuned, and what every variant tries there.
#include "suites/tuning/tune.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

using T = Value::Type;

constexpr double kBelow = 64, kAbove = 32;  // of the suite's learning rate; 12 trials double it each time, and try it
constexpr int kFewestRates = 3;             // below that there is no middle, only edges
constexpr std::size_t kMostKnobs = 2;

/// The draft, and what [tune] sets for it.
struct Frame {
  Draft draft;
  const MeasureDraft* measure = nullptr;
  const ScenarioDraft* scenario = nullptr;
  Layer values;  // of the measure
  const Value& at(const std::string& path) const { return values.at(path); }
  bool has(const std::string& path) const { return values.count(path) > 0; }
};

SourceLocation place_of(const Value& value, const SourceLocation& otherwise) {
  return value.place.line > 0 ? value.place : otherwise;
}

const MeasureDraft* measure_of(const Draft& draft, const Layer& sections, Mistakes& mistakes) {
  const auto named = sections.find("tune.measure");
  std::vector<std::string> known;
  for (const MeasureDraft& measure : draft.measures) {
    if (measure.what != MeasureKind::kConvergence) continue;
    if (named == sections.end() || named->second.text == measure.name) return &measure;
    known.push_back(measure.name);
  }
  if (named != sections.end()) {
    mistakes.add(named->second.place, unknown("measure of convergence", named->second.text, known));
  } else {
    mistakes.add(draft.place, "there is nothing to tune by: add a [[measure]] with what = \"convergence\"");
  }
  return nullptr;
}

// Returns the control unless [tune] names another: which worker will be slow is not known in advance.
const ScenarioDraft* scenario_for(const Draft& draft, const MeasureDraft& measure, const Layer& sections,
                                  Mistakes& mistakes) {
  const auto asked = sections.find("tune.scenario");
  if (asked != sections.end()) {
    const std::string& name = asked->second.text;
    const ScenarioDraft* found = named(draft.scenarios, name, &ScenarioDraft::name);
    if (found == nullptr)
      mistakes.add(asked->second.place, unknown("scenario", name, names_in(draft.scenarios, &ScenarioDraft::name)));
    return found;
  }
  const auto own = scenarios_of(draft, measure);
  const auto control = [](const ScenarioDraft* scenario) { return scenario->homogeneous(); };
  const auto first = std::find_if(own.begin(), own.end(), control);
  if (first != own.end()) return *first;
  for (const ScenarioDraft& scenario : draft.scenarios) {
    if (scenario.homogeneous()) return &scenario;
  }
  return own.empty() ? &draft.scenarios.front() : own.front();
}

// Refuses suites for which no run would have the settings that tuning finds.
void check_suite(const Draft& draft, Mistakes& mistakes) {
  if (!draft.tuning.empty())
    mistakes.add(draft.tuning.begin()->second.place,
                 "the suite is tuned already: tune the one that it was made from, or take [tuning] out");
  for (const Axis& axis : draft.axes) {
    const std::string name =
        axis.path.empty() ? fmt::format("protocol.{}.{}", toml_key(axis.variant), join(axis.parts, ".")) : axis.path;
    mistakes.add(axis.place,
                 "[matrix] varies '{}', and tuning is for one setting of everything else: "
                 "choose one with --set '{}=VALUE'",
                 name, name);
  }
  for (const Override& forced : draft.forced) {
    if (forced.measure.empty() && forced.path == "optimizer.lr")
      mistakes.add(forced.value.place,
                   "this gives all variants one learning rate, which is what tuning is to find: leave it out");
  }
}

void check_measure(const Frame& frame, Mistakes& mistakes) {
  const SourceLocation& here = frame.measure->place.line > 0 ? frame.measure->place : frame.draft.place;
  if (const Value& transport = frame.at("transport.name"); transport.text != "sim")
    mistakes.add(place_of(transport, here),
                 "measure '{0}' has real processes, whose loss is known at the end only, and tuning is done "
                 "in virtual time: --set 'measure.{0}.transport=sim'",
                 frame.measure->name);
  const Value& points = frame.at("run.evaluations");
  if (frame.at("run.target.loss").as_real() > 0 && points.is(T::kInteger) && points.integer == 0)
    mistakes.add(place_of(points, here),
                 "without 'evaluations' the time at which the target is reached is unknown: give some");
  const Value& lr = frame.at("optimizer.lr");
  if (!frame.has("tune.lr") && lr.as_real() <= 0)
    mistakes.add(place_of(lr, here), "'lr' is 0, so there is no grid around it: give [tune] lr = [LOW, HIGH]");
}

/// The knobs that [tune] declares for a variant.
struct KnobAxis {
  std::string knob;
  std::vector<Value> values;
};

constexpr const char* kMomentum = "optimizer.momentum";

/// Returns the keys on the way to what is tuned: {"backup"}, {"optimizer", "momentum"}.
std::vector<std::string> parts_of(const std::string& knob) {
  return knob == kMomentum ? std::vector<std::string>{"optimizer", "momentum"} : std::vector<std::string>{knob};
}

std::vector<KnobAxis> knobs_of(const Frame& frame, const VariantDraft& variant, Mistakes& mistakes) {
  std::vector<KnobAxis> axes;
  for (const Value& item : frame.at("tune.knobs").items) {
    if (item.find("protocol")->value.text != variant.label) continue;
    const Entry &knob = *item.find("knob"), &values = *item.find("values");
    const auto twice = [&](const KnobAxis& axis) { return axis.knob == knob.value.text; };
    if (std::any_of(axes.begin(), axes.end(), twice))
      mistakes.add(knob.value.place, "'{}' is tuned twice", knob.value.text);
    for (const Value& value : values.value.items) {
      VariantDraft copy = variant;
      set_variant(copy, {knob.value.text}, {knob.value.text, knob.value.place, value}, mistakes);
    }
    axes.push_back({knob.value.text, values.value.items});
    if (axes.size() == kMostKnobs + 1)
      mistakes.add(item.place,
                   "at most {} knobs of a variant are tuned beside its learning rate: '{}' "
                   "has more, which others with the same budget have not",
                   kMostKnobs, variant.label);
  }
  const auto own = variant.optimizer.find("optimizer.name");
  const Value& optimizer = own == variant.optimizer.end() ? frame.at("optimizer.name") : own->second;
  if (!frame.has("tune.momentum") || optimizer.text != "sgd") return axes;
  const std::vector<Value>& momenta = frame.at("tune.momentum").items;
  for (const Value& momentum : momenta) {
    VariantDraft copy = variant;
    set_variant(copy, parts_of(kMomentum), {"momentum", momentum.place, momentum}, mistakes);
  }
  axes.push_back({kMomentum, momenta});
  return axes;
}

std::vector<TuneSetting> settings_of(const std::vector<KnobAxis>& axes, const std::vector<double>& rates) {
  std::vector<TuneSetting> settings = {{}};
  for (const KnobAxis& axis : axes) {
    std::vector<TuneSetting> longer;
    for (const TuneSetting& setting : settings) {
      for (const Value& value : axis.values) {
        longer.push_back(setting);
        longer.back().knobs.emplace_back(axis.knob, to_toml(value));
      }
    }
    settings = std::move(longer);
  }
  std::vector<TuneSetting> all;
  for (TuneSetting& setting : settings) {
    for (const double lr : rates) {
      setting.lr = lr;
      all.push_back(setting);
    }
  }
  return all;
}

// Returns the settings of a variant. Their number is the same for every variant, whatever is tuned.
std::vector<TuneSetting> share_of(const Frame& frame, const VariantDraft& variant, const Tuning& tuning,
                                  Mistakes& mistakes) {
  const int trials = int(frame.at("tune.trials").integer);
  const std::vector<KnobAxis> axes = knobs_of(frame, variant, mistakes);
  if (!mistakes.empty()) return {};
  std::size_t combined = 1;
  for (const KnobAxis& axis : axes) combined *= axis.values.size();
  const int rates = int(std::size_t(trials) / combined);
  if (std::size_t(rates) * combined != std::size_t(trials) || rates < kFewestRates) {
    mistakes.add(place_of(frame.at("tune.knobs"), frame.draft.place),
                 "'{}' has {} trials for {} settings of its knobs: that must be a whole number of learning "
                 "rates for each, {} at least",
                 variant.label, trials, combined, kFewestRates);
    return {};
  }
  const bool given = frame.has("tune.lr");
  std::vector<double> grid = log_grid(tuning.low, tuning.high, rates);
  const auto twice = [&] { return std::adjacent_find(grid.begin(), grid.end()) != grid.end(); };
  if (twice() && !given) grid = log_grid(tuning.low, tuning.high, rates, 4);  // 1000 of them differ
  if (twice()) {
    mistakes.add(place_of(frame.at(given ? "tune.lr" : "optimizer.lr"), frame.draft.place),
                 "{} learning rates from {} to {} are the same in three digits: widen 'lr'", rates, tuning.low,
                 tuning.high);
  }
  return settings_of(axes, grid);
}

void check_labels(const Frame& frame, Mistakes& mistakes) {
  const std::vector<std::string> labels = names_in(frame.draft.variants, &VariantDraft::label);
  for (const Value& item : frame.at("tune.knobs").items) {
    const Value& label = item.find("protocol")->value;
    if (std::find(labels.begin(), labels.end(), label.text) == labels.end())
      mistakes.add(label.place, unknown("label", label.text, labels));
  }
}

// Adds the trials of the i-th setting of every variant. These settings make a suite, which runs once per repeat.
void add_trials(const Frame& frame, std::size_t i, Tuning& tuning, Mistakes& mistakes) {
  Draft draft = at_tuning_place(frame.draft, *frame.measure, *frame.scenario);
  for (std::size_t v = 0; v < draft.variants.size(); ++v) {
    const TuneSetting& setting = tuning.variants[v].settings[i];
    draft.variants[v].optimizer["optimizer.lr"] = real_value(setting.lr, draft.variants[v].place);
    for (const auto& [knob, text] : setting.knobs) {
      const Value value = *parse_value(text, draft.place, mistakes);
      const std::vector<std::string> parts = parts_of(knob);
      set_variant(draft.variants[v], parts, {parts.back(), draft.place, value}, mistakes);
    }
  }
  const std::vector<TrialSpec> specs = expand(draft, mistakes);
  for (int repeat = 0; repeat < tuning.repeats; ++repeat) {
    for (std::size_t v = 0; v < specs.size(); ++v) {
      TuneTrial trial{v, i, specs[v]};
      const TuneSetting& setting = tuning.variants[v].settings[i];
      const std::string knobs = setting.knobs_text();
      trial.spec.label += fmt::format(" lr={}{}{}", setting.lr, knobs.empty() ? "" : " ", knobs);
      trial.spec.seed = trial.spec.workload.seed = tuning_seed(trial.spec.seed);
      trial.spec.repeat = trial.spec.workload.repeat = std::uint32_t(repeat);
      trial.spec.order = int(tuning.trials.size());
      trial.spec.events = EventDetail::kNone;
      tuning.trials.push_back(std::move(trial));
    }
  }
}

Frame frame_of(const Tuning& tuning, Mistakes& mistakes) {
  Frame frame;
  frame.draft = read_suite(tuning.text, tuning.suite.file, tuning.options, mistakes);
  const Layer sections = effective(frame.draft, nullptr, {});
  check_suite(frame.draft, mistakes);
  frame.measure = measure_of(frame.draft, sections, mistakes);
  mistakes.throw_if_any();
  frame.scenario = scenario_for(frame.draft, *frame.measure, sections, mistakes);
  frame.values = effective(frame.draft, frame.measure, {});
  check_measure(frame, mistakes);
  check_labels(frame, mistakes);
  mistakes.throw_if_any();
  return frame;
}

}  // namespace

std::string TuneSetting::knobs_text() const {
  std::vector<std::string> parts;
  for (const auto& [knob, value] : knobs) parts.push_back(knob + "=" + value);
  return join(parts, " ");
}

std::uint64_t tuning_seed(std::uint64_t run_seed) { return run_seed | (std::uint64_t{1} << 63); }

std::vector<double> log_grid(double low, double high, int points, int digits) {
  std::vector<double> grid;
  for (int i = 0; i < points; ++i) {
    const double exact = low * std::pow(high / low, points > 1 ? double(i) / (points - 1) : 0.0);
    const bool end = i == 0 || i == points - 1;
    grid.push_back(end ? (i == 0 ? low : high) : std::strtod(fmt::format("{:.{}g}", exact, digits).c_str(), nullptr));
  }
  return grid;
}

Tuning plan_tuning(const std::string& text, const std::string& file, const SuiteOptions& options) {
  Tuning tuning;
  tuning.suite = parse_suite(text, file, options);
  tuning.text = text;
  tuning.options = options;
  Mistakes mistakes;
  const Frame frame = frame_of(tuning, mistakes);
  tuning.measure = frame.measure->name;
  tuning.scenario = frame.scenario->name;
  tuning.target_loss = frame.at("run.target.loss").as_real();
  tuning.repeats = int(frame.at("tune.repeats").integer);
  const bool given = frame.has("tune.lr");
  const double lr = frame.at("optimizer.lr").as_real();
  tuning.low = given ? frame.at("tune.lr").items[0].as_real() : lr / kBelow;
  tuning.high = given ? frame.at("tune.lr").items[1].as_real() : lr * kAbove;
  for (const VariantDraft& variant : frame.draft.variants)
    tuning.variants.push_back({variant.label, share_of(frame, variant, tuning, mistakes)});
  mistakes.throw_if_any();
  for (std::size_t i = 0; i < tuning.variants.front().settings.size(); ++i) add_trials(frame, i, tuning, mistakes);
  mistakes.throw_if_any();
  // Find out if the text takes settings at all before they are searched for.
  tuned_text(tuning, std::vector<TuneChoice>(tuning.variants.size()), "");
  return tuning;
}

}  // namespace hopbench
