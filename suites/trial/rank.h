// The child processes of a trial. Each has one role, which its job names; main() fills the table of roles, so that a
// role may lie in any folder.
//
//   launch (launcher)  --job-->  rank_main (child): finds the role, runs it  --its text, or why it failed-->  launcher
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backends/runtime/process/launch.h"
#include "suites/trial/child_task.h"

namespace hopbench {

struct Role {
  std::string_view name;
  /// Returns what the launcher reads. Throws for what goes wrong; the launcher gets the reason.
  std::string (*run)(ChildChannel& channel, const ChildTask& job);
  bool for_others = false;  // a launcher on another machine may ask for it; it must write nothing here
};

/// Runs one rank over a Wire; returns its RankResult.
std::string run_rank(ChildChannel& channel, const ChildTask& job);
/// Runs a whole trial in virtual time; returns its TrialRecord.
std::string run_simulation(ChildChannel& channel, const ChildTask& job);

/// Runs the same for a launcher on another machine and writes nothing here; returns its SimulationResult.
std::string run_simulation_elsewhere(ChildChannel& channel, const ChildTask& job);

/// Runs a child process that launch() started (the hidden command `rank`); returns its exit code.
int rank_main(std::span<const Role> roles);

}  // namespace hopbench
