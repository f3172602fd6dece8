#include "suites/campaign/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/base/text.h"
#include "suites/trial/bounds.h"

namespace hopbench {
namespace {

std::string rate_text(double bytes_per_s) {
  if (bytes_per_s <= 0) return "unlimited";
  return bytes_per_s >= 125e6 ? fmt::format("{:.3g}Gbit/s", bytes_per_s / 125e6)
                              : fmt::format("{:.3g}Mbit/s", bytes_per_s / 125e3);
}

std::string links_text(const TrialSpec& spec) {
  if (spec.transport != "sim" && !spec.emulate) return "";
  if (spec.instant_network) return "instant";
  return duration_text(spec.network.latency.count()) + ", " + rate_text(spec.network.bandwidth);
}

std::string network_text(const TrialSpec& spec) {
  std::string links = links_text(spec);
  if (spec.loss == 0) return links;
  return fmt::format("{}{}{:.3g} % of messages lost", links, links.empty() ? "" : ", ", 100 * spec.loss);
}

std::string optimizer_text(const OptimizerSpec& o) {
  const bool adamw = o.kind == OptimizerKind::kAdamW;
  std::string text = fmt::format("{}, lr {}", adamw ? "adamw" : "sgd", o.lr);
  if (adamw) text += fmt::format(", betas {} and {}", o.beta1, o.beta2);
  if (adamw && o.epsilon != OptimizerSpec{}.epsilon) text += fmt::format(", epsilon {}", o.epsilon);
  if (o.lr_batch > 0) text += fmt::format(" at {} samples a step", o.lr_batch);
  if (o.momentum > 0 && !adamw) text += fmt::format(", {}momentum {}", o.nesterov ? "Nesterov " : "", o.momentum);
  if (o.weight_decay > 0) text += fmt::format(", weight decay {}", o.weight_decay);
  if (o.warmup > 0) text += fmt::format(", warm-up {}", o.warmup);
  if (!o.steps.empty()) text += fmt::format(", {} steps", o.steps.size());
  if (o.cosine > 0) text += fmt::format(", cosine to {}", o.cosine);
  if (o.clip > 0) text += fmt::format(", clip {}", o.clip);
  return text + (o.per_sample ? " (step per sample)" : " (step as written)");
}

/// Returns all knobs as "backup=1, staleness=4"; "none" if there are none.
std::string knobs_text(const KnobValues& knobs) {
  std::vector<std::string> values;
  for (const auto& [name, value] : knobs.all()) values.push_back(name + "=" + to_string(value));
  return values.empty() ? "none" : join(values, ", ");
}

// Returns a hash that is the same for trials of one suite that differ only in faults.
std::string hash_without_faults(TrialSpec spec) {
  spec.scenario.faults.clear();
  spec.scenario.name = spec.scenario_name = "";
  return spec.hash();
}

}  // namespace

std::string split_text(const SplitSpec& split) {
  switch (split.what) {
    case SplitKind::kIid:
      return "iid";
    case SplitKind::kDirichlet:
      return fmt::format("dirichlet({})", split.alpha);
    case SplitKind::kShards:
      return fmt::format("{} shards a worker", split.shards_per_worker);
    case SplitKind::kByFeature:
      return split.feature < 0 ? "by the sum of features" : fmt::format("by feature {}", split.feature);
  }
  return "";
}

TrialLabels labels_of(const TrialSpec& spec) {
  const Protocol& protocol = find_protocol(spec.protocol);
  const Plan plan = make_plan(spec);
  TrialLabels labels;
  labels.suite = spec.suite;
  labels.measure = spec.measure;
  labels.what = spec.what == MeasureKind::kRate ? "rate" : "convergence";
  labels.scenario = spec.scenario_name;
  labels.protocol = spec.protocol;
  labels.variant = spec.label;
  labels.knobs = knobs_text(spec.knobs);
  labels.backend = spec.workload.backend;
  for (const OtherBackend& other : spec.workload.others)
    labels.backend += fmt::format(", {} of {} on {}", other.ranks.size(), spec.workers(), other.backend);
  if (spec.workload.precision != "fp32") labels.backend += " " + spec.workload.precision;
  if (!spec.workload.deterministic) labels.backend += " nondeterministic";
  labels.transport = spec.emulate ? spec.transport + "+emulated" : spec.transport;
  labels.clock = spec.transport == "sim" ? "virtual" : "real";
  labels.model = spec.workload.model;
  labels.learns = find_model(spec.workload.model).create != nullptr;
  if (spec.workload.statistics == Statistics::kPrecise) labels.model += " (precise statistics)";
  labels.dataset = spec.workload.dataset;
  if (spec.workload.augment == Augment::kPadCropFlip) labels.dataset += ", pad_crop_flip";
  labels.topology = spec.topology;
  labels.split = split_text(spec.workload.split);
  labels.optimizer = optimizer_text(spec.optimizer);
  labels.network = network_text(spec);
  labels.world = plan.ranks();
  labels.hosts = static_cast<int>(std::set<int>(plan.host_of.begin(), plan.host_of.end()).size());
  labels.batch = spec.workload.batch;
  labels.row_order = spec.row_order;
  labels.cost_s = spec.pace || spec.transport == "sim" ? double(spec.costs.gradient.count()) / 1e9 : 0;
  labels.seed = spec.seed;
  labels.repeat = spec.repeat;
  labels.order = spec.order;
  labels.target_loss = spec.target_loss;
  labels.target_hold = spec.target_hold;
  labels.target_model = spec.target_model;
  labels.experimental = is_experimental(protocol, spec.knobs);
  labels.source = to_string(protocol.source);
  labels.reading = protocol.reading;
  labels.faults = !spec.scenario.faults.empty();
  labels.unharmed = hash_without_faults(spec);
  return labels;
}

double estimated_seconds(const TrialSpec& spec, const Plan& plan) {
  if (spec.transport == "sim" || spec.costs.gradient.count() == 0) return 0;
  const double slowest = slowest_rate(spec, plan) * plan.workers;
  const double samples = plan.iterations > 0 ? double(plan.iterations) * spec.workload.batch * plan.workers
                                             : double(plan.credits) * spec.workload.batch;
  return slowest > 0 ? samples / slowest : 0;
}

}  // namespace hopbench
