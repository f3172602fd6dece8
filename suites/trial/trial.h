// A trial: one variant in one scenario, one seed and repeat, fully resolved. It is plain data, which --resume hashes,
// ranks of a real trial receive, and the context records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/process/limits.h"
#include "backends/base/record/target_model.h"
#include "backends/runtime/network_spec.h"
#include "backends/runtime/scenario.h"
#include "backends/runtime/virtual/strand.h"
#include "models/workload.h"
#include "protocols/node/node_options.h"
#include "protocols/node/topology.h"

namespace hopbench {

/// The kind of measurement (a [[measure]] block of the suite).
enum class MeasureKind { kRate, kConvergence };

struct StopSpec {
  enum class Kind { kIterations, kSamples } kind = Kind::kIterations;
  std::int64_t amount = 50;  // iterations per rank after the warm-up (kIterations); samples of all ranks (kSamples)
};

/// The content of a trial's event log: nothing, what iterations and waits show, or single messages too.
enum class EventDetail { kNone, kBrief, kAll };

struct TrialSpec {
  // Names
  std::string suite, measure, scenario_name, protocol, label;  // label: the variant's name in tables
  MeasureKind what = MeasureKind::kRate;
  int order = 0;                     // index in the run
  int row_order = 0;                 // of its variant in the suite: the order of a table's rows
  bool default_vector_rate = false;  // compute.vector_rate is the default: for a note; not part of the hash

  // The trial itself
  WorkloadSpec workload;  // model, data, batch, split, backend, threads, workers, seed, repeat
  KnobValues knobs;
  OptimizerSpec optimizer;
  std::string topology = "ring_based";
  std::vector<Edge> edges;  // topology = "edges"
  Scenario scenario;
  std::string transport = "auto";  // auto | gloo | shm | sim
  NetworkSpec network;             // sim, or emulated
  bool emulate = false;            // real processes: links are as slow as the network and the scenario say
  bool instant_network = false;    // sim: the schedule's own critical path (no communication, free vector operations)
  StopSpec stop;
  bool pace = true;
  LoadMonitor monitor = {};
  double loss = 0;      // of messages that may be lost: Node::may_lose
  double noise = 0;     // sim: of the time of a gradient, see noise_factor; 0: none
  Costs costs;          // gradient 0: to be calibrated (real processes with pace = "auto")
  Duration step_p99{};  // of a step while all ranks step, if it was calibrated; 0: it was not
  std::uint64_t seed = 1;
  std::uint32_t repeat = 0;
  Iter warmup = 10;  // iterations per rank left out of rates, before the 2 s rule
  Duration warmup_time{std::chrono::seconds(2)};
  int evaluations = 0;     // curve points; 0: only the end
  double target_loss = 0;  // 0: none
  int target_hold = 3;
  int shuffles = 0;  // sim, rates: number of other orders of simultaneous events that are tried; see mark_ties
  TargetModel target_model = TargetModel::kAuto;
  std::string interface;                              // gloo: network interface, "" = loopback
  std::int64_t eager_bytes = std::int64_t{64} << 20;  // gloo: for bodies that are received before their heads are read

  // Limits and schedules; not part of the hash
  Duration rendezvous_timeout = kRendezvousTimeout, stall_timeout = kStallTimeout, trial_timeout = kTrialTimeout;
  int remeasure = 1;  // how often to measure again if the machine disturbed it, whatever came out
  StrandKind strands = StrandKind::kFibers;
  int sim_threads = 0;  // 0: the number of cores
  std::uint64_t shuffle = 0;
  bool ties_alone = false;                   // shuffle does not make messages longer; for mark_ties, never in JSON
  EventDetail events = EventDetail::kBrief;  // of the event log

  int workers() const { return workload.workers; }
  /// Returns the trial with all workers of the suite.
  TrialSpec of_everybody() const;
  /// Returns suite/measure/scenario/label/seed/repeat.
  std::string id() const;
  /// Returns 16 hex digits over everything above the limits, but for `order` and `row_order` (another variant in the
  /// suite moves them) and `step_p99` (measured anew each time).
  std::string hash() const;
};

/// Convert the whole spec to JSON text, which a rank receives and the context stores, and back.
std::string to_json(const TrialSpec& spec);
TrialSpec trial_from_json(const std::string& text);

}  // namespace hopbench
