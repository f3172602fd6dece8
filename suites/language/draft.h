// A suite between its text and its trials. Every key is known and right by itself; nothing is multiplied out yet.
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "protocols/node/knobs.h"
#include "protocols/node/protocol.h"
#include "suites/language/keys.h"
#include "suites/language/suite.h"
#include "suites/trial/trial.h"

namespace hopbench {

class Graphs;

struct VariantDraft {
  SourceLocation place;
  std::string label;
  std::string written_label;           // before the matrix added to it
  const Protocol* protocol = nullptr;  // nullptr: unknown, which is a mistake already reported
  KnobValues knobs;
  Layer optimizer;             // keys of [optimizer] that are this variant's own
  std::vector<Value> without;  // workers that it trains without

  std::vector<int> left_out() const;  // the same workers, ascending
};

struct ScenarioDraft {
  SourceLocation place;
  std::string name;
  std::vector<Value> rules, links, faults;

  bool homogeneous() const { return rules.empty() && links.empty() && faults.empty(); }
};

/// A list of tables in a scenario: compute, links or faults.
struct ScenarioList {
  const char* name;
  std::vector<Value> ScenarioDraft::*items;
  void (*check)(const std::vector<Value>& items, Mistakes& mistakes);  // of each alone

  std::string path() const { return std::string("scenario.") + name; }
};
std::span<const ScenarioList> scenario_lists();  // check.cpp

struct MeasureDraft {
  SourceLocation place;
  std::string name;
  MeasureKind what = MeasureKind::kRate;
  Layer overrides;
  std::vector<Value> scenarios;  // names; empty: all
  std::vector<Value> protocols;  // labels, as written; empty: all variants
};

/// A row of [matrix], for a section's key or for a key of one variant.
struct Axis {
  SourceLocation place;
  std::string path;     // of the section's key; "" for a variant's
  std::string variant;  // label
  std::vector<std::string> parts;
  std::vector<Value> values;
};

/// A value that a profile or a command line gives to a section's key: for all measures, or for one.
struct Override {
  std::string measure;
  std::string path;
  Value value;
};

struct Draft {
  std::string file, name, summary;
  bool tuned = false;    // as the suite says
  Layer tuning;          // [tuning]
  SourceLocation place;  // of [run]; for mistakes about what is missing
  Layer sections;
  std::set<std::string> bad;  // paths with a mistake; mistakes that would follow from it are not reported
  std::vector<VariantDraft> variants;
  std::vector<ScenarioDraft> scenarios;
  std::vector<MeasureDraft> measures;
  std::vector<Axis> axes;
  std::vector<Override> forced;  // later ones win
};

/// Returns the draft whose `member` is the name; nullptr if there is none.
template <class Drafts, class Member>
auto* named(Drafts& drafts, const std::string& name, Member Drafts::value_type::*member) {
  const auto found =
      std::find_if(drafts.begin(), drafts.end(), [&](const auto& draft) { return draft.*member == name; });
  return found == drafts.end() ? nullptr : &*found;
}
template <class Drafts, class Member>
std::vector<std::string> names_in(const Drafts& drafts, Member Drafts::value_type::*member) {
  std::vector<std::string> names;
  for (const auto& draft : drafts) names.push_back(draft.*member);
  return names;
}

// suite.cpp
/// Reads all of a text but its trials. Throws if the text is not TOML.
Draft read_suite(const std::string& text, const std::string& file, const SuiteOptions& options, Mistakes& mistakes);

// tuned.cpp
/// Returns the draft with one measure in one scenario and one repeat, where every variant is tuned.
Draft at_tuning_place(const Draft& draft, const MeasureDraft& measure, const ScenarioDraft& scenario);
/// Returns a hash of all settings of a trial but names and seeds.
std::string settings_mark(const TrialSpec& spec);
/// The comparison of a suite with its record in [tuning]. `tuned`: it is set as it was tuned. `note`: for the reader.
struct TunedState {
  bool tuned = false;
  std::string note;
  std::vector<std::string>
      at_the_edge{};  // labels of variants whose learning rate was the first or last of those tried
};
TunedState tuned_state(const Draft& draft);

// check.cpp
Draft read_draft(const Value& root, const std::string& file, Mistakes& mistakes);
/// Gives a variant the value of a knob, or of a key of its own optimizer (parts: {"backup"}, {"optimizer", "lr"}).
void set_variant(VariantDraft& variant, const std::vector<std::string>& parts, const Entry& entry, Mistakes& mistakes);
void read_measure_key(MeasureDraft& measure, const std::vector<std::string>& parts, const Entry& entry,
                      std::set<std::string>& bad, Mistakes& mistakes);

// overrides.cpp
/// Applies the matrix, the chosen profile (all profiles are checked) and the changes of the command line.
void apply_overrides(Draft& draft, const Value& root, const SuiteOptions& options, Mistakes& mistakes);

// precedence.cpp
/// Returns true for a pace that is neither "auto" nor "off".
inline bool is_time(const Value& pace) { return pace.text != "auto" && pace.text != "off"; }
/// Returns the value of every section's key as TOML gives its default.
const Layer& default_layer();
/// Puts `over` on top of `base`. If keys exclude each other (two stop rules, a pace that is a time and a cost, a named
/// topology and a list of edges), the ones on top replace the others.
void lay(Layer& base, const Layer& over);
/// Returns the suite's own values: those of sections, of the measure (nullptr: none), forced ones, and those of the
/// point of the matrix. Later ones win.
Layer own_keys(const Draft& draft, const MeasureDraft* measure, const Layer& point);
/// Returns own_keys on top of the network's preset, if they name one, on top of the defaults.
Layer effective(const Draft& draft, const MeasureDraft* measure, const Layer& point);
/// A combination of values of the axes. Axes of variants are not part of it: they have become variants before.
struct Point {
  Layer values;
  std::string suffix;  // " topology.name=ring"
};
std::vector<Point> points_of(const Draft& draft);
/// Replaces each variant that has axes of its own by one for each of their values.
void multiply_variants(Draft& draft, Mistakes& mistakes);

// expand.cpp
int default_evaluations(MeasureKind what);  // run.evaluations = "auto"
std::vector<TrialSpec> expand(const Draft& draft, Mistakes& mistakes);

// configuration.cpp
/// A measure at a point of the matrix, resolved. Each trial of it takes its settings from here.
struct Configuration {
  const MeasureDraft* measure;
  std::string name;
  Layer values;

  const Value* find(const std::string& path) const;
  bool has(const std::string& path) const { return find(path) != nullptr; }
  const Value& at(const std::string& path) const;
  int workers() const { return int(at("run.world_size").integer); }
  /// Returns worker -> host; empty if each has its own (or if the list has a wrong length, which was already reported).
  std::vector<int> host_of() const;
  /// Returns the number of hosts that workers are on.
  int hosts() const;
  /// Returns host -> rack for the hosts that workers are on; empty if there are no racks.
  std::vector<int> rack_of() const;
};
/// Adds mistakes for settings that are impossible only in combination.
void check_configuration(const Draft& draft, const Configuration& configuration, Graphs& graphs, Mistakes& mistakes);
/// Returns the number of samples in the training set, which it reads. Throws Error if that is not possible.
std::size_t training_set_size(const Configuration& configuration);
/// Returns "" if the model reads no data set.
std::string dataset_of(const Configuration& configuration);
/// Returns true if the matrix, a profile or the command line overrides the variant's own optimizer key.
bool optimizer_key_is_forced(const Draft& draft, const std::string& path);
/// Returns the value that holds for that variant: its own unless that is overridden, otherwise the suite's.
const Value& optimizer_value(const Draft& draft, const Configuration& c, const VariantDraft& variant, const char* path);
/// Returns the scenario without its faults. `drawn_rank`: the worker for rules whose ranks are "drawn".
Scenario scenario_of(const ScenarioDraft& draft, int workers, int drawn_rank);
std::vector<const ScenarioDraft*> scenarios_of(const Draft& draft, const MeasureDraft& measure);
std::vector<const VariantDraft*> variants_of(const Draft& draft, const MeasureDraft& measure);

// rules.cpp
/// Returns the digest of the file that a rule or link names, if it names one and it can be read; else "".
std::string trace_digest(const Value& rule);
/// Checks that each rule of a scenario has the keys that its kind needs, and only keys that its kind knows.
void check_rules(const std::vector<Value>& rules, Mistakes& mistakes);
void check_rules_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes);
/// Returns true if a trace says what each gradient takes, so that the scenario needs no pace. A trace that cannot be
/// read, which is a mistake of its own, counts as one.
bool replays_seconds(const ScenarioDraft& scenario);
ComputeRule rule_of(const Value& table, int workers, int drawn_rank);
/// Check the links of a scenario or of [network] alone; and those of a scenario in a measure.
void check_links(const std::vector<Value>& links, Mistakes& mistakes);
void check_links_with(const ScenarioDraft& scenario, const Configuration& c, Mistakes& mistakes);
/// Returns an item of scenario.links or network.links.
NetworkSpec::Link link_of(const Value& table);

// faults.cpp
/// Returns the faults of a scenario, with all absences of its files. A crash with `restart` becomes what it means to
/// the protocol: if the others go on without a worker, it is away for that time; else all `workers` restart from their
/// last checkpoint.
std::vector<Fault> faults_of(const ScenarioDraft& scenario, bool others_go_on, int workers);
/// Check faults alone; with each other and the workers; and if cuts and changed links have an effect (check_obeyed).
void check_faults(const std::vector<Value>& faults, Mistakes& mistakes);
void check_faults_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes);
/// Checks that cuts name existing hosts. `hosts`: the largest number of hosts that a variant has.
void check_cuts(const ScenarioDraft& scenario, int hosts, Mistakes& mistakes);
void check_obeyed(const ScenarioDraft& scenario, const Configuration& c, Mistakes& mistakes);

// resolve.cpp
/// Returns a knob's value as TOML.
std::string knob_toml(const KnobValue& value);
std::string resolved_toml(const Draft& draft);

}  // namespace hopbench
