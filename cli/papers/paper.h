// `hopbench reproduce`: the claims of papers, run and judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/judge/claims.h"
#include "suites/claims/paper.h"

namespace hopbench {

struct ReproduceCommand {
  std::string paper;                // a name, or a folder with an expected.toml; empty: lists the papers
  bool list = false;                // its claims
  bool kick_the_tires = false;      // the smoke sizes of every paper whose data is there
  std::vector<std::string> claims;  // ids; empty: all
  std::string profile;              // smoke | full; empty: smoke, or what the results of --from were run with
  std::string output, from;         // folders; empty output: hopbench-results/<utc>-<id>; empty from: runs the suites
  std::optional<std::string> json;  // absent, "-" (standard output), or a file
  std::string markdown;             // a file; empty: none
  std::vector<std::string> command_line;
};
/// Returns 0 if every verdict is the expected one, 1 if not, 3 if trials failed that no verdict shows, 6 without data.
int command_reproduce(const ReproduceCommand& options);

/// A claim and its result.
struct JudgedClaim {
  std::string paper, profile, command, caption;  // command: the one that repeats it
  Claim claim;
  std::optional<Finding> finding;  // nothing: not run
  std::string not_run;             // why
  double minutes = 0;              // of its suite: measured, or from expected.toml if nothing ran
  bool expected() const;
};

/// Returns the papers of ./suites/papers and of $HOPBENCH_ROOT/suites/papers.
std::vector<std::string> paper_names();

// paper_text.cpp
std::string papers_text(const std::vector<Paper>& papers);
std::string claims_text(const Paper& paper);
std::string judged_text(const Paper& paper, const std::vector<JudgedClaim>& claims);
std::string judged_json(const std::vector<JudgedClaim>& claims);
std::string judged_markdown(const std::vector<JudgedClaim>& claims);
std::string command_of(const Paper& paper, const Claim& claim, const std::string& profile);
/// Returns "needs ci/fetch-data cifar10"; "" if all data is there.
std::string missing_data(const PaperSuite& suite);

}  // namespace hopbench
