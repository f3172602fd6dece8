// suites/papers/NAME/expected.toml: what a paper claims, which suites show it, and what is expected to come out here.
// docs/papers.md has every key.
#pragma once

#include <string>
#include <vector>

#include "results/claim.h"
#include "suites/suite.h"

namespace hopbench {

/// A suite of a paper, with what it takes.
struct PaperSuite {
  Place place;
  std::string file;               // beside expected.toml
  std::vector<std::string> data;  // names of data sets; none where all is drawn
  std::string memory;             // "1 GiB"
  double smoke_minutes = 0, full_minutes = 0;
};

struct Paper {
  std::string name, folder;         // suites/papers/dssp is dssp
  std::string title, venue, sizes;  // sizes: what is smaller here, and why
  std::vector<PaperSuite> suites;
  std::vector<Claim> claims;
  std::vector<Place> places;  // of each claim

  const PaperSuite& suite(const std::string& file) const;  // of a claim
};

/// "smoke" and "full": the suite's [profile.smoke], and the suite as it stands.
const std::vector<std::string>& paper_profiles();
SuiteOptions options_of_profile(const std::string& profile);

/// Throws SuiteError with every mistake.
Paper parse_paper(const std::string& text, const std::string& file, const std::string& folder);
Paper load_paper(const std::string& folder);
/// The name that the runs of this file have; its data need not be there. Error(kUsage) if it cannot be read.
std::string suite_name(const std::string& file);

/// What the claims of this suite select there must be: SuiteError where a selection is nothing in it, or more than one.
/// `suite` is the file as it is with this profile.
void check_claims(const Paper& paper, const std::string& file, const std::string& profile, const Suite& suite);

}  // namespace hopbench
