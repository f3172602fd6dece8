// Papers, their claims and what became of them, as `hopbench reproduce` prints and writes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/claims/claims.h"
#include "suites/claims/paper.h"

namespace hopbench {

/// A claim and its result.
struct JudgedClaim {
  std::string paper, profile, command, caption;  // command: the one that repeats it
  Claim claim;
  std::optional<Finding> finding;  // nothing: not run
  std::string not_run;             // why
  double minutes = 0;              // of its suite: measured, or from expected.toml if nothing ran
  bool expected() const;
};

std::string papers_text(const std::vector<Paper>& papers);
std::string claims_text(const Paper& paper);
std::string judged_text(const Paper& paper, const std::vector<JudgedClaim>& claims);
std::string judged_json(const std::vector<JudgedClaim>& claims);
std::string judged_markdown(const std::vector<JudgedClaim>& claims);
std::string command_of(const Paper& paper, const Claim& claim, const std::string& profile);
/// Returns "needs ci/fetch-data cifar10"; "" if all data is there.
std::string missing_data(const PaperSuite& suite);

}  // namespace hopbench
