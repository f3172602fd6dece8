// A protocol as the rest of the program sees it: one function and a table of facts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/allocation.h"
#include "protocols/knobs.h"
#include "protocols/topology.h"

namespace hopbench {

class Node;

/// What its control flow follows, which decides how work is counted and what may be promised (fairness sections 1 and
/// 8).
enum class Control {
  kLockstep,          // every rank does every iteration: stops at iteration ceil(budget / global batch)
  kSchedule,          // ranks may do different amounts of work: iteration credits. Times follow the schedule only
  kValues,            // ranks may do different amounts of work (credits), and when follows float values
  kLockstepByValues,  // every rank does every iteration, but how long one takes follows float values
};
enum class OnLoss { kStops, kContinues };      // what it does when a worker dies; a server's death stops all
enum class StepFactor { kUnchanged, kOverN };  // of the learning rate under optimizer.step = "per_sample"
/// What the protocol rests on. kOwn: proposed by whoever wrote it, so there is no paper to follow.
enum class Source { kFullText, kAbstractAndCode, kMemory, kOwn };

/// A run of the protocol, before it starts: its settings, so that facts may depend on them.
struct Setting {
  const KnobValues& knobs;
  const Topology& graph;  // of the workers
  int workers;
  std::vector<int> host_of = {};  // worker -> host; empty: every worker on its own
  std::int64_t parameters = 0;    // of the model, where the suite sets their number; 0: it does not
  int batch = 0;                  // of one worker, at the start
};

struct Protocol {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view paper;    // authors, title, venue
  std::vector<Knob> knobs;
  void (*body)(Node&, const KnobValues&);                // of every rank; a server asks node.is_server()
  int (*extra_ranks)(const Setting&) = nullptr;          // servers: ranks workers .. workers + extra - 1; nullptr: none
  std::vector<Edge> (*links)(const Setting&) = nullptr;  // who talks to whom (either way); nullptr: the graph's edges
  std::string (*refuse)(const Setting&) = nullptr;       // why this setting is impossible; empty or nullptr: it is not
  std::string (*note)(const Setting&) = nullptr;  // what a user should know of this setting; empty or nullptr: nothing
  Control (*control)(const KnobValues&) = nullptr;     // nullptr: kLockstep
  bool (*follows_times)(const KnobValues&) = nullptr;  // parameters depend on who is faster; nullptr: off lock step
  OnLoss (*on_loss)(const KnobValues&) = nullptr;      // nullptr: kStops
  /// Returns true if workers compute on samples of other workers' parts. Moving them costs nothing. nullptr: they do
  /// not.
  bool (*moves_data)(const KnobValues&) = nullptr;
  bool (*reads_load)(const KnobValues&) = nullptr;  // of processors, as a monitor shows it (Node::load); nullptr: never
  StepFactor step_factor = StepFactor::kUnchanged;
  int (*free_run)(const KnobValues&) = nullptr;  // iterations a rank may run ahead at the start (for the warm-up)
  /// The most iterations by which one worker may be ahead of another that is still at work; nothing: any number.
  /// nullptr: no such bound is known.
  std::optional<std::int64_t> (*gap_bound)(const Setting&) = nullptr;
  BatchBounds (*batches)(const Setting&) = nullptr;  // that a worker may be given; nullptr: the trial's only
  Source source = Source::kOwn;
  std::string_view reading;                           // which named reading of the paper: "hop/H1-H17"
  bool (*experimental)(const KnobValues&) = nullptr;  // rests on [memory M] or [memory L]; nullptr: it does not
};

/// A fact that is the same in every setting: `.control = always<Control::kSchedule>`.
template <auto fact, class Settings>
auto always(const Settings&) {
  return fact;
}

/// For .gap_bound where workers go from barrier to barrier.
inline std::optional<std::int64_t> one_ahead(const Setting&) { return 1; }

/// Whether every rank does every iteration: such a trial stops after the same one everywhere.
bool in_lockstep(const Protocol& protocol, const KnobValues& knobs);
/// Whether it ends with the same parameters, bit for bit, on every transport and whoever is slow.
bool same_everywhere(const Protocol& protocol, const KnobValues& knobs);
/// Whether the survivors of a worker that dies go on.
bool continues(const Protocol& protocol, const KnobValues& knobs);
/// As lists and labels write it.
const char* to_string(Source source);
/// Whether these settings are marked as experimental in lists and tables.
bool is_experimental(const Protocol& protocol, const KnobValues& knobs);

/// Why this setting is impossible, by the protocol's own `refuse` or because servers would have no parameters to keep;
/// empty: it is not.
std::string why_impossible(const Protocol& protocol, const Setting& setting);

/// In the order of protocols/registry.cpp, then those built in from elsewhere (--protocols DIR).
std::span<const Protocol* const> protocols();
/// Error(kUsage) with the nearest known name.
const Protocol& find_protocol(std::string_view name);

}  // namespace hopbench
