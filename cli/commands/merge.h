// `hopbench merge`: the folders of all shards of a run -> the folder of the whole run.
#pragma once

#include <string>
#include <vector>

namespace hopbench {

struct MergeOptions {
  std::vector<std::string> folders;  // of shards, in any order
  std::string output;                // folder, new or empty
  bool partial = false;              // merge although trials are missing
  bool colour = false, wide = false;
  std::vector<std::string> command_line;  // for the context
};

/// Writes `output`, whose trials, ranks, curve and event logs have the same bytes as if the run had never been divided.
/// It is written beside its place and renamed at the end, so a merge that fails leaves nothing there. Returns the exit
/// code. Error(kUsage) if the folders are not shards of one run by this same program, a trial is there twice with
/// different results, or trials are missing (unless `partial`).
int command_merge(const MergeOptions& options);

}  // namespace hopbench
