// A suite between its text and its trials: every key is known and right by itself, nothing is multiplied out yet.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "protocols/knobs.h"
#include "protocols/protocol.h"
#include "suites/keys.h"
#include "suites/suite.h"
#include "suites/trial.h"

namespace hopbench {

class Graphs;

struct VariantDraft {
  Place place;
  std::string label;
  std::string written_label;           // before the matrix added to it
  const Protocol* protocol = nullptr;  // nullptr: unknown, which is a mistake already told
  KnobValues knobs;
  Layer optimizer;             // keys of [optimizer] that are this variant's own
  std::vector<Value> without;  // workers that it trains without

  std::vector<int> left_out() const;  // those, ascending
};

struct ScenarioDraft {
  Place place;
  std::string name;
  std::vector<Value> rules, links, faults;

  bool homogeneous() const { return rules.empty() && links.empty() && faults.empty(); }
};

struct MeasureDraft {
  Place place;
  std::string name;
  What what = What::kRate;
  Layer overrides;
  std::vector<Value> scenarios;  // names; empty: all
  std::vector<Value> protocols;  // labels, as written; empty: all variants
};

/// A row of [matrix]: of a section's key, or of one variant's own.
struct Axis {
  Place place;
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
  bool tuned = false;  // says the suite
  Layer tuning;        // [tuning]
  Place place;         // [run]: for what is missing altogether
  Layer sections;
  std::set<std::string> bad;  // paths with a mistake: what would follow from it is not told as well
  std::vector<VariantDraft> variants;
  std::vector<ScenarioDraft> scenarios;
  std::vector<MeasureDraft> measures;
  std::vector<Axis> axes;
  std::vector<Override> forced;  // later ones win
};

// suite.cpp
/// All of a text but its trials. Throws where the text is no TOML.
Draft read_suite(const std::string& text, const std::string& file, const SuiteOptions& options, Mistakes& mistakes);

// tuned.cpp
/// The draft with one measure in one scenario and one repeat: where every variant is tuned.
Draft at_tuning_place(const Draft& draft, const MeasureDraft& measure, const ScenarioDraft& scenario);
/// Hash of all settings of a trial but names and seeds.
std::string settings_mark(const TrialSpec& spec);
/// The comparison of a suite with its record in [tuning]: whether it is set as it was tuned, and a note for the reader.
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
/// Rules of a scenario: what each kind needs and knows.
void check_rules(const std::vector<Value>& rules, Mistakes& mistakes);
/// Links of a scenario.
void check_links(const std::vector<Value>& links, Mistakes& mistakes);
void read_measure_key(MeasureDraft& measure, const std::vector<std::string>& parts, const Entry& entry,
                      std::set<std::string>& bad, Mistakes& mistakes);

// overrides.cpp
/// The matrix, all profiles (all are checked, the chosen one is applied) and what the command line changes.
void apply_overrides(Draft& draft, const Value& root, const SuiteOptions& options, Mistakes& mistakes);

// layers.cpp
/// The value of every section's key as TOML gives its default.
const Layer& default_layer();
/// Puts `over` on top. Keys that exclude each other (two stop rules, a pace that is a time and a cost, a named topology
/// and a list of edges) give way to the ones on top.
void lay(Layer& base, const Layer& over);
/// The suite's own values: of sections, of the measure (nullptr: none), forced ones, and of the point of the matrix.
/// Later ones win.
Layer own_keys(const Draft& draft, const MeasureDraft* measure, const Layer& point);
/// own_keys on top of the network's preset, if they name one, on top of the defaults.
Layer effective(const Draft& draft, const MeasureDraft* measure, const Layer& point);
/// Axes multiplied out. Variants' axes have become variants before.
struct Point {
  Layer values;
  std::string suffix;  // " topology.name=ring"
};
std::vector<Point> points_of(const Draft& draft);
/// Replaces each variant that has axes of its own by one for each of their values.
void multiply_variants(Draft& draft, Mistakes& mistakes);

// expand.cpp
int default_evaluations(What what);  // run.evaluations = "auto"
std::vector<TrialSpec> expand(const Draft& draft, Mistakes& mistakes);

// configuration.cpp
/// A measure at a point of the matrix, resolved: where each trial of it takes its settings from.
struct Configuration {
  const MeasureDraft* measure;
  std::string name;
  Layer values;

  const Value* find(const std::string& path) const;
  bool has(const std::string& path) const { return find(path) != nullptr; }
  const Value& at(const std::string& path) const;
  int workers() const { return int(at("run.world_size").integer); }
  /// worker -> host; empty: each on its own (or a list of a wrong length, which is a mistake already told).
  std::vector<int> host_of() const;
  /// Returns the number of hosts that workers are on.
  int hosts() const;
  /// host -> rack, of the hosts that workers are on; empty: there are no racks.
  std::vector<int> rack_of() const;
};
/// What is impossible only in combination.
void check_configuration(const Draft& draft, const Configuration& configuration, Graphs& graphs, Mistakes& mistakes);
/// Samples in the training set, which is read for this. Error where it can't be.
std::size_t training_set_size(const Configuration& configuration);
/// "": the model reads none.
std::string dataset_of(const Configuration& configuration);
/// Whether the variant's own optimizer key is overridden: by the matrix, a profile or the command line.
bool optimizer_key_is_forced(const Draft& draft, const std::string& path);
/// What holds for that variant: its own, unless a flag says otherwise, or the suite's.
const Value& optimizer_value(const Draft& draft, const Configuration& c, const VariantDraft& variant, const char* path);
/// `drawn_rank`: the worker of rules whose ranks are "drawn".
Scenario scenario_of(const ScenarioDraft& draft, int workers, int drawn_rank);
std::vector<const ScenarioDraft*> scenarios_of(const Draft& draft, const MeasureDraft& measure);
std::vector<const VariantDraft*> variants_of(const Draft& draft, const MeasureDraft& measure);

// faults.cpp
Fault fault_of(const Value& table);
/// Each by itself; with the others and the number of workers; and, with links that change, where nobody would notice.
void check_faults(const std::vector<Value>& faults, Mistakes& mistakes);
void check_faults_with(const ScenarioDraft& scenario, int workers, Mistakes& mistakes);
/// `hosts`: the most that a variant has.
void check_cuts(const ScenarioDraft& scenario, int hosts, Mistakes& mistakes);
void check_obeyed(const ScenarioDraft& scenario, const Configuration& c, Mistakes& mistakes);

// resolve.cpp
std::string resolved_toml(const Draft& draft);

}  // namespace hopbench
