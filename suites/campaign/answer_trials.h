// The trials that the answers of `tune`, `advise` and `whatif` rest on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suites/campaign/campaign.h"
#include "suites/language/suite.h"

namespace hopbench {

/// Where the rows of an interrupted command are kept, and the command line that goes on with them.
struct AnswerPlace {
  const Suite& suite;
  std::string folder;  // new; made if there is something to keep
  std::string resume;  // folder in which an interrupted command has kept its rows; empty: none
  std::vector<std::string> command_line;
  std::string processes = "";  // Gathering::processes_json()
};

/// Trials whose rows are kept if the command is interrupted, so that a later one need not run them again.
class AnswerTrials {
 public:
  /// Error(kUsage) if `place.resume` is not of the same suite, options and build.
  AnswerTrials(AnswerPlace place, CampaignSetting setting);

  /// Returns the rows of the trials, in their order. Runs those that have none. After ^C, writes all rows into a
  /// folder, reports the command that goes on with them, and throws Error(kInterrupted).
  std::vector<TrialRow> rows_of(const std::vector<TrialSpec>& trials);

  /// Writes all rows into the folder `path`, which is new or the one that is resumed, and calls `more` to add to it
  /// before it has its name.
  void write(const std::string& path, const std::function<void(const RunFolder&)>& more);

 private:
  bool has(const TrialSpec& spec) const;
  void add(TrialRow row);
  [[noreturn]] void keep();

  const AnswerPlace place_;
  const CampaignSetting setting_;
  std::optional<RunFolder> resumed_;
  std::vector<TrialRow> rows_;
  std::map<std::string, std::size_t> places_;  // in rows_, by id
};

}  // namespace hopbench
