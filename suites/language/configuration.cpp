// A measure at a point of the matrix: settings that are impossible only in combination, and the trial that it gives.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "models/fit.h"
#include "suites/language/check_graph.h"
#include "suites/language/draft.h"
#include "suites/language/only_with.h"
#include "suites/language/profile.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using T = Value::Type;

// No data set is smaller than this. If a step takes fewer samples, the data need not be read.
constexpr std::int64_t kSmallestTrainingSet = 1000;

bool paced_by_time(const Configuration& c) { return is_time(c.at("compute.pace")); }

bool simulated(const Configuration& c) { return c.at("transport.name").text == "sim"; }

const ModelEntry& model_of(const Configuration& c) { return find_model(c.at("model.name").text); }

void check_stop(const Configuration& c, Mistakes& mistakes) {
  const Value* first = nullptr;
  std::string first_name;
  for (const char* path : {"run.samples", "run.epochs", "run.iterations", "run.seconds"}) {
    const Value* value = c.find(path);
    if (value == nullptr) continue;
    if (first != nullptr)
      mistakes.add(value->place, "'{}' and '{}' are two stop rules: give one", first_name, last_part(path));
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
  mistakes.add(place,
               "measure '{}' runs in virtual time (sim), where pace = \"{}\" is refused since its "
               "results must repeat: give a time, such as pace = \"40ms\", or cost = \"40ms\" for virtual time alone",
               c.name, pace.text);
}

void check_profile(const Configuration& c, Mistakes& mistakes) {
  const Value &file = c.at("model.profile"), &size = c.at("model.size");
  if (size.integer != 0) mistakes.add(size.place, "'size' and 'profile' are two sizes: give one");
  try {
    const Profile profile = read_profile(file.text);
    if (profile.gradient && (c.has("compute.cost") || paced_by_time(c)))
      mistakes.add(file.place, "the profile has times, which replace 'pace' and 'cost': leave these out");
  } catch (const Error& error) {
    mistakes.add(file.place, error.what());
  }
}

void check_model(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  const std::string name = c.at("model.name").text;
  const Value &size = c.at("model.size"), &bytes = c.at("model.wire_bytes");
  if (bytes.integer > 0 && !simulated(c))
    mistakes.add(bytes.place, "measure '{}' sends the model's own bytes: 'wire_bytes' needs virtual time (sim)",
                 c.name);
  if (draft.bad.count("model.name") + draft.bad.count("model.size") > 0) return;
  const Circumstances here{.draft = &draft, .c = &c};
  check_allowed("model.", here, mistakes);
  check_allowed("run.epochs", here, mistakes);
  const bool has_profile = c.has("model.profile"), computes = model_of(c).create != nullptr;
  if (has_profile && name == "timing_only") check_profile(c, mistakes);
  const SourceLocation& place = has_profile ? c.at("model.profile").place : place_or(c.at("model.name"), draft.place);
  if (name == "timing_only" && size.integer == 0 && bytes.integer == 0 && !has_profile)
    mistakes.add(place,
                 "model 'timing_only' needs a size: set model.size to its number of parameters, or model.wire_bytes");
  if (name == "quadratic" && size.integer > kLargestQuadratic)
    mistakes.add(size.place, "'size' of model 'quadratic' is at most {}: for larger vectors use model 'timing_only'",
                 kLargestQuadratic);
  if (!computes && !simulated(c))
    mistakes.add(place, "model '{}' has no numbers to send: measure it in virtual time (sim)", name);
  if (!computes && c.measure->what == MeasureKind::kConvergence)
    mistakes.add(has_profile ? place : c.measure->place, "model '{}' computes nothing, so it has no convergence", name);
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
  mistakes.add(feature.place, "'feature' is {}, but a sample of data set '{}' has the features 0 to {}",
               feature.integer, dataset_of(c), features - 1);
}

void check_fit(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  for (const char* path : {"name", "size", "dataset.name", "dataset.path", "statistics"})
    if (draft.bad.count(std::string("model.") + path) > 0) return;
  const Value& name = c.at("model.name");
  const Value& statistics = c.at("model.statistics");
  const bool precise = statistics.text == "precise";
  std::string without = precise && model_of(c).create == nullptr ? "computes nothing" : "";
  if (model_of(c).create != nullptr) {
    WorkloadSpec spec{.model = name.text, .dataset = dataset_of(c), .size = std::size_t(c.at("model.size").integer)};
    spec.statistics = precise ? Statistics::kPrecise : Statistics::kRunning;
    const std::optional<Inputs> inputs = known_inputs(c, spec);
    if (!inputs) return;
    if (const std::string why = why_unfit(spec, *inputs); !why.empty()) {
      const Value* dataset = c.find("model.dataset.name");
      const Value& said = dataset != nullptr ? *dataset : name;
      mistakes.add(place_or(said, draft.place), why);
      return;
    }
    if (c.at("model.split.kind").text == "by_feature" && draft.bad.count("model.split.feature") == 0)
      check_feature(c, inputs->shape.size(), mistakes);
    if (precise && sketch(spec, *inputs)->estimated_from() == 0) without = "has none";
  }
  if (!without.empty())
    mistakes.add(statistics.place,
                 "statistics = \"precise\" is only allowed with models that have batch norms: model '{}' {}", name.text,
                 without);
}

void check_batch(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  if (model_of(c).create == nullptr || draft.bad.count("model.dataset.name") + draft.bad.count("model.name") > 0)
    return;
  const Value& batch = c.at("model.batch");
  if (batch.integer * c.workers() <= kSmallestTrainingSet && !c.has("run.epochs")) return;
  try {
    const std::int64_t part = std::int64_t(training_set_size(c)) / c.workers();
    if (batch.integer <= part) return;
    mistakes.add(place_or(batch, c.at("run.world_size").place),
                 "'batch' is {}, more than a worker's part of the data ({} samples with {} workers)", batch.integer,
                 part, c.workers());
  } catch (const Error& error) {
    // If the data is not here, the suite may still be right. A run will say what is missing.
    if (!c.has("run.epochs")) return;
    if (error.code() == ExitCode::kEnvironment) throw;  // not fetched, which is not a mistake of the suite
    mistakes.add(c.at("run.epochs").place, "'epochs' needs the data: {}", error.what());
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
               "'cosine' is {}, but lr falls from 'lr_warmup' = {} on: take a later iteration", cosine.integer,
               warmup.integer);
}

/// Returns why AdamW cannot train this; empty if it can.
std::string why_not_adamw(const Configuration& c, const Protocol& protocol) {
  if (model_of(c).sparse_rows) return fmt::format("the gradients of model '{}' are sparse", c.at("model.name").text);
  if (protocol.keeps_own_momentum)
    return fmt::format("'{}' puts its own momentum in the place of SGD's", protocol.name);
  return "";
}

void check_optimizer(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  check_allowed("optimizer.", {.draft = &draft, .c = &c, .variant = &variant}, mistakes);
  const Value& name = optimizer_value(draft, c, variant, "optimizer.name");
  const std::string why = name.text == "adamw" ? why_not_adamw(c, *variant.protocol) : "";
  if (!why.empty())
    mistakes.add(place_or(name, variant.place), "optimizer 'adamw' cannot be used here: {}. Take sgd", why);
}

void check_loss(const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  const Value& loss = c.at("network.loss");
  if (loss.as_real() > 0 && !variant.protocol->loses_messages)
    mistakes.add(
        loss.place,
        "'loss' is only allowed with protocols that may lose messages: '{}' needs every message (as over TCP). Measure "
        "it without 'loss'",
        variant.label);
}

void check_racks(const Configuration& c, Mistakes& mistakes) {
  const Value* racks = c.find("network.racks");
  if (racks == nullptr) return;
  if (racks->is(T::kArray) && int(racks->items.size()) != c.hosts())
    mistakes.add(racks->place, "'racks' lists {} hosts, but workers are on {}", racks->items.size(), c.hosts());
  if (racks->is(T::kInteger) && racks->integer > c.hosts())
    mistakes.add(racks->place, "{} racks are more than there are hosts ({})", racks->integer, c.hosts());
  if (!racks->is(T::kArray)) return;
  std::set<std::int64_t> named;
  for (const Value& rack : racks->items) named.insert(rack.integer);
  if (named.size() < 2 || *named.rbegin() != std::int64_t(named.size()) - 1)
    mistakes.add(racks->place, "'racks' must name racks 0, 1 and so on, at least two and none left out");
}

/// Checks [network] hosts, which has one host for each worker if it is a list, and the links and racks.
void check_hosts(const Configuration& c, Mistakes& mistakes) {
  const Value* hosts = c.find("network.hosts");
  if (hosts != nullptr && hosts->is(T::kArray) && int(hosts->items.size()) != c.workers())
    mistakes.add(hosts->place, "'hosts' lists {} workers, but world_size is {}", hosts->items.size(), c.workers());
  if (hosts != nullptr && hosts->is(T::kInteger) && hosts->integer > c.workers())
    mistakes.add(hosts->place, "{} hosts are more than there are workers ({})", hosts->integer, c.workers());
  check_links(c.at("network.links").items, mistakes);
  check_racks(c, mistakes);
}

/// Checks `without` of a [[protocol]]: workers that exist, each once, and not all of them. No scenario may have faults,
/// since faults name ranks. Returns true if it is right.
bool check_without(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  if (variant.without.empty()) return true;
  bool right = true;
  const auto wrong = [&](const Value& where, const std::string& what) {
    mistakes.add(where.place, "'{}' {}", variant.label, what);
    right = false;
  };
  std::set<std::int64_t> named;
  for (const Value& rank : variant.without) {
    if (rank.integer >= c.workers())
      wrong(rank, fmt::format("is without rank {}, but the workers are 0 to {}", rank.integer, c.workers() - 1));
    if (!named.insert(rank.integer).second)
      wrong(rank, fmt::format("is without rank {} twice: once is enough", rank.integer));
  }
  const Value& first = variant.without.front();
  if (int(named.size()) >= c.workers())
    wrong(first, fmt::format("is without all {} workers: leave one to train", c.workers()));
  for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
    if (scenario->faults.empty()) continue;
    wrong(first, fmt::format("leaves workers out, and scenario '{}' has faults, which name ranks: give them measures "
                             "of their own, by 'protocols' and 'scenarios'",
                             scenario->name));
  }
  return right;
}

/// Checks [compute] others, which names each worker at most once, and only workers that exist.
void check_others(const Configuration& c, Mistakes& mistakes) {
  std::set<std::int64_t> named;
  for (const Value& other : c.at("compute.others").items) {
    const Entry* ranks = other.find("ranks");
    if (ranks == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      if (rank.integer >= c.workers()) {
        mistakes.add(rank.place, "'others' names rank {}, but the workers are 0 to {}", rank.integer, c.workers() - 1);
      } else if (!named.insert(rank.integer).second) {
        mistakes.add(rank.place, "'others' names rank {} twice: it computes on one backend", rank.integer);
      }
    }
  }
}

void check_variants(const Draft& draft, const Configuration& c, Graphs& graphs, Mistakes& mistakes) {
  const std::vector<std::string> known = names_in(draft.variants, &VariantDraft::written_label);
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
    if (!why.empty()) mistakes.add(variant->place, "'{}' is impossible{}: {}", variant->label, rest.of_whom(), why);
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

void check_scenarios(const Draft& draft, const Configuration& c, Mistakes& mistakes) {
  const std::vector<std::string> known = names_in(draft.scenarios, &ScenarioDraft::name);
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

/// Returns the drafts that `names` names, or all if it is empty.
template <class Drafts>
std::vector<const typename Drafts::value_type*> chosen_of(const Drafts& drafts, std::string Drafts::value_type::*member,
                                                          const std::vector<Value>& names) {
  std::vector<const typename Drafts::value_type*> chosen;
  for (const auto& draft : drafts) {
    const bool is_named =
        std::any_of(names.begin(), names.end(), [&](const Value& name) { return name.text == draft.*member; });
    if (names.empty() || is_named) chosen.push_back(&draft);
  }
  return chosen;
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
  return chosen_of(draft.scenarios, &ScenarioDraft::name, measure.scenarios);
}

std::vector<const VariantDraft*> variants_of(const Draft& draft, const MeasureDraft& measure) {
  return chosen_of(draft.variants, &VariantDraft::written_label, measure.protocols);
}

Scenario scenario_of(const ScenarioDraft& draft, int workers, int drawn_rank) {
  Scenario scenario;
  scenario.name = draft.name;
  for (const Value& rule : draft.rules) {
    scenario.compute.push_back(rule_of(rule, workers, drawn_rank));
    if (const Entry* file = rule.find("file")) scenario.traces.push_back(file->value.text);
  }
  for (const Value& link : draft.links) {
    scenario.links.push_back(link_of(link));
    if (const Entry* file = link.find("file")) scenario.traces.push_back(file->value.text);
  }
  return scenario;
}

void check_configuration(const Draft& draft, const Configuration& c, Graphs& graphs, Mistakes& mistakes) {
  check_stop(c, mistakes);
  check_pace(draft, c, mistakes);
  check_model(draft, c, mistakes);
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
  check_allowed("network.", {.draft = &draft, .c = &c}, mistakes);
  check_scenarios(draft, c, mistakes);
  check_variants(draft, c, graphs, mistakes);
}

}  // namespace hopbench
