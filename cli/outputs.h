// Where a run's results go: the tables on standard output, or what --json, --csv and --markdown ask for.
#pragma once

#include <string>
#include <vector>

#include "cli/run.h"
#include "results/run_folder.h"

namespace hopbench {

void write_outputs(const RunOptions& options, const Suite& suite, const RunFolder& folder);

/// hopbench-results/<utc>-<id>
std::string new_folder_name();

/// calibration.json in the folder: so that a resumed run keeps the costs of the first part.
std::vector<Calibrated> read_calibrations(const RunFolder& folder);
void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations);

}  // namespace hopbench
