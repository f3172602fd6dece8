// Trials of virtual time that an answer rests on.
#pragma once

#include <vector>

#include "results/files/run_folder.h"
#include "suites/trial/trial.h"

namespace hopbench {

/// Runs trials of virtual time, one on each core, and hands their rows on in the order of the trials.
/// Error(kInterrupted) after ^C, which is not reported. Of a trial that failed, the row says why.
std::vector<TrialRow> run_virtual(const std::vector<TrialSpec>& trials, int jobs);

}  // namespace hopbench
