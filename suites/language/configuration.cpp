// A measure at a point of the matrix: settings that are impossible only in combination, and the trial that it gives.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "models/fit.h"
#include "suites/language/check_graph.h"
#include "suites/language/check_workers.h"
#include "suites/language/draft.h"
#include "suites/profile/profile.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using T = Value::Type;

// No data set is smaller than this. If a step takes fewer samples, the data need not be read.
constexpr std::int64_t kSmallestTrainingSet = 1000;

bool paced_by_time(const Configuration& c) {
  const std::string& pace = c.at("compute.pace").text;
  return pace != "auto" && pace != "off";
}

bool simulated(const Configuration& c) { return c.at("transport.name").text == "sim"; }

const ModelEntry& model_of(const Configuration& c) { return find_model(c.at("model.name").text); }

void check_stop(const Configuration& c, Mistakes& mistakes) {
  const Value* first = nullptr;
  std::string first_name;
  for (const char* path : {"run.samples", "run.epochs", "run.iterations", "run.seconds"}) {
    const Value* value = c.find(path);
    if (value == nullptr) continue;
    if (first != nullptr)
      mistakes.add(value->place,
                   fmt::format("'{}' and '{}' are two stop rules: give one", first_name, last_part(path)));
    first = value;
    first_name = last_part(path);
  }
  if (const Value* seconds = c.find("run.seconds"))
    mistakes.add(seconds->place, "stopping by 'seconds' is not in this version: use samples, epochs or iterations");
}

/// Returns the profile that the suite names, if it can be read.
std::optional<Profile> profile_of(const Configuration& c) {
  try {
    return c.has("model.profile") ? std::optional(read_profile(c.at("model.profile").text)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void check_pace(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  if (draft.bad.count("compute.pace") + draft.bad.count("compute.cost") > 0) return;
  const Value& pace = c.at("compute.pace");
  const Value* cost = c.find("compute.cost");
  if (cost != nullptr && paced_by_time(c))
    mistakes.add(cost->place, "a 'pace' that is a time and 'cost' say the same: give one");
  if (!simulated(c) || cost != nullptr || paced_by_time(c)) return;
  if (c.has("model.profile") && (!profile_of(c) || profile_of(c)->gradient)) return;
  const std::vector<const ScenarioDraft*> scenarios = scenarios_of(draft, *c.measure);
  const bool recorded = std::all_of(scenarios.begin(), scenarios.end(),
                                    [](const ScenarioDraft* scenario) { return replays_seconds(*scenario); });
  if (recorded && !scenarios.empty()) return;
  const SourceLocation& place = pace.place.line > 0         ? pace.place
                                : c.measure->place.line > 0 ? c.measure->place
                                                            : draft.place;
  mistakes.add(
      place, fmt::format(
                 "measure '{}' runs in virtual time (sim), where pace = \"{}\" is refused since its "
                 "results must repeat: give a time, such as pace = \"40ms\", or cost = \"40ms\" for virtual time alone",
                 c.name, pace.text));
}

void check_profile(const Configuration& c, Mistakes& mistakes) {
  const Value &file = c.at("model.profile"), &size = c.at("model.size");
  if (c.at("model.name").text != "timing_only")
    return mistakes.add(file.place, fmt::format("'profile' means nothing to model '{}': only timing_only has one",
                                                c.at("model.name").text));
  if (size.integer != 0) mistakes.add(size.place, "'size' and 'profile' are two sizes: give one");
  try {
    const Profile profile = read_profile(file.text);
    const Value* cost = c.find("compute.cost");
    if (profile.gradient && (cost != nullptr || paced_by_time(c)))
      mistakes.add(file.place, "the profile has times, which replace 'pace' and 'cost': leave these out");
  } catch (const Error& error) {
    mistakes.add(file.place, error.what());
  }
  if (!simulated(c)) mistakes.add(file.place, "a profile has no numbers to send: measure it in virtual time (sim)");
  if (c.measure->what == MeasureKind::kConvergence)
    mistakes.add(file.place, "a profile computes nothing, so it has no convergence");
}

void check_wire_bytes(const Configuration& c, Mistakes& mistakes) {
  const Value& bytes = c.at("model.wire_bytes");
  if (bytes.integer == 0) return;
  const std::string& name = c.at("model.name").text;
  if (model_of(c).sparse_rows)
    mistakes.add(bytes.place,
                 fmt::format("'wire_bytes' means nothing to model '{}', whose gradients are sparse", name));
  if (!simulated(c))
    mistakes.add(
        bytes.place,
        fmt::format("measure '{}' sends the model's own bytes: 'wire_bytes' needs virtual time (sim)", c.name));
}

void check_model(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  const std::string name = c.at("model.name").text;
  const Value& size = c.at("model.size");
  if (draft.bad.count("model.name") + draft.bad.count("model.size") > 0) return;
  const SourceLocation& name_place =
      c.at("model.name").place.file == "(default)" ? draft.place : c.at("model.name").place;
  if (c.has("model.profile")) return check_profile(c, mistakes);
  if (name == "timing_only" && size.integer == 0 && c.at("model.wire_bytes").integer == 0)
    mistakes.add(name_place,
                 "model 'timing_only' needs a size: set model.size to its number of parameters, or model.wire_bytes");
  if (name != "timing_only" && name != "quadratic" && size.integer != 0)
    mistakes.add(size.place,
                 fmt::format("'size' means nothing to model '{}': only timing_only and quadratic have it", name));
  if (name == "quadratic" && size.integer > kLargestQuadratic)
    mistakes.add(size.place, fmt::format("'size' of model 'quadratic' is at most {}: for larger vectors use model "
                                         "'timing_only'",
                                         kLargestQuadratic));
  if (model_of(c).create == nullptr && !simulated(c))
    mistakes.add(name_place, fmt::format("model '{}' has no numbers to send: measure it in virtual time (sim)", name));
  if (model_of(c).create == nullptr && c.measure->what == MeasureKind::kConvergence)
    mistakes.add(c.measure->place, fmt::format("model '{}' computes nothing, so it has no convergence", name));
  if (const Value& augment = c.at("model.augment"); model_of(c).create == nullptr && augment.text != "none")
    mistakes.add(augment.place, fmt::format("'augment' means nothing to model '{}': it reads no data", name));
  if (model_of(c).create == nullptr && c.has("run.epochs"))
    mistakes.add(c.at("run.epochs").place, fmt::format("model '{}' reads no data, so it has no epochs", name));
}

/// Returns inputs_of() the data set. Reads the data at most once for each.
std::optional<Inputs> known_inputs(const Configuration& c, const WorkloadSpec& spec) {
  static std::map<std::tuple<std::string, std::string, std::size_t>, std::optional<Inputs>> known;
  const auto key = std::tuple(spec.dataset, c.at("model.dataset.path").text, spec.size);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = inputs_of(spec.dataset, {.path = std::get<1>(key), .size = spec.size});
}

void check_feature(const Configuration& c, std::size_t features, Mistakes& mistakes) {
  const Value& feature = c.at("model.split.feature");
  if (feature.integer < std::int64_t(features)) return;
  mistakes.add(feature.place, fmt::format("'feature' is {}, but a sample of data set '{}' has the features 0 to {}",
                                          feature.integer, dataset_of(c), features - 1));
}

void check_fit(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  for (const char* path : {"name", "size", "dataset.name", "dataset.path", "statistics"})
    if (draft.bad.count(std::string("model.") + path) > 0) return;
  const Value& name = c.at("model.name");
  const Value& statistics = c.at("model.statistics");
  const bool precise = statistics.text == "precise";
  std::string without = precise && model_of(c).create == nullptr ? "it computes nothing" : "";
  if (model_of(c).create != nullptr) {
    WorkloadSpec spec{.model = name.text, .dataset = dataset_of(c), .size = std::size_t(c.at("model.size").integer)};
    spec.statistics = precise ? Statistics::kPrecise : Statistics::kRunning;
    const std::optional<Inputs> inputs = known_inputs(c, spec);
    if (!inputs) return;
    if (const std::string why = why_unfit(spec, *inputs); !why.empty()) {
      const Value* dataset = c.find("model.dataset.name");
      const Value& said = dataset != nullptr ? *dataset : name;
      mistakes.add(said.place.file == "(default)" ? draft.place : said.place, why);
      return;
    }
    if (c.at("model.split.kind").text == "by_feature" && draft.bad.count("model.split.feature") == 0)
      check_feature(c, inputs->shape.size(), mistakes);
    if (precise && sketch(spec, *inputs)->estimated_from() == 0) without = "it has no batch norms";
  }
  if (!without.empty())
    mistakes.add(statistics.place,
                 fmt::format("statistics = \"precise\" means nothing to model '{}': {}", name.text, without));
}

void check_batch(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  if (model_of(c).create == nullptr || draft.bad.count("model.dataset.name") + draft.bad.count("model.name") > 0)
    return;
  const Value& batch = c.at("model.batch");
  if (batch.integer * c.workers() <= kSmallestTrainingSet && !c.has("run.epochs")) return;
  try {
    const std::int64_t part = std::int64_t(training_set_size(c)) / c.workers();
    if (batch.integer <= part) return;
    const SourceLocation& place = batch.place.file == "(default)" ? c.at("run.world_size").place : batch.place;
    mistakes.add(place, fmt::format("'batch' is {}, more than a worker's part of the data ({} samples with {} workers)",
                                    batch.integer, part, c.workers()));
  } catch (const Error& error) {
    // If the data is not here, the suite may still be right. A run will say what is missing.
    if (!c.has("run.epochs")) return;
    if (error.code() == ExitCode::kEnvironment) throw;  // not fetched, which is not a mistake of the suite
    mistakes.add(c.at("run.epochs").place, fmt::format("'epochs' needs the data: {}", error.what()));
  }
}

/// Returns the model's size if the suite sets it; else 0: other models have more parameters than there can be servers.
std::int64_t parameters_of(const Configuration& c) {
  const std::string& name = c.at("model.name").text;
  const std::int64_t size = c.at("model.size").integer;
  if (const std::optional<Profile> profile = profile_of(c)) return std::int64_t(profile->parameters);
  if (const std::int64_t bytes = c.at("model.wire_bytes").integer; name == "timing_only" && bytes > 0)
    return std::int64_t(ddp_profile(std::uint64_t(bytes)).parameters);
  if (name == "timing_only") return size;
  return name == "quadratic" ? (size > 0 ? size : 64) : 0;
}

void check_schedule(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  const Value& cosine = optimizer_value(draft, c, variant, "optimizer.cosine");
  const Value& warmup = optimizer_value(draft, c, variant, "optimizer.lr_warmup");
  if (cosine.integer == 0 || cosine.integer > warmup.integer) return;
  mistakes.add(cosine.place.line > 0 ? cosine.place : variant.place,
               fmt::format("'cosine' is {}, but lr falls from 'lr_warmup' = {} on: take a later iteration",
                           cosine.integer, warmup.integer));
}

/// Returns why AdamW cannot train this; empty if it can.
std::string why_not_adamw(const Configuration& c, const Protocol& protocol) {
  if (model_of(c).sparse_rows) return fmt::format("the gradients of model '{}' are sparse", c.at("model.name").text);
  if (protocol.keeps_own_momentum)
    return fmt::format("'{}' puts its own momentum in the place of SGD's", protocol.name);
  return "";
}

/// Refuses values that mean nothing to the variant's optimizer. Those of [optimizer] are for all variants, so they are
/// no mistake where a variant has an optimizer of its own.
void check_optimizer(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  const auto at = [&](const char* path) -> const Value& { return optimizer_value(draft, c, variant, path); };
  const auto is_own = [&](const char* path) { return &at(path) != &c.at(path); };
  const Value& name = at("optimizer.name");
  const auto refuse = [&](const Value& value, const std::string& why) {
    mistakes.add(value.place.file == "(default)" ? variant.place : value.place, why);
  };
  // A resolved suite has every key, so a value is unused if it is the default.
  const auto unused = [&](const char* path, double nothing, const char* advice) {
    const Value& value = at(path);
    if (!is_own(path) && is_own("optimizer.name")) return;
    const double set = value.is(Value::Type::kBool) ? value.flag : value.as_real();
    if (set != nothing) refuse(value, fmt::format("'{}' means nothing to optimizer '{}': {}", path, name.text, advice));
  };
  if (name.text == "adamw") {
    unused("optimizer.momentum", 0, "it has beta1. Leave it out, or set it to 0");
    unused("optimizer.nesterov", 0, "leave it out, or set it to false");
    const std::string why = why_not_adamw(c, *variant.protocol);
    if (!why.empty()) refuse(name, fmt::format("optimizer 'adamw' cannot be used here: {}. Take sgd", why));
  } else {
    unused("optimizer.beta1", 0.9, "only adamw has it. Leave it out, or set name = \"adamw\"");
    unused("optimizer.beta2", 0.999, "only adamw has it. Leave it out, or set name = \"adamw\"");
    unused("optimizer.epsilon", 1e-8, "only adamw has it. Leave it out, or set name = \"adamw\"");
  }
}

void check_loss(const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  const Value& loss = c.at("network.loss");
  if (loss.as_real() > 0 && !variant.protocol->loses_messages)
    mistakes.add(loss.place, fmt::format("'loss' means nothing to '{}', which needs every message (as over TCP): "
                                         "measure it without",
                                         variant.label));
}

void check_variants(const Draft& draft, const Configuration& c, Graphs& graphs, Mistakes& mistakes) {
  std::vector<std::string> known;
  for (const VariantDraft& variant : draft.variants) known.push_back(variant.written_label);
  for (const Value& name : c.measure->protocols) {
    if (std::find(known.begin(), known.end(), name.text) == known.end())
      mistakes.add(name.place, unknown("label", name.text, known));
  }
  const std::vector<const VariantDraft*> variants = variants_of(draft, *c.measure);
  const bool asked = std::any_of(variants.begin(), variants.end(), [](const auto* one) { return uses_topology(*one); });
  const Topology* graph = graphs.of(draft, c, asked, mistakes);
  if (asked && graph == nullptr) return;
  int hosts = 0;
  bool all_possible = true;
  for (const VariantDraft* variant : variants) {
    all_possible = all_possible && variant->protocol != nullptr;
    if (variant->protocol == nullptr) continue;
    check_schedule(draft, c, *variant, mistakes);
    check_optimizer(draft, c, *variant, mistakes);
    check_loss(c, *variant, mistakes);
    if (!check_without(draft, c, *variant, mistakes)) {
      all_possible = false;
      continue;
    }
    const TrainingSetting rest(c, *variant, graph);
    const Setting setting = rest.of(parameters_of(c));
    const std::string torn = rest.why_torn();
    const std::string why = torn.empty() ? why_impossible(*variant->protocol, setting) : torn;
    if (!why.empty())
      mistakes.add(variant->place, fmt::format("'{}' is impossible{}: {}", variant->label, rest.of_whom(), why));
    all_possible = all_possible && why.empty();
    if (why.empty())
      hosts = std::max(hosts, host_count(*variant->protocol, setting, c.at("network.servers_apart").flag));
  }
  if (!all_possible) return;  // the number of servers of the impossible one is unknown
  for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
    if (hosts > 0) check_cuts(*scenario, hosts, mistakes);
  }
}

void check_instant(const Configuration& c, Mistakes& mistakes) {
  const Value& instant = c.at("network.instant");
  if (!instant.flag || simulated(c) || !c.at("network.emulate").flag) return;
  mistakes.add(instant.place, "'instant' and 'emulate' exclude each other: real processes' messages take their time");
}

void check_queue(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  const Value &queue = c.at("network.queue"), &burst = c.at("network.burst"), &jitter = c.at("network.jitter");
  if (queue.text != "fifo") {
    const bool varies = std::any_of(draft.axes.begin(), draft.axes.end(),
                                    [](const Axis& axis) { return axis.path == "network.queue"; });
    if (burst.as_real() > 0 && !varies) mistakes.add(burst.place, "'burst' means nothing without queue = \"fifo\"");
    return;
  }
  if (jitter.as_real() > 0) mistakes.add(jitter.place, "'jitter' is of queue = \"fair\": leave one of them out");
  if (!simulated(c) && c.at("network.emulate").flag)
    mistakes.add(queue.place, "queue = \"fifo\" is of virtual time: emulated links share fairly");
}

void check_scenarios(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  std::vector<std::string> known;
  for (const ScenarioDraft& scenario : draft.scenarios) known.push_back(scenario.name);
  for (const Value& name : c.measure->scenarios) {
    if (std::find(known.begin(), known.end(), name.text) == known.end())
      mistakes.add(name.place, unknown("scenario", name.text, known));
  }
  const auto chosen = scenarios_of(draft, *c.measure);
  for (const ScenarioDraft* scenario : chosen) {
    check_rules_with(*scenario, c.workers(), mistakes);
    check_faults_with(*scenario, c.workers(), mistakes);
    check_obeyed(*scenario, c, mistakes);
    check_links_with(*scenario, c, mistakes);
  }
  // If the chosen names are wrong, any scenario may have been meant.
  if (!chosen.empty()) return;
  for (const ScenarioDraft& scenario : draft.scenarios) {
    check_rules_with(scenario, c.workers(), mistakes);
    check_faults_with(scenario, c.workers(), mistakes);
  }
}

}  // namespace

const Value* Configuration::find(const std::string& path) const {
  const auto found = values.find(path);
  return found == values.end() ? nullptr : &found->second;
}

const Value& Configuration::at(const std::string& path) const {
  const Value* value = find(path);
  HB_ASSERT_MSG(value != nullptr, path);
  return *value;
}

std::vector<int> Configuration::host_of() const {
  const Value* hosts = find("network.hosts");
  const bool listed = hosts != nullptr && hosts->is(T::kArray);
  if (hosts == nullptr || (listed && int(hosts->items.size()) != workers())) return {};
  std::vector<int> all;
  for (int rank = 0; rank < workers(); ++rank) {
    all.push_back(
        int(listed ? hosts->items[std::size_t(rank)].integer : std::int64_t{rank} * hosts->integer / workers()));
  }
  return all;
}

int Configuration::hosts() const {
  const std::vector<int> all = host_of();
  return all.empty() ? workers() : *std::max_element(all.begin(), all.end()) + 1;
}

std::vector<int> Configuration::rack_of() const {
  const Value* racks = find("network.racks");
  if (racks == nullptr) return {};
  std::vector<int> all;
  if (racks->is(T::kArray)) {
    for (const Value& rack : racks->items) all.push_back(int(rack.integer));
    return all;
  }
  for (int host = 0; host < hosts(); ++host) all.push_back(int(std::int64_t{host} * racks->integer / hosts()));
  return all;
}

std::string dataset_of(const Configuration& c) {
  const ModelEntry& model = model_of(c);
  if (model.create == nullptr) return "";  // it reads no data
  return c.has("model.dataset.name") ? c.at("model.dataset.name").text : model.default_dataset;
}

// Reads each data set once. Suites that need its size are rare.
std::size_t training_set_size(const Configuration& c) {
  static std::map<std::tuple<std::string, std::string, std::int64_t>, std::size_t> known;
  const auto key = std::tuple(dataset_of(c), c.at("model.dataset.path").text, c.at("model.size").integer);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const DatasetPair data = find_dataset(std::get<0>(key))
                               .load({.path = std::get<1>(key),
                                      .size = std::size_t(std::get<2>(key)),
                                      .seed = std::uint64_t(c.at("run.seed").integer)});
  return known[key] = data.train->size();
}

std::vector<const ScenarioDraft*> scenarios_of(const Draft& draft, const MeasureDraft& measure) {
  std::vector<const ScenarioDraft*> chosen;
  for (const ScenarioDraft& scenario : draft.scenarios) {
    const bool named = std::any_of(measure.scenarios.begin(), measure.scenarios.end(),
                                   [&](const Value& name) { return name.text == scenario.name; });
    if (measure.scenarios.empty() || named) chosen.push_back(&scenario);
  }
  return chosen;
}

std::vector<const VariantDraft*> variants_of(const Draft& draft, const MeasureDraft& measure) {
  std::vector<const VariantDraft*> chosen;
  for (const VariantDraft& variant : draft.variants) {
    const bool named = std::any_of(measure.protocols.begin(), measure.protocols.end(),
                                   [&](const Value& name) { return name.text == variant.written_label; });
    if (measure.protocols.empty() || named) chosen.push_back(&variant);
  }
  return chosen;
}

Scenario scenario_of(const ScenarioDraft& draft, int workers, int drawn_rank) {
  Scenario scenario;
  scenario.name = draft.name;
  for (const Value& rule : draft.rules) {
    scenario.compute.push_back(rule_of(rule, workers, drawn_rank));
    if (const Entry* file = rule.find("file")) scenario.traces.push_back(file->value.text);
  }
  for (const Value& link : draft.links) {
    scenario.links.push_back(changing_link_of(link));
    if (const Entry* file = link.find("file")) scenario.traces.push_back(file->value.text);
  }
  return scenario;
}

void check_configuration(const Draft& draft, const Configuration& c, Graphs& graphs, Mistakes& mistakes) {
  check_stop(c, mistakes);
  check_pace(draft, c, mistakes);
  check_model(draft, c, mistakes);
  check_wire_bytes(c, mistakes);
  check_fit(draft, c, mistakes);
  if (!c.has("run.world_size")) {
    if (draft.bad.count("run.world_size") == 0)
      mistakes.add(draft.place, "'world_size' is missing: write how many workers there are into [run]");
    return;
  }
  check_batch(draft, c, mistakes);
  check_hosts(c, mistakes);
  check_others(c, mistakes);
  check_instant(c, mistakes);
  check_queue(draft, c, mistakes);
  check_scenarios(draft, c, mistakes);
  check_variants(draft, c, graphs, mistakes);
}

}  // namespace hopbench
