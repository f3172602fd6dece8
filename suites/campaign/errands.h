// Trials in virtual time that the other processes of a run compute.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backends/fleet/fleet.h"
#include "suites/campaign/at_once.h"

namespace hopbench {

/// The part that a process takes in trials of virtual time.
struct Share {
  int process = 0;
  int cores = 1;  // for its trials
  int jobs = 0;   // number of trials at once; 0: none
};

/// Returns the shares of all processes of the run, process 0 first. Its own is that of a run without others if `fleet`
/// is nullptr. `jobs`: --jobs, for each process; 0: one trial a core. Processes of one machine that are not pinned to
/// cores share them evenly. A process whose machine has other instruction sets than that of process 0 gets no trials,
/// since its results could differ in the last bits; `tell` is told so.
std::vector<Share> shares_of(Fleet* fleet, int jobs, const std::function<void(const std::string&)>& tell);

/// Reduces the jobs so that few trials are spread over all processes and not computed at once by the first one.
void spread(std::vector<Share>& shares, std::size_t trials);

/// The steps of a piece of work that another process does. `keep` and `lost` are called on the thread of
/// do_elsewhere().
struct ErrandWork {
  std::function<Errand(std::size_t piece, const Share& share, int slot)> errand;  // the process begins it
  std::function<void(std::size_t piece, const Share& share, LaunchResult result)> keep;
  std::function<void(std::size_t piece)> lost;  // it will be begun again
  std::function<int()> interrupts;              // number of ^C
  std::function<void(const std::string&)> tell;
};

/// Hands pieces to the agents of `shares` (process 0 left out) until there are none. If an agent is lost, or its
/// machine lacks something that a piece needs, its pieces are given back, and it gets no more.
void do_elsewhere(Fleet& fleet, const std::vector<Share>& shares, Pieces& pieces, const ErrandWork& work);

}  // namespace hopbench
