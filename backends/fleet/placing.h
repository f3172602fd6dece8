// Decides which process of a run starts which rank of a trial.
#pragma once

#include <string>
#include <vector>

#include "backends/base/local_place.h"

namespace hopbench {

struct Places {
  std::vector<int> host_of;  // process -> its machine, numbered from 0 in the order of their first processes
  std::vector<int> slots;    // process -> number of ranks it may start, or kAnyNumber; empty: any number each
};
inline constexpr int kAnyNumber = -1;

struct RankDemand {
  int workers = 1, servers = 0;  // servers follow the workers
  /// Rank -> host as the suite draws it ([network] hosts); empty: the suite does not say.
  std::vector<int> host_of;
  std::string trial;  // for messages
};

/// Returns rank -> process. If the suite names hosts, its host h is machine h, and the ranks of a machine take turns
/// among its processes. Else, if there are enough processes, each worker has its own. Else, with one process a machine,
/// workers are in blocks as even as possible, or as slots say. If there is one server per worker, it is where its
/// worker is. Others are where worker 0 is (if the suite names hosts: on their own, or on machine 0 if there is none).
/// Throws Error(kUsage) if they do not fit, naming what there is, what the trial wants and what to change.
std::vector<int> place_ranks(const Places& places, const RankDemand& who);

/// Returns, for each rank, its place among the ranks of its machine.
std::vector<LocalPlace> local_places(const Places& places, const std::vector<int>& process_of);

}  // namespace hopbench
