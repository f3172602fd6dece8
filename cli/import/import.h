// `hopbench import`: recordings of training jobs as traces, which scenarios replay.
#pragma once

#include <string>
#include <vector>

#include "suites/import/decompose.h"
#include "suites/import/readers.h"

namespace hopbench {

struct ImportCommand {
  std::string format;              // csv, kineto or perfetto
  std::vector<std::string> paths;  // files; of kineto also directories
  std::string output;              // the trace; "-": standard output
  bool force = false;              // write over a file that is there
  CsvColumns columns;              // of csv
  std::string parallel;            // of kineto and perfetto: "dp2 pp4 tp1"; empty: not set
  int replicas = 0;                // the same; 0: not set
  bool align = false;              // of perfetto
  int skip = 0;                    // first steps that are left out
  /// Words in names of communication, of kineto and perfetto.
  std::vector<std::string> communication;
};
/// Writes the trace, and prints statistics and the simplest scenario that fits: on standard output, or on standard
/// error if the trace goes there. Error(kUsage) if a file cannot be read or the trace exists.
int command_import(const ImportCommand& options);

/// Returns what `import` prints: rows, clocks, statistics, and the scenario as part of a suite.
std::string import_report(const Imported& imported, const Decomposition& decomposition, const std::string& trace_name);

}  // namespace hopbench
