// Tier T0 of the gate: in virtual time the same suite gives the same seconds, messages, bytes, gaps and staleness every
// time and everywhere, so that any difference is a change of the program.
#pragma once

#include <string>
#include <vector>

#include "results/compare.h"
#include "results/run_folder.h"

namespace hopbench {

/// A trial of virtual time, in base, in head or in both.
struct ExactRow {
  std::string trial;
  Verdict verdict = Verdict::kNoChange;
  double base_s = 0, head_s = 0;         // time_s of both; NaN: it is not there
  std::vector<std::string> differences;  // "ranks[2].messages_sent: 40, 41"
  std::string first_event;               // where the event logs part; empty: they do not, or there are none
};

/// A row for each trial of virtual time, in the order of base's tables, those of head alone last. What is compared is
/// the whole record but for what measures the host. Losses and parameters only count with the `reference` backend:
/// others may round differently on another machine.
///
/// kNoChange: equal. kRegression or kImprovement: by the time it took; a difference that takes no time is a regression
/// until somebody says it is not. kIncomparable: the settings are not those of base, or the two were made
/// with another --events, so that their logs and critical paths differ in any case. kFailed, kMissing, kNew.
std::vector<ExactRow> compare_exact(const RunFolder& base, const RunFolder& head);

/// Every number of the record by its place ("ranks[2].waits.parameters" -> "1200000"), but for what measures the host,
/// for single iterations and for what names the trial.
std::vector<std::pair<std::string, std::string>> exact_fields(const TrialRecord& record, bool values);

/// Of two event logs (plain or gzip): their first difference in words, with its time; empty if there is none or one of
/// them cannot be read.
std::string first_difference(const std::string& base_log, const std::string& head_log);

}  // namespace hopbench
