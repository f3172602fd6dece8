// The costs of the trials that are paced by calibration.
#pragma once

#include <string>
#include <vector>

#include "suites/trial/execute.h"

namespace hopbench {

class RunFolder;

/// The cost of a combination of workload and ranks.
struct Calibrated {
  std::string key;
  Duration cost{}, step_p99{};
  double vector_bytes_per_s = 0;
};

/// Returns true for a trial whose cost is measured before it runs.
bool needs_calibration(const TrialSpec& spec);
/// Returns a key. Trials with the same key have the same cost: the same arithmetic by the same number of ranks.
std::string calibration_key(const TrialSpec& spec);

/// Returns calibrate(), and tries once more if that fails, since no trial can run without a cost.
Calibration calibrate_twice(const TrialSpec& spec, Fleet* fleet);

/// Sets the cost of every trial that is paced by calibration. Measures each combination of workload and ranks once.
/// `known` are earlier results by key (a resumed run must not measure again); new results are added to it.
void calibrate_trials(std::vector<TrialSpec>& trials, std::vector<Calibrated>& known, Fleet* fleet = nullptr);

/// Read and write calibration.json in the folder, so that a resumed run keeps the costs of the first part.
std::vector<Calibrated> read_calibrations(const RunFolder& folder);
void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations);

}  // namespace hopbench
