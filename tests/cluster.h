// A cluster in virtual time for tests, and the small language they are written in:
//
//   Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}};
//   cluster.run("hop", {{"backup", 1}});
//   EXPECT_LE(cluster.lead_max(), 4);
//   EXPECT_EQ(cluster.broken(), "");        // what the checkers found
//
// It runs any protocol, registered or a test's own, on the quadratic objective; every run has the checkers that apply.
// It knows nothing of suites: Simulation, Node, Workload.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "backends/runtime/scenario.h"
#include "backends/runtime/virtual/network.h"
#include "backends/runtime/virtual/strand.h"
#include "models/workload.h"
#include "protocols/node/node.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"
#include "tests/checkers/checkers.h"

namespace hopbench {

/// Fibers, but threads where this build has none.
StrandKind usual_strands();

using Knobs = std::map<std::string, KnobValue>;

struct Snapshot {
  Iter k = 0;  // finished iterations
  Time when{};
  std::int64_t samples = 0;
  Payload x{};
};

struct Cluster {
  // The settings of a run. A test sets those that it is about.
  int nodes = 8;
  std::map<int, double> slow{};        // rank -> its gradients take this many times longer
  std::vector<ComputeRule> compute{};  // further rules
  std::string topology = "ring_based";
  std::vector<Edge> edges{};  // if not empty: instead of a topology
  Iter iterations = 20;       // a rank
  std::int64_t credits = 0;   // if not 0: shared by all ranks, instead of iterations
  std::uint64_t seed = 1;
  std::uint32_t repeat = 0;
  std::uint64_t shuffle = 0;
  StrandKind strands = usual_strands();
  int threads = 1;
  bool instant_network = false;
  double message_loss = 0;  // of messages that may be lost
  NetworkSpec network{};
  Costs costs{.gradient = std::chrono::milliseconds(10), .vector_bytes_per_s = 0};
  OptimizerSpec optimizer{};
  WorkloadSpec workload{.model = "quadratic", .dataset = "", .batch = 4, .backend = "reference", .size = 8};
  std::map<int, Time> killed{};  // rank -> when it dies
  std::vector<Fault> faults{};   // of workers, but no crashes: see killed
  std::map<int, Iter> leaves{};  // rank -> it does no more than so many iterations, and ends in order
  bool keep_events = false;
  bool dense_form = false;  // of a workload with sparse gradients: hands them on as dense ones

  // The results of the last run.
  int servers = 0;
  std::vector<RankRecord> records{};             // of workers, then servers
  std::vector<std::vector<Snapshot>> reports{};  // of each worker
  std::vector<Event> events{};                   // with keep_events
  std::uint64_t events_hash = 0;                 // of every event, in order
  std::int64_t events_seen = 0;
  std::set<int> dead{};                        // who was killed before it had finished
  std::map<std::pair<int, int>, Iter> lead{};  // (i, j): most that Iter(i) was ahead of Iter(j), both live
  Time end{};
  std::shared_ptr<checkers::Checkers> checks{};
  std::shared_ptr<Workload> work{};

  /// Error or deadlock: thrown, as the simulation throws it.
  void run(const std::string& protocol, const Knobs& knobs = {});
  void run(const Protocol& protocol, const Knobs& knobs = {});

  Topology graph() const;
  /// Most that any worker was ahead of another live one.
  Iter lead_max() const;
  Iter lead_over(int ahead, int behind) const;
  /// The workers that were not killed before they had finished.
  std::vector<int> survivors() const;
  /// The last report of a worker: its model when it finished.
  const Payload& params(int worker) const;
  /// All workers' final vectors in rank order.
  std::uint64_t params_hash() const;
  /// Every worker's batch of iteration k, in samples.
  std::vector<int> batches(std::size_t k) const;
  std::vector<float> mean_model() const;
  /// On the evaluation subset: of a model, of the mean model, of the model before the first step.
  double loss(const Payload& x) const;
  double loss() const;
  double initial_loss() const;
  std::int64_t total(std::int64_t RankRecord::*count) const;
  /// Returns the checkers' findings, a line each; empty if all is well.
  std::string broken() const;
  /// Returns true if the checker of that name found something.
  bool caught_by(const std::string& checker) const;
  const checkers::Checker* checker(const std::string& name) const;  // nullptr: does not apply
};

/// Between two models, Euclidean.
double distance(const std::vector<float>& a, const std::vector<float>& b);

/// Returns what a registered protocol notes of such a setting for `validate`; empty: nothing.
std::string note_of(const std::string& protocol, const Topology& graph, const Knobs& knobs = {});

/// Returns the facts about such a run that checkers need.
checkers::CheckedRun checked_run(const Cluster& cluster, const Protocol& protocol, const KnobValues& knobs);

}  // namespace hopbench
