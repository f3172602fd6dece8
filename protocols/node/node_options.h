// The settings of a Node.
#pragma once

#include <functional>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/time.h"
#include "backends/runtime/budget.h"
#include "backends/runtime/scenario.h"
#include "models/workload.h"
#include "protocols/node/optimizer.h"
#include "protocols/node/protocol.h"
#include "protocols/node/topology.h"

namespace hopbench {

struct StopRule {
  Iter iterations = 0;  // a rank runs iterations 0 .. iterations-1; with credits: no limit of its own
  Credits* credits =
      nullptr;  // not null: each iteration takes one (protocols that are not in lock step, under `samples`)
};

/// The costs of work on the trial's clock, from a calibration or the suite, never from a stopwatch during the trial.
struct Costs {
  Duration gradient{};            // of one batch; scaled by samples / batch
  int saturation = 0;             // fewer samples take as long as this number (a GPU that is not full); 0: never
  double vector_bytes_per_s = 0;  // of mean and step (bytes read + written); 0: free
  std::int64_t wire_bytes = 0;    // that the whole model is charged with, in messages and operations; 0: its own
};

/// The errors of the monitor that shows a worker the load of its host (Node::load).
struct LoadMonitor {
  double noise = 0;  // standard deviation of the error of `cpu`; each reading has an error of its own
  int delay = 0;     // the number of readings by which it lags
};

struct NodeOptions {
  int rank = 0, workers = 1, servers = 0;
  const Topology* graph = nullptr;  // of the workers; outlives the node
  const Protocol* protocol = nullptr;
  KnobValues knobs;
  OptimizerSpec optimizer;
  StopRule stop;
  Costs costs;
  Scenario scenario;
  LoadMonitor monitor = {};
  const std::vector<int>* host_of = nullptr;  // rank -> host, outlives the node; null: one rank per host
  const std::vector<int>* peers = nullptr;    // that it is connected with, ascending; outlives the node; null: none
  std::uint64_t seed = 1;
  std::uint32_t repeat = 0;
  /// Receives what report() hands on. The rank has the turn. May be empty.
  std::function<void(Iter k, Time when, std::int64_t samples, const Vec& x)> snapshot;
  /// Receives the last reported model, once the rank's iterations are over. It receives no other, because sharing a
  /// model costs a copy at its next change. May be empty.
  std::function<void(const Payload& x)> final_model;
  /// Called with each gradient once it is computed, and with the samples that it used. The rank has the turn. May be
  /// empty.
  std::function<void(Iter k, const Samples& samples, const Vec& values)> computed = {};
  /// Ends this rank without notice, where the scenario crashes it at an iteration; does not return.
  std::function<void()> crash = {};
  bool kept_is_watched = false;  // kept() is called while a step is under way, which must show only when over
  double noise = 0;              // of gradients, in virtual time: see noise_factor
  double loss = 0;               // probability that a message is lost which may be: see Node::may_lose
};

}  // namespace hopbench
