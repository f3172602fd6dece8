// Turns a Draft into trials: measures x points of the matrix x scenarios x variants x repeats, in the order they run.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "backends/base/random.h"
#include "suites/language/check_graph.h"
#include "suites/language/draft.h"
#include "suites/profile/profile.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

// The user's patience limits a run, not this constant. It stops a slip in [matrix] from filling the memory.
constexpr std::size_t kMostTrials = 20000;

StopSpec stop_of(const Configuration& c) {
  using Kind = StopSpec::Kind;
  if (const Value* samples = c.find("run.samples")) return {Kind::kSamples, samples->integer};
  if (const Value* epochs = c.find("run.epochs"))
    return {Kind::kSamples, std::int64_t(std::ceil(epochs->as_real() * double(training_set_size(c))))};
  return {Kind::kIterations, c.at("run.iterations").integer};
}

void take_pace(TrialSpec& trial, const Configuration& c) {
  const std::string& pace = c.at("compute.pace").text;
  trial.pace = pace != "off";
  const Value* cost = c.find("compute.cost");
  if (cost != nullptr && (trial.transport == "sim" || pace == "off")) {
    trial.costs.gradient = Duration(duration_of(*cost));
  } else if (pace != "auto" &&
             pace != "off") {  // "auto" in real processes is calibrated, whatever it costs in virtual time
    trial.costs.gradient = Duration(duration_of(c.at("compute.pace")));
  }
}

/// Takes sizes and times of timing_only from its profile; without one, from the bytes that it sends.
void take_profile(TrialSpec& trial, const Configuration& c) {
  const bool sends = trial.workload.model == "timing_only" && trial.costs.wire_bytes > 0;
  if (!c.has("model.profile") && !sends) return;
  Profile profile = c.has("model.profile") ? read_profile(c.at("model.profile").text)
                                           : ddp_profile(std::uint64_t(trial.costs.wire_bytes));
  trial.workload.size = profile.parameters;
  trial.workload.profile = std::move(profile.buckets);
  if (!profile.gradient) return;
  trial.pace = true;
  trial.costs.gradient = *profile.gradient;
}

/// Sets the members that belong to one key. `value_of` returns a key's value, or nullptr if it has none.
template <class ValueOf>
void take_keys(TrialSpec& trial, bool optimizer, const ValueOf& value_of) {
  for (const SuiteKey& key : suite_keys()) {
    if (key.field.take == nullptr || std::string_view(key.path).starts_with("optimizer.") != optimizer) continue;
    if (const Value* value = value_of(key.path)) key.field.take(trial, key, *value);
  }
}

/// Resets settings that have no effect on this trial, so that its hash does not depend on them. Older keys of [network]
/// stay as they are, since hashes of older trials have them.
void drop_unobeyed(TrialSpec& trial) {
  const bool simulated = trial.transport == "sim";
  if (!simulated) trial.noise = 0;
  if (!simulated || trial.what != MeasureKind::kRate) trial.shuffles = 0;
  NetworkSpec& network = trial.network;
  if (!simulated) network.rendezvous_bytes = 0;
  if (network.queue != NetworkSpec::Queue::kFifo) network.burst = 0;
  if ((simulated && !trial.instant_network) || trial.emulate) return;
  const NetworkSpec fresh;
  network.goodput = fresh.goodput;
  network.queue = fresh.queue;
  network.burst = fresh.burst;
  network.rendezvous_bytes = fresh.rendezvous_bytes;
  network.uplink = fresh.uplink;
  if (trial.instant_network) network.servers_apart = true;  // real processes are placed by it
  network.rack_of.clear();
}

// Returns a trial of the configuration without its variant, scenario and repeat.
TrialSpec base_trial(const Draft& draft, const Configuration& c) {
  TrialSpec trial;
  trial.suite = draft.name;
  trial.measure = c.name;
  trial.what = c.measure->what;
  take_keys(trial, false, [&](const char* path) { return c.find(path); });
  trial.workload.dataset = dataset_of(c);
  trial.workload.workers = c.workers();
  trial.network.host_of = c.host_of();
  trial.network.rack_of = c.rack_of();
  trial.emulate = c.at("network.emulate").flag && trial.transport != "sim";
  trial.instant_network = c.at("network.instant").flag && trial.transport == "sim";
  if (trial.instant_network) trial.costs.vector_bytes_per_s = 0;
  drop_unobeyed(trial);
  trial.stop = stop_of(c);
  take_pace(trial, c);
  take_profile(trial, c);
  const Value& evaluations = c.at("run.evaluations");
  trial.evaluations =
      evaluations.is(Value::Type::kInteger) ? int(evaluations.integer) : default_evaluations(c.measure->what);
  return trial;
}

/// The warm-ups of variants. Each is computed once, since its bound may take a search of the whole graph.
class WarmUps {
 public:
  WarmUps(const Draft& draft, Graphs& graphs) : draft_(draft), graphs_(graphs) {}

  Iter of(const Configuration& c, const VariantDraft& variant) {
    const auto [found, is_new] = known_.try_emplace({&c, &variant});
    if (is_new) found->second = worked_out(c, variant);
    return found->second;
  }

 private:
  Iter worked_out(const Configuration& c, const VariantDraft& variant) const {
    Iter warmup = 10;
    if (variant.protocol->free_run != nullptr)
      warmup = std::max<Iter>(warmup, 2 * variant.protocol->free_run(variant.knobs));
    const Value& given = c.at("run.warmup");
    return std::max<Iter>(warmup, given.is(Value::Type::kInteger) ? given.integer : 2 * bound_of(c, variant));
  }

  /// Returns by how many iterations one worker may be ahead of another; 0 if no such bound is known.
  Iter bound_of(const Configuration& c, const VariantDraft& variant) const {
    if (variant.protocol->gap_bound == nullptr) return 0;
    Mistakes told_before;
    const Topology* graph = uses_topology(variant) ? graphs_.of(draft_, c, true, told_before) : nullptr;
    const TrainingSetting setting(c, variant, graph);
    return variant.protocol->gap_bound(setting.of()).value_or(0);
  }

  const Draft& draft_;
  Graphs& graphs_;
  std::map<std::pair<const Configuration*, const VariantDraft*>, Iter> known_;
};

std::vector<Configuration> configurations_of(const Draft& draft) {
  std::vector<Configuration> all;
  for (const MeasureDraft& measure : draft.measures) {
    for (const Point& point : points_of(draft))
      all.push_back({&measure, measure.name + point.suffix, effective(draft, &measure, point.values)});
  }
  return all;
}

/// Lets a trace of seconds say what a gradient takes, instead of pace and cost: its mean is the cost, and each gradient
/// is slowed by its own seconds over this mean.
void take_trace(TrialSpec& trial) {
  for (ComputeRule& rule : trial.scenario.compute) {
    if (rule.what != SlowdownKind::kTrace || rule.replay.trace->kind() != Trace::Kind::kSteps) continue;
    trial.pace = true;
    trial.costs.gradient = std::max(seconds_to_duration(rule.replay.trace->mean() * rule.scale), Duration{1});
    rule.scale /= to_seconds(trial.costs.gradient);
  }
}

// Returns all variants of a configuration in one scenario, once each.
std::vector<TrialSpec> group_of(const Draft& draft, const Configuration& c, const ScenarioDraft& scenario,
                                std::uint32_t repeat, WarmUps& warm_ups) {
  TrialSpec base = base_trial(draft, c);
  Random who({.seed = base.seed, .repeat = repeat, .purpose = Purpose::kSlowRank, .rank = -1, .iteration = 0});
  base.scenario = scenario_of(scenario, c.workers(), int(who.below(std::uint64_t(c.workers()))));
  base.scenario_name = scenario.name;
  take_trace(base);
  base.repeat = base.workload.repeat = repeat;
  std::vector<TrialSpec> group;
  for (const VariantDraft* variant : variants_of(draft, *c.measure)) {
    TrialSpec trial = base;
    trial.protocol = variant->protocol->name;
    trial.label = variant->label;
    trial.row_order = int(variant - draft.variants.data());
    trial.knobs = variant->knobs;
    trial.workload.without = variant->left_out();
    trial.workload.workers -= int(variant->without.size());
    take_keys(trial, true, [&](const char* path) { return &optimizer_value(draft, c, *variant, path); });
    trial.warmup = warm_ups.of(c, *variant);
    if (!scenario.faults.empty())
      trial.scenario.faults =
          faults_of(scenario, goes_on_without(*variant->protocol, variant->knobs), trial.workload.workers);
    group.push_back(std::move(trial));
  }
  return group;
}

std::vector<TrialSpec> interleaved(const Draft& draft, const std::vector<Configuration>& configurations,
                                   WarmUps& warm_ups) {
  std::int64_t repeats = 0;
  for (const Configuration& c : configurations) repeats = std::max(repeats, c.at("run.repeats").integer);
  std::vector<TrialSpec> trials;
  for (std::uint32_t repeat = 0; std::int64_t(repeat) < repeats; ++repeat) {
    std::int64_t number = 0;
    for (const Configuration& c : configurations) {
      if (std::int64_t(repeat) >= c.at("run.repeats").integer) continue;
      for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
        std::vector<TrialSpec> group = group_of(draft, c, *scenario, repeat, warm_ups);
        Random random({.seed = group.front().seed,
                       .repeat = repeat,
                       .purpose = Purpose::kOrder,
                       .rank = -1,
                       .iteration = number++});
        random.shuffle(std::span(group));
        std::move(group.begin(), group.end(), std::back_inserter(trials));
      }
    }
  }
  return trials;
}

std::vector<TrialSpec> as_written(const Draft& draft, const std::vector<Configuration>& configurations,
                                  WarmUps& warm_ups) {
  std::vector<TrialSpec> trials;
  for (const Configuration& c : configurations) {
    for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
      std::vector<std::vector<TrialSpec>> repeats;
      for (std::uint32_t r = 0; std::int64_t(r) < c.at("run.repeats").integer; ++r)
        repeats.push_back(group_of(draft, c, *scenario, r, warm_ups));
      for (std::size_t v = 0; v < repeats.front().size(); ++v)
        for (std::vector<TrialSpec>& group : repeats) trials.push_back(std::move(group[v]));
    }
  }
  return trials;
}

bool too_many(const Draft& draft, const std::vector<Configuration>& configurations, Mistakes& mistakes) {
  double trials = 0;
  for (const Configuration& c : configurations)
    trials += double(c.at("run.repeats").integer) * double(scenarios_of(draft, *c.measure).size()) *
              double(variants_of(draft, *c.measure).size());
  if (trials <= double(kMostTrials)) return false;
  mistakes.add(draft.place, fmt::format("that makes {} trials, more than {}: fewer repeats or a smaller [matrix]",
                                        trials, kMostTrials));
  return true;
}

// Refuses warm-ups above the limit of run.warmup. A protocol that may run far ahead, or a long warmup_time with short
// gradients, asks for more although the user did not.
void check_warm_ups(const Draft& draft, const std::vector<TrialSpec>& trials, Mistakes& mistakes) {
  for (const TrialSpec& trial : trials) {
    const WarmUp warm_up = warm_up_of(trial);
    if (trial.stop.kind != StopSpec::Kind::kIterations || warm_up.iterations <= kLongestWarmUp) continue;
    mistakes.add(draft.variants[std::size_t(trial.row_order)].place,
                 fmt::format("the warm-up of '{}' would be {} iterations of each rank, more than {}: {}", trial.label,
                             warm_up.iterations, kLongestWarmUp,
                             warm_up.by_time
                                 ? "shorten run.warmup_time, which so many gradients fit into"
                                 : "it is twice as many as a rank may be ahead of another: lower the knob that "
                                   "allows it, set run.warmup, or stop by samples, which has no warm-up of its own"));
  }
}

/// Refuses trials that would need more steps than a trace with end = "error" has.
void check_trace_ends(const Draft& draft, const std::vector<TrialSpec>& trials, Mistakes& mistakes) {
  for (const TrialSpec& trial : trials) {
    for (const ComputeRule& rule : trial.scenario.compute) {
      if (rule.what != SlowdownKind::kTrace || rule.replay.end != TraceEnd::kError) continue;
      const Trace& trace = *rule.replay.trace;
      if (trace.kind() != Trace::Kind::kSteps) continue;
      const bool counted = trial.stop.kind == StopSpec::Kind::kIterations;
      const std::int64_t steps = counted ? warm_up_of(trial).iterations + trial.stop.amount : 0;
      if (counted && steps <= trace.steps()) continue;
      mistakes.add(draft.place,
                   fmt::format("scenario '{}' replays {} steps with end = \"error\", but {}: record more, "
                               "or set end = \"wrap\" or \"hold\"",
                               trial.scenario_name, trace.steps(),
                               counted ? fmt::format("'{}' does {} iterations", trial.label, steps)
                                       : "the run ends after samples, which need no number of iterations"));
      return;
    }
  }
}

}  // namespace

int default_evaluations(MeasureKind what) { return what == MeasureKind::kConvergence ? 15 : 0; }

const Value& optimizer_value(const Draft& draft, const Configuration& c, const VariantDraft& variant,
                             const char* path) {
  const auto own = variant.optimizer.find(path);
  return own == variant.optimizer.end() || optimizer_key_is_forced(draft, path) ? c.at(path) : own->second;
}

bool optimizer_key_is_forced(const Draft& draft, const std::string& path) {
  return std::any_of(draft.axes.begin(), draft.axes.end(), [&](const Axis& axis) { return axis.path == path; }) ||
         std::any_of(draft.forced.begin(), draft.forced.end(),
                     [&](const Override& forced) { return forced.measure.empty() && forced.path == path; });
}

std::vector<TrialSpec> expand(const Draft& draft, Mistakes& mistakes) {
  const std::vector<Configuration> configurations = configurations_of(draft);
  if (too_many(draft, configurations, mistakes)) return {};
  Graphs graphs;
  for (const Configuration& c : configurations) check_configuration(draft, c, graphs, mistakes);
  if (!mistakes.empty()) return {};
  const std::string order = effective(draft, nullptr, {}).at("run.order").text;
  WarmUps warm_ups(draft, graphs);
  std::vector<TrialSpec> trials = order == "sequential" ? as_written(draft, configurations, warm_ups)
                                                        : interleaved(draft, configurations, warm_ups);
  if (order == "random") {
    Random random({.seed = trials.front().seed, .repeat = 0, .purpose = Purpose::kOrder, .rank = -1, .iteration = -1});
    random.shuffle(std::span(trials));
  }
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].order = int(i);
  check_warm_ups(draft, trials, mistakes);
  check_trace_ends(draft, trials, mistakes);
  return trials;
}

}  // namespace hopbench
