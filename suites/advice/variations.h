// Changes of a trial, one at a time. They show what an answer depends on, and what another worker or link would bring.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "suites/trial/trial.h"

namespace hopbench {

struct Variation {
  std::string name;  // "network at half the rate"
  std::function<void(TrialSpec&)> apply;
  bool places = false;  // it changes nothing but the hosts of ranks
};
/// Returns the variations that change something of such a trial: the network's rate and latency, the rate of vector
/// operations, and the placement of servers.
std::vector<Variation> variations_of(const TrialSpec& spec);

/// Returns the trial with the scenario's slowdowns for these workers only. All others are ideal: a gradient of theirs
/// takes the median of all that a trace of seconds has, or the pace, without any slowdown. `ranks` may be empty.
TrialSpec only_as_recorded(const TrialSpec& spec, const std::vector<int>& ranks);

/// Returns the trial in which the worker takes `factor` times as long as an ideal one, always. Others stay as they are.
TrialSpec with_speed(const TrialSpec& spec, int rank, double factor);
/// Returns the trial without the worker.
TrialSpec without_worker(const TrialSpec& spec, int rank);

/// A change of a link as it is typed: "0-1=10Gbit/s" between two hosts, "1=10Gbit/s" a host's own NIC.
struct LinkChange {
  int a = 0, b = -1;
  double bandwidth = 0;  // bytes/s
};
/// Error(kUsage) for anything else.
LinkChange parse_link_change(const std::string& text);
TrialSpec with_link(const TrialSpec& spec, const LinkChange& change);

}  // namespace hopbench
