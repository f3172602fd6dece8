// The flags of commands that run trials, as they are typed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hopbench {

/// The processes of a run. join.h reads it.
struct GatheringOptions {
  std::string rendezvous, interface;      // where several processes meet, and over which network
  std::string rendezvous_timeout;         // empty: 30 s
  std::string hosts, ssh = "ssh";         // a host file; how to reach its hosts
  std::string shard;                      // "2/3": a part of the trials (shard.h); empty: all
  std::vector<std::string> command_line;  // for the context
};

/// The trials of a run, how they are run, and what is kept of them.
struct CampaignOptions : GatheringOptions {
  std::string filter, exclude;  // regular expressions on trial ids
  std::string resume;           // folder of an interrupted run
  bool retry_failed = false, force = false;
  std::string strands = "fibers";
  std::uint64_t shuffle = 0;
  int threads = 0;                           // of a simulation; 0: all cores
  int jobs = 0;                              // trials of virtual time at once; 0: one per core
  std::vector<std::string> dump;             // params, gradients, samples
  std::string events = "brief";              // none | brief | all: of the event logs
  std::string trial_timeout, stall_timeout;  // empty: as in TrialSpec
};

}  // namespace hopbench
