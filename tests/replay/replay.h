// Oracles: what every worker's model must be after each iteration, worked out again from the event log alone, in
// doubles and without protocols/. Checkers see who waits for whom and what is averaged; these see that the numbers are
// those.
#pragma once

#include <string>
#include <vector>

#include "backends/base/record/event.h"
#include "tests/cluster.h"

namespace hopbench {

// Each returns the first report of a run with events that differs from the replay, or a term that no rank sent; "" if
// all is well. For plain momentum: no steps of the learning rate, no weight decay.

/// Gossip: dpsgd, hop.
std::string replayed(const Cluster& cluster, const Knobs& knobs);
/// The facts about a protocol that the oracle of servers needs.
struct ServerRules {
  bool shared = false;           // samples are of one order of all workers
  double step_of_mean = 1;       // factor of the learning rate where an update is of several gradients
  double step_of_one = 1;        // the same where it is of one
  int divisor = 0;               // of a sum of gradients; 0: their number
  double lambda = 0, decay = 0;  // DC-ASGD's
  bool adaptive = false;
};
/// Parameter servers whose workers push and wait: all but flexrr.
std::string replayed_at_servers(const Cluster& cluster, const ServerRules& rules = {});
/// Averages of gradients (allreduce, lb_bsp), or of models within groups (local_sgd, ds_sync, lasgd, selsync, prague,
/// partial_reduce) and pairs (adpsgd, gossipgrad). Of selsync also who raises a flag.
std::string replayed_in_groups(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// Methods with outer steps: diloco, streaming_diloco, slowmo, overlap_local_sgd, co2, noloco, hivemind; with one
/// server easgd and async_diloco.
std::string replayed_outer(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// Gossip under skewed data, and over graphs that change: exact_diffusion, d2, gradient_tracking, qg_dsgdm, gossip_pga,
/// consensus_control, r_fast, one_peer, matcha, dsgd_aau, moshpit; also daso.
std::string replayed_skewed(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// Methods that cut work short: dropcompute, abs_sgd, a_edit, dybw.
std::string replayed_cut(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// Compressed gradients: powersgd; error_feedback by the largest entries, or by signs if a compressor is given.
std::string replayed_compressed(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// netmax, decoupled_diloco, halos.
std::string replayed_regions(const Cluster& cluster, const std::string& protocol, const Knobs& knobs);
/// Checks how many gradients dbw's server waits for. Returns the first announcement that another number would beat.
std::string replayed_choices(const Cluster& cluster, int window);

/// Calls the oracle for the protocol.
std::string replayed_as(const std::string& protocol, const Cluster& cluster, const Knobs& knobs);

// For these oracles.
/// Returns a number (or 1 or 0 for a flag) among the knobs; `otherwise` if it is not set.
double number_in(const Knobs& knobs, const std::string& name, double otherwise);
using Numbers = std::vector<double>;
Numbers numbers_of(const Payload& x);
/// The gradient of the event's samples at x.
Numbers gradient_at(const Cluster& cluster, const Numbers& x, const Event& event, bool shared);
/// Where x is not what is due: "has 0.2 where 0.1 is due"; "" nowhere.
std::string difference(const Numbers& is, const Numbers& due);
double squared_length(const Numbers& x);
/// Says where a worker's report, by its number, is not `due`; "" nowhere.
std::string misreported(const Cluster& cluster, int worker, std::size_t report, const Numbers& due);

/// A model, and the momentum of SGD on it.
struct Trained {
  Numbers x, momentum;
  void step(const Cluster& cluster, const Numbers& g, double factor = 1);
};

}  // namespace hopbench
