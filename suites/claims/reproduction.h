// Verdicts on the claims of a paper: from runs of its suites, or from results that are there.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "suites/claims/claim_text.h"

namespace hopbench {

/// The claims of a paper that are judged.
struct ClaimChoice {
  std::vector<std::string> claims;  // ids; empty: all
  std::string profile;              // smoke | full; empty: smoke, or what the results of `from` were run with
  std::string from;                 // folder with results; empty: the suites are run
};

/// Returns the papers of ./suites/papers and of those that come with the program.
std::vector<Paper> all_papers();
std::vector<std::string> paper_names();
/// Returns a paper by its name, or by its folder. Error(kUsage) if there is none.
Paper paper_called(const std::string& name);
/// Returns the files of the paper that a reproduction reads.
std::vector<std::string> files_of(const Paper& paper);
/// Throws SuiteError if a claim is about a metric that trials do not have.
void check_metrics(const Paper& paper);
/// Error(kUsage) if a claim that is chosen is not the paper's.
void check_ids(const ClaimChoice& options, const Paper& paper);

/// A paper, and what of it is judged.
struct Reproduction {
  const ClaimChoice& options;
  const Paper& paper;
  std::string profile, folder;               // of the results
  std::map<std::string, Suite> suites = {};  // by file: those that are to run
  std::vector<JudgedClaim> judged = {};
  int worst = 0;  // exit code of the runs

  std::vector<const Claim*> claims_of(const std::string& suite) const;
  void add(const Claim& claim, const std::string& with_profile, const std::string& not_run, double minutes);
  void judge_all(const PaperSuite& suite, const std::vector<Outcome>& outcomes, const std::string& with_profile,
                 double minutes);
};

/// Returns the folder for the results of a suite.
std::string folder_of(const Reproduction& to, const std::string& suite);

/// Runs a suite of the paper, which has this name, into folder_of(). Throws to end the reproduction.
using SuiteRunner = std::function<void(const PaperSuite&, const std::string& name)>;

/// Reads and checks every suite that is to run, so that what would stop the last trial is found before the first one.
void load_suites(Reproduction& to);
/// Runs the suites, and judges the claims by what comes out.
void reproduce_all(Reproduction& to, const SuiteRunner& run);
/// Judges the claims by the results in `from`. Error(kUsage) if it holds no run of the paper's suites.
void judge_results(Reproduction& to);

}  // namespace hopbench
