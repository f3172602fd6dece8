// suites/papers/NAME/expected.toml names the claims of a paper, the suites that show them, and the results expected
// here. docs/papers.md has every key.
#pragma once

#include <string>
#include <vector>

#include "suites/claims/claim.h"
#include "suites/language/suite.h"

namespace hopbench {

/// A suite of a paper, and what it takes to run it.
struct PaperSuite {
  SourceLocation place;
  std::string file;               // beside expected.toml
  std::vector<std::string> data;  // names of data sets; empty if all data is drawn
  std::string memory;             // "1 GiB"
  double smoke_minutes = 0, full_minutes = 0;
};

struct Paper {
  std::string name, folder;         // suites/papers/dssp is dssp
  std::string title, venue, sizes;  // sizes: the sizes that are smaller here, and why
  std::vector<PaperSuite> suites;
  std::vector<Claim> claims;
  std::vector<SourceLocation> places;  // of each claim

  const PaperSuite& suite(const std::string& file) const;  // of a claim
};

/// Returns "smoke" and "full": the suite's [profile.smoke], and the suite as it stands.
const std::vector<std::string>& paper_profiles();
SuiteOptions options_of_profile(const std::string& profile);

/// Throws SuiteError with every mistake.
Paper parse_paper(const std::string& text, const std::string& file, const std::string& folder);
Paper load_paper(const std::string& folder);
/// Returns the name that the runs of this file have; its data need not be there. Error(kUsage) if it cannot be read.
std::string suite_name(const std::string& file);

/// Checks that the selections of this suite's claims exist. Throws SuiteError if a selection matches nothing in the
/// suite, or more than one thing. `suite` is the file as it is with this profile.
void check_claims(const Paper& paper, const std::string& file, const std::string& profile, const Suite& suite);

}  // namespace hopbench
