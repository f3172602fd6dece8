#include "suites/language/suite.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "backends/base/failure.h"
#include "backends/base/printable.h"
#include "suites/language/draft.h"
#include "suites/profile/safetensors.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

constexpr int kPairsForAnInterval = 3;  // fairness: t on log ratios

// The reference is checked here, after the matrix has named all variants.
std::string check_reference(const Draft& draft, Mistakes& mistakes) {
  const Layer layer = effective(draft, nullptr, {});
  const auto reference = layer.find("run.reference");
  if (reference == layer.end()) return draft.variants.empty() ? "" : draft.variants.front().label;
  std::vector<std::string> labels;
  for (const VariantDraft& variant : draft.variants) labels.push_back(variant.label);
  if (std::find(labels.begin(), labels.end(), reference->second.text) == labels.end())
    mistakes.add(reference->second.place, unknown("reference", reference->second.text, labels));
  return reference->second.text;
}

bool has_control(const Draft& draft, const MeasureDraft& measure) {
  const auto chosen = scenarios_of(draft, measure);
  return std::any_of(chosen.begin(), chosen.end(), [](const ScenarioDraft* s) { return s->homogeneous(); });
}

// Returns true if the suite describes links for a measure whose real processes do not obey them.
bool says_links(const Draft& draft, const MeasureDraft& measure) {
  const auto is_link = [](const std::string& path) {
    return path.starts_with("network.") && path != "network.hosts" && path != "network.emulate" &&
           path != "network.instant";
  };
  const auto any_in = [&](const Layer& layer) {
    return std::any_of(layer.begin(), layer.end(), [&](const auto& entry) { return is_link(entry.first); });
  };
  return any_in(draft.sections) || any_in(measure.overrides) ||
         std::any_of(draft.forced.begin(), draft.forced.end(), [&](const Override& forced) {
           return is_link(forced.path) && (forced.measure.empty() || forced.measure == measure.name);
         });
}

// Measures with links of the machine's own, where nothing else of the suite needs what it says of links.
std::vector<std::string> deaf_measures(const Draft& draft) {
  std::vector<std::string> deaf;
  for (const Axis& axis : draft.axes) {
    if (axis.path == "transport.name" || axis.path == "network.emulate") return {};
  }
  for (const MeasureDraft& measure : draft.measures) {
    const Layer layer = effective(draft, &measure, {});
    if (layer.at("transport.name").text == "sim" || layer.at("network.emulate").flag) return {};
    if (says_links(draft, measure)) deaf.push_back(measure.name);
  }
  return deaf;
}

// Notes on settings that change nothing.
void add_idle_settings(const Draft& draft, std::vector<std::string>& notes) {
  const auto in_no_measure = [&](const auto& matters) {
    return std::none_of(draft.measures.begin(), draft.measures.end(),
                        [&](const MeasureDraft& measure) { return matters(effective(draft, &measure, {})); });
  };
  const auto reads_load = [](const VariantDraft& variant) {
    return variant.protocol->reads_load != nullptr && variant.protocol->reads_load(variant.knobs);
  };
  const auto monitored = [](const Layer& layer) {
    return layer.at("compute.load_noise").as_real() > 0 || layer.at("compute.load_delay").integer > 0;
  };
  if (!in_no_measure(monitored) && std::none_of(draft.variants.begin(), draft.variants.end(), reads_load))
    notes.emplace_back(
        "load_noise and load_delay change nothing: no variant reads the processors' load, as lb_bsp with predictor = "
        "\"narx\" does");
  const auto asks = [](const Layer& layer) { return layer.at("run.target.model").text != "auto"; };
  const auto has_target = [](const Layer& layer) { return layer.at("run.target.loss").as_real() > 0; };
  if (!in_no_measure(asks) && in_no_measure(has_target))
    notes.emplace_back("target.model changes nothing: no measure has a target.loss");
}

// Notes on variants without fixed workers beside a scenario that slows a drawn one.
void add_drawn_and_left_out(const Draft& draft, std::vector<std::string>& notes) {
  const auto draws = [](const Value& rule) {
    const Entry* ranks = rule.find("ranks");
    return ranks != nullptr && ranks->value.is(Value::Type::kText);
  };
  std::set<std::string> labels;
  for (const MeasureDraft& measure : draft.measures) {
    const auto scenarios = scenarios_of(draft, measure);
    const bool drawn = std::any_of(scenarios.begin(), scenarios.end(), [&](const ScenarioDraft* scenario) {
      return std::any_of(scenario->rules.begin(), scenario->rules.end(), draws);
    });
    for (const VariantDraft* variant : variants_of(draft, measure)) {
      if (drawn && !variant->without.empty()) labels.insert(variant->label);
    }
  }
  if (!labels.empty())
    notes.push_back(
        fmt::format("ranks = \"drawn\" and 'without': the slow worker is another in each repeat, so {} trains without "
                    "it in some of them only",
                    fmt::join(labels, ", ")));
}

/// Returns a note if the profile is one of several shards, which are all read; else "".
std::string shards_note(const std::string& profile) {
  if (!profile.ends_with(".safetensors")) return "";
  const std::size_t files = safetensors_files(profile).size();
  return files < 2 ? "" : fmt::format("profile {} is one of {} shards: all of them are the model", profile, files);
}

std::vector<std::string> notes_of(const Draft& draft, const std::string& tuning_note) {
  std::vector<std::string> notes;
  const bool convergence = std::any_of(draft.measures.begin(), draft.measures.end(),
                                       [](const MeasureDraft& m) { return m.what == MeasureKind::kConvergence; });
  if (convergence) notes.push_back(tuning_note);
  std::set<std::string> told;
  for (const VariantDraft& variant : draft.variants) {
    const Protocol& protocol = *variant.protocol;
    if (!is_experimental(protocol, variant.knobs) || !told.insert(variant.written_label).second) continue;
    notes.push_back(fmt::format(
        "experimental: a rule of {} is not checked against the paper's text, and is likely or a guess (reading {})",
        variant.written_label, protocol.reading.empty() ? "unnamed" : protocol.reading));
  }
  const bool control = std::any_of(draft.measures.begin(), draft.measures.end(),
                                   [&](const MeasureDraft& m) { return has_control(draft, m); });
  if (!control)
    notes.emplace_back(
        "no homogeneous control: without a scenario in which nobody is slow, what the protocols cost by themselves is "
        "not seen");
  std::vector<std::string> few, as_written, without_curve;
  std::set<std::string> shards{""};
  for (const MeasureDraft& measure : draft.measures) {
    const Layer layer = effective(draft, &measure, {});
    if (layer.at("run.repeats").integer < kPairsForAnInterval) few.push_back(measure.name);
    const Value& points = layer.at("run.evaluations");
    const bool curve = points.is(Value::Type::kInteger) ? points.integer > 0 : default_evaluations(measure.what) > 0;
    if (curve && layer.at("transport.name").text != "sim") without_curve.push_back(measure.name);
    if (const auto profile = layer.find("model.profile"); profile != layer.end())
      shards.insert(shards_note(profile->second.text));
    if (layer.at("optimizer.step").text == "as_written" && measure.what == MeasureKind::kConvergence)
      as_written.push_back(measure.name);
  }
  if (!few.empty())
    notes.push_back(fmt::format("no intervals: fewer than {} repeats of {}", kPairsForAnInterval, listed(few)));
  if (!as_written.empty())
    notes.push_back("learning rates as written: the variants' steps per sample differ in " + listed(as_written));
  if (!without_curve.empty())
    notes.push_back(fmt::format("no curve of {}: real processes evaluate the end only, whatever 'evaluations' says",
                                listed(without_curve)));
  if (const std::vector<std::string> deaf = deaf_measures(draft); !deaf.empty())
    notes.push_back(
        "links as they are: real processes obey [network], loss apart, only with network.emulate = true, which is not "
        "set for " +
        listed(deaf));
  notes.insert(notes.end(), std::next(shards.begin()), shards.end());
  add_idle_settings(draft, notes);
  add_drawn_and_left_out(draft, notes);
  return notes;
}

bool may_push(const Protocol& protocol) {
  const auto is_overlap = [](const Knob& knob) { return std::string_view(knob.name) == "overlap"; };
  return protocol.extra_ranks != nullptr && std::any_of(protocol.knobs.begin(), protocol.knobs.end(), is_overlap);
}

// Says of a variant with servers that pushes overlap by default, which is new. A model on sparse rows is pushed whole.
std::string overlap_note(const Protocol& protocol, const ModelEntry& model, const Setting& setting) {
  if (model.sparse_rows || protocol.extra_ranks(setting) == 0) return "";
  return "pushes overlap with the backward pass; overlap = false sends them after it";
}

// Adds the notes of protocols on their settings, and those on the protocols: each once, with the variants it is of.
void add_protocol_notes(const std::vector<TrialSpec>& trials, std::vector<std::string>& notes) {
  std::set<std::string> asked;
  std::map<std::string, std::set<std::string>> said;
  for (const TrialSpec& trial : trials) {
    const Protocol& protocol = find_protocol(trial.protocol);
    const std::string about = fmt::format("{} with {} workers", trial.label, trial.workers());
    const bool pushes = may_push(protocol) && !trial.knobs.given("overlap");
    if (protocol.note == nullptr && !pushes) continue;
    if (!asked.insert(about + trial.measure + trial.topology).second) continue;
    const Topology graph = graph_of(trial);
    const Setting setting{trial.knobs, graph, trial.workers(), hosts_of_workers(trial), 0, trial.workload.batch};
    const std::string own = protocol.note != nullptr ? protocol.note(setting) : "";
    const std::string pushed = pushes ? overlap_note(protocol, find_model(trial.workload.model), setting) : "";
    for (const std::string& note : {own, pushed}) {
      if (!note.empty()) said[note].insert(about);
    }
  }
  for (const auto& [note, whom] : said) notes.push_back(fmt::format("{}: {}", fmt::join(whom, ", "), note));
}

// Returns a note for each variant and measure with a long warm-up.
std::vector<std::string> long_warm_ups(const std::vector<TrialSpec>& trials) {
  constexpr Iter kLong = 10'000;
  std::set<std::string> notes;
  for (const TrialSpec& trial : trials) {
    const WarmUp warm_up = warm_up_of(trial);
    if (trial.stop.kind != StopSpec::Kind::kIterations || warm_up.iterations < kLong) continue;
    notes.insert(
        fmt::format("long warm-up of {} in {}: {} iterations of each rank before the {} that are measured ({})",
                    trial.label, trial.measure, warm_up.iterations, trial.stop.amount,
                    warm_up.by_time ? "as many as fit into run.warmup_time"
                                    : "run.warmup, or twice as many as a rank may be ahead of another"));
  }
  return {notes.begin(), notes.end()};
}

// Links of hosts that no trial has.
void add_link_notes(const std::vector<TrialSpec>& trials, std::vector<std::string>& notes) {
  std::map<int, int> hosts;  // that a link names: the most hosts of a trial that obeys it
  for (const TrialSpec& trial : trials) {
    if (trial.network.links.empty() && trial.scenario.links.empty()) continue;
    const Plan plan = make_plan(trial);
    const int there = *std::max_element(plan.host_of.begin(), plan.host_of.end()) + 1;
    for (const NetworkSpec::Link& link : network_of(trial, plan).links) {
      for (const int host : {link.a, link.b}) hosts[host] = std::max(hosts[host], there);
    }
  }
  for (const auto& [host, there] : hosts) {
    if (host >= there)
      notes.push_back(fmt::format("a link of host {} is nobody's: the hosts are 0 to {}", host, there - 1));
  }
}

/// Returns every file that the suite names, be it in a section, a measure, a scenario, the matrix or a change.
std::vector<std::string> files_of(const Draft& draft) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& path, Value value) {
    each_file(*find_key(path), value, [&](const Value& file) { files.push_back(file.text); });
  };
  const auto add_list = [&](const std::string& path, const std::vector<Value>& items) {
    Value list;
    list.items = items;
    add(path, list);
  };
  for (const auto& [path, value] : draft.sections) add(path, value);
  for (const MeasureDraft& measure : draft.measures)
    for (const auto& [path, value] : measure.overrides) add(path, value);
  for (const Override& forced : draft.forced) add(forced.path, forced.value);
  for (const Axis& axis : draft.axes)
    for (const Value& value : axis.values)
      if (!axis.path.empty()) add(axis.path, value);
  for (const ScenarioDraft& scenario : draft.scenarios) {
    add_list("scenario.compute", scenario.rules);
    add_list("scenario.links", scenario.links);
    add_list("scenario.faults", scenario.faults);
  }
  return files;
}

// The matrix may give two trials one name only if a label or a measure's name was made to look like it.
void check_ids(const std::vector<TrialSpec>& trials, const Draft& draft, Mistakes& mistakes) {
  std::set<std::string> ids;
  for (const TrialSpec& trial : trials) {
    if (!ids.insert(trial.id()).second)
      mistakes.add(draft.place, fmt::format("two trials are called '{}': choose other labels or names", trial.id()));
  }
}

}  // namespace

std::string read_suite_file(const std::string& path) {
  constexpr std::streamsize kMost = 16 << 20;  // nobody writes that; /dev/zero has no end
  std::ifstream opened;
  if (path != "-") opened.open(path, std::ios::binary);
  std::istream& file = path == "-" ? std::cin : opened;
  std::string text(kMost, '\0');
  text.resize(static_cast<std::size_t>(file.read(text.data(), kMost).gcount()));
  if (static_cast<std::streamsize>(text.size()) == kMost)
    throw usage_error(fmt::format("suite {}: is larger than {} MiB: no suite is", quotable(path), kMost >> 20));
  if (file.bad() || (path != "-" && !opened.is_open()))
    throw usage_error(fmt::format(
        "suite {}: cannot be read: is the path right? `hopbench list suites` names those that come with the program",
        quotable(path)));
  return text;
}

Suite load_suite(const std::string& path, const SuiteOptions& options) {
  return parse_suite(read_suite_file(path), path == "-" ? "(standard input)" : path, options);
}

Draft read_suite(const std::string& text, const std::string& file, const SuiteOptions& options, Mistakes& mistakes) {
  const std::optional<Value> root = parse_document(text, file, mistakes);
  mistakes.throw_if_any();
  Draft draft = read_draft(*root, file, mistakes);
  apply_overrides(draft, *root, options, mistakes);
  multiply_variants(draft, mistakes);
  return draft;
}

Suite parse_suite(const std::string& text, const std::string& file, const SuiteOptions& options) {
  Mistakes mistakes;
  const Draft draft = read_suite(text, file, options, mistakes);
  Suite suite{.file = file,
              .name = draft.name,
              .summary = draft.summary,
              .files = files_of(draft),
              .reference = {},
              .trials = {},
              .notes = {},
              .long_warm_ups = {},
              .tuning_note = {},
              .tuned = false,
              .at_the_edge = {},
              .resolved = {}};
  suite.reference = check_reference(draft, mistakes);
  suite.trials = expand(draft, mistakes);
  check_ids(suite.trials, draft, mistakes);
  mistakes.throw_if_any();
  const TunedState tuned = tuned_state(draft);
  suite.tuned = tuned.tuned;
  suite.at_the_edge = tuned.at_the_edge;
  suite.tuning_note = tuned.note;
  suite.notes = notes_of(draft, tuned.note);
  add_protocol_notes(suite.trials, suite.notes);
  add_link_notes(suite.trials, suite.notes);
  suite.long_warm_ups = long_warm_ups(suite.trials);
  suite.notes.insert(suite.notes.end(), suite.long_warm_ups.begin(), suite.long_warm_ups.end());
  suite.tuning_note = message_text(suite.tuning_note);
  for (auto* notes : {&suite.notes, &suite.long_warm_ups}) {
    for (std::string& note : *notes) note = message_text(std::move(note));
  }
  suite.resolved = resolved_toml(draft);
  return suite;
}

}  // namespace hopbench
