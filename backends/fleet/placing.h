// Which process of a run starts which rank of a trial.
#pragma once

#include <string>
#include <vector>

#include "backends/base/local_place.h"

namespace hopbench {

struct Places {
  std::vector<int> host_of;  // process -> its machine, numbered from 0 in the order of their first processes
  std::vector<int> slots;    // process -> how many ranks it may start, or kAnyNumber; empty: any number each
};
inline constexpr int kAnyNumber = -1;

struct WhoIsToBePlaced {
  int workers = 1, servers = 0;  // servers follow the workers
  /// Rank -> host as the suite draws it ([network] hosts); empty: the suite does not say.
  std::vector<int> host_of;
  std::string trial;  // for messages
};

/// Rank -> process. Where the suite names hosts, its host h is machine h, and the ranks of a machine take turns among
/// its processes. Otherwise: as many processes as workers or more, one worker each; a process a machine, the workers in
/// blocks as even as can be, or as slots say. One server a worker is where its worker is; others are where worker 0 is
/// (where the suite names hosts: on their own, or with machine 0 if there is none).
/// Error(kUsage) where they do not fit: what there is, what the trial wants, what to change.
std::vector<int> place_ranks(const Places& places, const WhoIsToBePlaced& who);

/// Rank -> its place among the ranks of its machine.
std::vector<LocalPlace> local_places(const Places& places, const std::vector<int>& process_of);

}  // namespace hopbench
