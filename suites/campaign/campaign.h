// Runs trials: several trials of virtual time at once, on all processes of a run, and each trial in real processes
// alone. Every command that runs trials does it through here.
//
//   plan (trials) --> run_campaign --> at_once --> execute_trial           here
//                                          \-----> errands --> agents      in the other processes (errands.h)
//                          \--> keep(row), in the order of the plan
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "results/files/run_folder.h"
#include "suites/trial/execute.h"

namespace hopbench {

struct CampaignSetting {
  Fleet* fleet = nullptr;  // all processes of the run; nullptr: this one is alone
  int jobs = 0;            // trials of virtual time at once, in each process; 0: one per core
  /// Returns the files that a trial writes, event log and dump, in options that are empty but for them.
  std::function<ExecuteOptions(const TrialSpec&)> files = [](const TrialSpec&) { return ExecuteOptions(); };
  bool rates = true;  // false: nobody asks for rates, so warnings, which are about them, are left out
  const std::atomic<int>* interrupts = nullptr;  // nullptr: ^C and SIGTERM of this process
  /// Runs a trial of this process. Tests have their own.
  std::function<TrialRecord(const TrialSpec&, const ExecuteOptions&)> execute = execute_trial;
};

/// Runs the trials and hands their rows to `keep`, on the caller's thread. Rows come in the order of the trials,
/// whichever ends first, so that what is made of them does not depend on the number of jobs and processes. Shows the
/// progress and the time left on standard error. A trial that the machine disturbed is measured again, `remeasure`
/// times at most, whatever came out. Begins no trial after a ^C; those that are under way end early, and their rows say
/// that they were interrupted. Of a trial that failed, the row says why. Throws what `keep` throws.
void run_campaign(const std::vector<const TrialSpec*>& trials, const CampaignSetting& setting,
                  const std::function<void(TrialRow)>& keep);

/// Runs all trials and returns their rows. Error(kInterrupted) after ^C, which is not reported.
std::vector<TrialRow> run_all(const std::vector<TrialSpec>& trials, const CampaignSetting& setting = {});

}  // namespace hopbench
