// From a Draft to trials: measures x points of the matrix x scenarios x variants x repeats, in the order they run.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "backends/base/random.h"
#include "suites/check_graph.h"
#include "suites/draft.h"
#include "suites/plan.h"

namespace hopbench {
namespace {

// A run is limited by patience, not by this; it stops a slip in [matrix] from eating the memory.
constexpr std::size_t kMostTrials = 20000;

Duration duration_at(const Configuration& c, const char* path) { return Duration(duration_of(c.at(path))); }

StopSpec stop_of(const Configuration& c) {
  using Kind = StopSpec::Kind;
  if (const Value* samples = c.find("run.samples")) return {Kind::kSamples, samples->integer};
  if (const Value* epochs = c.find("run.epochs"))
    return {Kind::kSamples, std::int64_t(std::ceil(epochs->as_real() * double(training_set_size(c))))};
  return {Kind::kIterations, c.at("run.iterations").integer};
}

NetworkSpec network_of(const Configuration& c) {
  NetworkSpec network;
  network.latency = duration_at(c, "network.latency");
  network.bandwidth = rate_of(c.at("network.bandwidth"));
  network.overhead = duration_at(c, "network.overhead");
  network.overhead_rate = rate_of(c.at("network.overhead_rate"));
  network.processors = int(c.at("network.processors").integer);
  network.jitter = c.at("network.jitter").as_real();
  network.packet_bytes = c.at("network.packet_bytes").integer;
  network.local_latency = duration_at(c, "network.local_latency");
  network.local_bandwidth = rate_of(c.at("network.local_bandwidth"));
  network.host_of = c.host_of();
  for (const Value& item : c.at("network.links").items) network.links.push_back(link_of(item));
  return network;
}

WorkloadSpec workload_of(const Configuration& c) {
  WorkloadSpec workload;
  workload.model = c.at("model.name").text;
  workload.dataset = dataset_of(c);
  workload.dataset_path = c.at("model.dataset.path").text;
  workload.batch = int(c.at("model.batch").integer);
  using Split = SplitSpec::What;
  static const std::map<std::string, Split> kSplits = {{"iid", Split::kIid},
                                                       {"dirichlet", Split::kDirichlet},
                                                       {"shards", Split::kShards},
                                                       {"by_feature", Split::kByFeature}};
  workload.split.what = kSplits.at(c.at("model.split.kind").text);
  workload.split.alpha = c.at("model.split.alpha").as_real();
  workload.split.shards_per_worker = int(c.at("model.split.shards_per_worker").integer);
  workload.split.feature = int(c.at("model.split.feature").integer);
  workload.augment = c.at("model.augment").text == "none" ? Augment::kNone : Augment::kPadCropFlip;
  workload.backend = c.at("compute.backend").text;
  for (const Value& other : c.at("compute.others").items) {
    OtherBackend& added = workload.others.emplace_back();
    added.backend = other.find("backend")->value.text;
    for (const Value& rank : other.find("ranks")->value.items) added.ranks.push_back(int(rank.integer));
  }
  workload.precision = c.at("compute.precision").text;
  workload.deterministic = c.at("compute.deterministic").flag;
  workload.lend = c.at("compute.ipc").flag;
  workload.threads = int(c.at("compute.threads").integer);
  workload.workers = c.workers();
  workload.seed = std::uint64_t(c.at("run.seed").integer);
  workload.size = std::size_t(c.at("model.size").integer);
  workload.statistics = c.at("model.statistics").text == "precise" ? Statistics::kPrecise : Statistics::kRunning;
  workload.evaluation_samples = int(std::min<std::int64_t>(c.at("run.evaluation_samples").integer, 1 << 30));
  return workload;
}

void take_compute(TrialSpec& trial, const Configuration& c) {
  const std::string& pace = c.at("compute.pace").text;
  trial.pace = pace != "off";
  const Value* cost = c.find("compute.cost");
  if (cost != nullptr && (trial.transport == "sim" || pace == "off")) {
    trial.costs.gradient = Duration(duration_of(*cost));
  } else if (pace != "auto" &&
             pace != "off") {  // "auto" in real processes is calibrated, whatever it costs in virtual time
    trial.costs.gradient = Duration(duration_of(c.at("compute.pace")));
  }
  const Value& vector_rate = c.at("compute.vector_rate");
  trial.costs.vector_bytes_per_s = rate_of(vector_rate);
  // A name of a device is the user's choice, even if it means the default rate.
  trial.default_vector_rate =
      vector_rate.number() && trial.costs.vector_bytes_per_s == rate_of(default_layer().at("compute.vector_rate"));
  trial.costs.saturation = int(c.at("compute.saturation").integer);
  trial.instant_network = c.at("network.instant").flag && trial.transport == "sim";
  if (trial.instant_network) trial.costs.vector_bytes_per_s = 0;
}

// A trial of the configuration but for its variant, scenario and repeat.
TrialSpec base_trial(const Draft& draft, const Configuration& c) {
  TrialSpec trial;
  trial.suite = draft.name;
  trial.measure = c.name;
  trial.what = c.measure->what;
  trial.workload = workload_of(c);
  trial.topology = c.at("topology.name").text;
  if (const Value* edges = c.find("topology.edges"))
    for (const Value& edge : edges->items)
      trial.edges.emplace_back(int(edge.items[0].integer), int(edge.items[1].integer));
  trial.transport = c.at("transport.name").text;
  trial.interface = c.at("transport.interface").text;
  trial.network = network_of(c);
  trial.emulate = c.at("network.emulate").flag && trial.transport != "sim";
  trial.stop = stop_of(c);
  take_compute(trial, c);
  trial.seed = trial.workload.seed;
  trial.warmup_time = duration_at(c, "run.warmup_time");
  const Value& evaluations = c.at("run.evaluations");
  trial.evaluations =
      evaluations.is(Value::Type::kInteger) ? int(evaluations.integer) : default_evaluations(c.measure->what);
  trial.target_loss = c.at("run.target.loss").as_real();
  trial.target_hold = int(c.at("run.target.hold").integer);
  trial.rendezvous_timeout = duration_at(c, "run.rendezvous_timeout");
  trial.stall_timeout = duration_at(c, "run.stall_timeout");
  trial.trial_timeout = duration_at(c, "run.trial_timeout");
  trial.remeasure = int(c.at("run.remeasure").integer);
  return trial;
}

OptimizerSpec optimizer_of(const Draft& draft, const Configuration& c, const VariantDraft& variant) {
  const auto at = [&](const char* path) -> const Value& { return optimizer_value(draft, c, variant, path); };
  OptimizerSpec optimizer;
  optimizer.lr = float(at("optimizer.lr").as_real());
  optimizer.momentum = float(at("optimizer.momentum").as_real());
  optimizer.weight_decay = float(at("optimizer.weight_decay").as_real());
  optimizer.nesterov = at("optimizer.nesterov").flag;
  optimizer.warmup = at("optimizer.lr_warmup").integer;
  optimizer.cosine = at("optimizer.cosine").integer;
  optimizer.lr_batch = int(at("optimizer.lr_batch").integer);
  optimizer.clip = float(at("optimizer.clip").as_real());
  optimizer.per_sample = at("optimizer.step").text == "per_sample";
  for (const Value& step : at("optimizer.steps").items)
    optimizer.steps.emplace_back(step.find("iteration")->value.as_real(), float(step.find("factor")->value.as_real()));
  return optimizer;
}

Iter warmup_of(const Configuration& c, const VariantDraft& variant) {
  Iter warmup = 10;
  if (variant.protocol->free_run != nullptr)
    warmup = std::max<Iter>(warmup, 2 * variant.protocol->free_run(variant.knobs));
  const Value& given = c.at("run.warmup");
  return given.is(Value::Type::kInteger) ? std::max<Iter>(warmup, given.integer) : warmup;
}

std::vector<Configuration> configurations_of(const Draft& draft) {
  std::vector<Configuration> all;
  for (const MeasureDraft& measure : draft.measures) {
    for (const Point& point : points_of(draft))
      all.push_back({&measure, measure.name + point.suffix, effective(draft, &measure, point.values)});
  }
  return all;
}

// All variants of a configuration in one scenario, once each.
std::vector<TrialSpec> group_of(const Draft& draft, const Configuration& c, const ScenarioDraft& scenario,
                                std::uint32_t repeat) {
  TrialSpec base = base_trial(draft, c);
  base.scenario = scenario_of(scenario, c.workers());
  base.scenario_name = scenario.name;
  base.repeat = base.workload.repeat = repeat;
  std::vector<TrialSpec> group;
  for (const VariantDraft* variant : variants_of(draft, *c.measure)) {
    TrialSpec trial = base;
    trial.protocol = variant->protocol->name;
    trial.label = variant->label;
    trial.place = int(variant - draft.variants.data());
    trial.knobs = variant->knobs;
    trial.optimizer = optimizer_of(draft, c, *variant);
    trial.warmup = warmup_of(c, *variant);
    group.push_back(std::move(trial));
  }
  return group;
}

std::vector<TrialSpec> interleaved(const Draft& draft, const std::vector<Configuration>& configurations) {
  std::int64_t repeats = 0;
  for (const Configuration& c : configurations) repeats = std::max(repeats, c.at("run.repeats").integer);
  std::vector<TrialSpec> trials;
  for (std::uint32_t repeat = 0; std::int64_t(repeat) < repeats; ++repeat) {
    std::int64_t number = 0;
    for (const Configuration& c : configurations) {
      if (std::int64_t(repeat) >= c.at("run.repeats").integer) continue;
      for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
        std::vector<TrialSpec> group = group_of(draft, c, *scenario, repeat);
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

std::vector<TrialSpec> as_written(const Draft& draft, const std::vector<Configuration>& configurations) {
  std::vector<TrialSpec> trials;
  for (const Configuration& c : configurations) {
    for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
      std::vector<std::vector<TrialSpec>> repeats;
      for (std::uint32_t r = 0; std::int64_t(r) < c.at("run.repeats").integer; ++r)
        repeats.push_back(group_of(draft, c, *scenario, r));
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
    mistakes.add(
        draft.variants[std::size_t(trial.place)].place,
        fmt::format("the warm-up of '{}' would be {} iterations of each rank, more than {}: {}", trial.label,
                    warm_up.iterations, kLongestWarmUp,
                    warm_up.by_time ? "shorten run.warmup_time, which so many gradients fit into"
                                    : "it is twice as many as a rank may run ahead: lower the knob that allows it, or "
                                      "stop by samples, which has no warm-up of its own"));
  }
}

}  // namespace

NetworkSpec::Link link_of(const Value& table) {
  NetworkSpec::Link link;
  link.a = int(table.find("a")->value.integer);
  if (const Entry* b = table.find("b")) link.b = int(b->value.integer);
  if (const Entry* bandwidth = table.find("bandwidth")) link.bandwidth = rate_of(bandwidth->value);
  if (const Entry* latency = table.find("latency")) link.latency = Duration(duration_of(latency->value));
  if (const Entry* one_way = table.find("one_way")) link.one_way = one_way->value.flag;
  if (const Entry* from = table.find("from")) link.from = Time(Duration(duration_of(from->value)));
  if (const Entry* until = table.find("until")) link.until = Time(Duration(duration_of(until->value)));
  return link;
}

int default_evaluations(What what) { return what == What::kConvergence ? 15 : 0; }

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
  std::vector<TrialSpec> trials =
      order == "sequential" ? as_written(draft, configurations) : interleaved(draft, configurations);
  if (order == "random") {
    Random random({.seed = trials.front().seed, .repeat = 0, .purpose = Purpose::kOrder, .rank = -1, .iteration = -1});
    random.shuffle(std::span(trials));
  }
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].order = int(i);
  check_warm_ups(draft, trials, mistakes);
  return trials;
}

}  // namespace hopbench
