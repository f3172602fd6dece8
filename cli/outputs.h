// The outputs of a run: the tables on standard output, or what --json, --csv and --markdown ask for.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/run.h"
#include "results/files/run_folder.h"
#include "results/tables/table.h"

namespace hopbench {

/// Checks what --json, --csv, --markdown, --junit and --github-summary name, as check_output_files() does.
void check_outputs(const RunOptions& options, std::span<const std::string> inputs);

/// The outputs of several suites. Their tables follow each other; their rows are one JSON document and one CSV table.
class Outputs {
 public:
  explicit Outputs(const RunOptions& options);
  /// Writes the folder's summary.md and prints its tables, fitted to the terminal if there is one. If standard output
  /// cannot be written, write() throws.
  void add(const Suite& suite, const RunFolder& folder);
  /// Writes the outputs. Error(kEnvironment) if something could not be written.
  void write() const;
  /// Does the same for a run that an error ends, so that its measurements are not lost. Reports what cannot be written.
  void write_what_there_is() const;

 private:
  std::string fitted_tables(std::vector<Table> tables);

  const RunOptions& options_;
  const std::size_t columns_;  // of the terminal; without one, or with --wide, any number
  std::vector<TrialRow> rows_;
  std::vector<Table> tables_;
  std::set<std::string> said_;  // notes that stand below an earlier table
  std::string context_, markdown_;
  std::optional<Error> broken_;
};

/// Opens a run to look at it. Reports on standard error if its last line is torn, which leaves out at least one trial.
RunFolder open_run(const std::string& folder);
void tell_cut_off(const std::string& folder, std::size_t trials);

/// Returns hopbench-results/<utc>-<id>.
std::string new_folder_name();

}  // namespace hopbench
