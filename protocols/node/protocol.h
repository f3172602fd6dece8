// A protocol as the rest of the program sees it: one function and a table of facts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/node/batch_bounds.h"
#include "protocols/node/knobs.h"
#include "protocols/node/topology.h"

namespace hopbench {

class Node;

/// The inputs of a protocol's control flow, which decide how work is counted and what may be promised
/// (docs/fairness.md, sections 1 and 8).
enum class Control {
  kLockstep,          // every rank does every iteration: stops at iteration ceil(budget / global batch)
  kSchedule,          // ranks may do different amounts of work: iteration credits. Times depend on the schedule only
  kValues,            // ranks may do different amounts of work (credits), and times depend on float values
  kLockstepByValues,  // every rank does every iteration, but the time of one depends on float values
};
enum class OnLoss { kStops, kContinues };  // the reaction to a worker's death; a server's death stops all
/// The change against all-reduce, in which every update is one step by the mean of all workers' gradients.
enum class Changes {
  kRounding,  // nothing else
  kForm,      // every gradient is used, but averaged later, compressed, or in steps of more or fewer of them
  kWork,      // gradients, or samples of them, may be left out, or stay with their worker for any time
};
/// The group of protocols that it belongs to: a directory below protocols/ and a page in docs/protocols/. kOther: it
/// was built in from elsewhere.
enum class Family { kAllReduce, kGossip, kSkewed, kGroups, kHop, kServer, kLate, kOuter, kCut, kCompressed, kOther };
/// The source that the protocol rests on. kOwn: proposed by its author, so there is no paper to follow.
enum class Source { kFullText, kAbstractAndCode, kMemory, kOwn };

/// The settings of a run of the protocol, before it starts, so that facts may depend on them.
struct Setting {
  const KnobValues& knobs;
  const Topology& graph;  // of the workers
  int workers;
  std::vector<int> host_of = {};  // worker -> host; empty: one worker per host
  std::int64_t parameters = 0;    // of the model, if the suite sets their number; 0: it does not
  int batch = 0;                  // of one worker, at the start
};

struct Protocol {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view paper;    // authors, title, venue
  Family family = Family::kOther;
  std::vector<Knob> knobs = {};
  void (*body)(Node&, const KnobValues&);        // of every rank; a server asks node.is_server()
  int (*extra_ranks)(const Setting&) = nullptr;  // servers: ranks workers .. workers + extra - 1; nullptr: none
  std::vector<int> (*extra_hosts)(const Setting&) = nullptr;  // the hosts of those ranks; nullptr: the suite's rule
  std::vector<Edge> (*links)(const Setting&) = nullptr;  // pairs that talk (either way); nullptr: the graph's edges
  bool (*on_topology)(const KnobValues&) = nullptr;    // it asks for a graph; nullptr: if it has no `links` of its own
  std::string (*refuse)(const Setting&) = nullptr;     // why the setting is impossible; empty or nullptr: possible
  std::string (*note)(const Setting&) = nullptr;       // a note to the user about this setting; empty or nullptr: none
  Control (*control)(const KnobValues&) = nullptr;     // nullptr: kLockstep
  bool (*follows_times)(const KnobValues&) = nullptr;  // parameters depend on speeds; nullptr: if not in lock step
  OnLoss (*on_loss)(const KnobValues&) = nullptr;      // nullptr: kStops
  /// Returns true if workers compute on samples of other workers' parts. Moving them costs nothing. nullptr: they do
  /// not.
  bool (*moves_data)(const KnobValues&) = nullptr;
  Changes (*changes)(const Setting&) = nullptr;     // nullptr: kForm
  bool loses_messages = false;                      // it may: see Node::may_lose
  bool keeps_own_momentum = false;                  // in place of SGD's, so that no other optimizer has room for it
  bool (*reads_load)(const KnobValues&) = nullptr;  // uses the load that a monitor shows (Node::load); nullptr: never
  /// Returns the number of workers' gradients in an update of a shared model. Under optimizer.step = "per_sample" the
  /// learning rate is multiplied by this over the number of workers. nullptr: all workers', or models are averaged.
  int (*gradients_per_update)(const Setting&) = nullptr;
  int (*free_run)(const KnobValues&) = nullptr;  // iterations a rank may run ahead at the start (for the warm-up)
  /// Returns true if the others go on without a worker that is away for a while (Node::returned), and it rejoins them.
  /// Needs on_loss = kContinues. nullptr: they wait for it as for a slow worker.
  bool (*rejoins)(const KnobValues&) = nullptr;
  /// Returns the most iterations by which a worker may be ahead of another that is still at work; nothing: any number.
  /// nullptr: no such bound is known.
  std::optional<std::int64_t> (*gap_bound)(const Setting&) = nullptr;
  BatchBounds (*batches)(const Setting&) = nullptr;  // that a worker may be given; nullptr: the trial's only
  Source source = Source::kOwn;
  std::string_view reading;                           // the named reading of the paper: "hop/H1-H17"
  bool (*experimental)(const KnobValues&) = nullptr;  // rests on [memory M] or [memory L]; nullptr: it does not
};

/// Returns a fact that is the same in every setting: `.control = always<Control::kSchedule>`.
template <auto fact, class Settings>
auto always(const Settings&) {
  return fact;
}

/// Returns the .gap_bound of protocols whose workers go from barrier to barrier.
inline std::optional<std::int64_t> one_ahead(const Setting&) { return 1; }
/// Returns the .free_run, or the .gap_bound, of protocols whose workers do not hold each other back for so many periods
/// of the knob `period`.
template <int count>
int periods(const KnobValues& knobs) {
  return count * knobs.integer("period");
}
template <int count>
std::optional<std::int64_t> periods(const Setting& setting) {
  return periods<count>(setting.knobs);
}

/// Returns the factor of the learning rate under optimizer.step = "per_sample", as numerator and denominator.
std::pair<int, int> step_factor(const Protocol& protocol, const Setting& setting);
/// Returns true if every rank does every iteration. Such a trial stops after the same iteration on all ranks.
bool in_lockstep(const Protocol& protocol, const KnobValues& knobs);
/// Returns true if it ends with the same parameters, bit for bit, on every transport and at any speeds of the ranks.
bool same_everywhere(const Protocol& protocol, const KnobValues& knobs);
/// Returns true if the survivors go on when a worker dies.
bool continues(const Protocol& protocol, const KnobValues& knobs);
/// Returns true if it runs on the suite's topology. Others are given a graph without edges.
bool uses_topology(const Protocol& protocol, const KnobValues& knobs);
/// Returns the class of what it changes: 1 if nothing but rounding; 2 if every gradient is used and a bound on the lead
/// is known; else 3 (docs/advice.md).
int class_of_changes(const Protocol& protocol, const Setting& setting);
/// Returns true if they go on while a worker is away, and it rejoins them when it returns.
bool goes_on_without(const Protocol& protocol, const KnobValues& knobs);
/// Return the names that lists, labels and files use: "full text", "all-reduce".
const char* to_string(Source source);
const char* to_string(Family family);
/// Returns true if these settings are marked as experimental in lists and tables.
bool is_experimental(const Protocol& protocol, const KnobValues& knobs);

/// Returns why this setting is impossible, by the protocol's own `refuse` or because servers would have no parameters
/// to keep; empty if it is possible.
std::string why_impossible(const Protocol& protocol, const Setting& setting);

/// Returns all protocols in the order of protocols/node/registry.cpp, then those built in from elsewhere (--protocols
/// DIR).
std::span<const Protocol* const> protocols();
/// Throws Error(kUsage) with the nearest known name if there is no such protocol.
const Protocol& find_protocol(std::string_view name);

}  // namespace hopbench
