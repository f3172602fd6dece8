// Where a run's results go: the tables on standard output, or what --json, --csv and --markdown ask for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/run.h"
#include "results/run_folder.h"
#include "results/table.h"

namespace hopbench {

/// The files that the command line names for reading.
std::vector<std::string> files_read_by(const RunOptions& options);

/// Checks what --json, --csv, --markdown, --junit and --github-summary name, as check_output_files() does.
void check_outputs(const RunOptions& options, std::span<const std::string> inputs);

/// Several suites' tables follow each other; their rows are one JSON document and one CSV table.
class Outputs {
 public:
  explicit Outputs(const RunOptions& options) : options_(options) {}
  /// Writes the folder's summary.md, prints its tables. A standard output that takes nothing is an error of write().
  void add(const Suite& suite, const RunFolder& folder);
  /// Error(kEnvironment) if something could not be written.
  void write() const;
  /// The same for a run that an error ends: what was measured before is not lost. Tells what cannot be written.
  void write_what_there_is() const;

 private:
  const RunOptions& options_;
  std::vector<TrialRow> rows_;
  std::vector<Grid> grids_;
  std::string context_, markdown_;
  std::optional<Error> broken_;
};

/// To look at a run. On standard error it is told if its last line is torn, which leaves a trial out, at least.
RunFolder open_run(const std::string& folder);
void tell_cut_off(const std::string& folder, std::size_t trials);

/// Version and commit that made a run, from its context.json.
std::string maker_of(const std::string& context_json);

/// hopbench-results/<utc>-<id>
std::string new_folder_name();

/// calibration.json in the folder: so that a resumed run keeps the costs of the first part.
std::vector<Calibrated> read_calibrations(const RunFolder& folder);
void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations);

}  // namespace hopbench
