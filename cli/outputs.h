// Where a run's results go: the tables on standard output, or what --json, --csv and --markdown ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run.h"
#include "results/run_folder.h"
#include "results/table.h"

namespace hopbench {

/// Nowhere, to standard output ("-") or into a file. Error(kEnvironment) if that cannot be written.
void put(const std::optional<std::string>& where, const std::string& text);

/// Adds to the file that $GITHUB_STEP_SUMMARY names. Error(kUsage) if the variable is not set.
void append_github_summary(const std::string& text);

/// A file that a command is to write, by the flag that names it; an empty path: none.
struct Output {
  const char* flag;
  std::string path;
};
/// Error(kUsage) if one of them cannot be written, or --github-summary is asked for and $GITHUB_STEP_SUMMARY is not set
/// or cannot be written. Writes nothing: to be called before anything is measured.
void check_writable(const std::vector<Output>& outputs, bool github_summary);

/// Error(kUsage) if a file of --json, --csv or --markdown cannot be written. Writes nothing.
void check_outputs(const RunOptions& options);

/// Several suites' tables follow each other; their rows are one JSON document and one CSV table.
class Outputs {
 public:
  explicit Outputs(const RunOptions& options) : options_(options) {}
  /// Writes the folder's summary.md, prints its tables. A standard output that takes nothing is an error of write().
  void add(const Suite& suite, const RunFolder& folder);
  /// Error(kEnvironment) if something could not be written.
  void write() const;

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

/// Error(kUsage) if there is a run in it.
void check_free(const std::string& folder);
/// Version and commit that made a run, from its context.json.
std::string maker_of(const std::string& context_json);

/// hopbench-results/<utc>-<id>
std::string new_folder_name();

/// calibration.json in the folder: so that a resumed run keeps the costs of the first part.
std::vector<Calibrated> read_calibrations(const RunFolder& folder);
void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations);

}  // namespace hopbench
