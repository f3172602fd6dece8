// Tier T0 of the gate: in virtual time the same suite gives the same seconds, messages, bytes, gaps and staleness every
// time and everywhere, so that any difference is a change of the program.
#pragma once

#include <string>
#include <vector>

#include "results/files/run_folder.h"
#include "results/judge/compare.h"

namespace hopbench {

/// A trial of virtual time, in base, in head or in both.
struct ExactRow {
  std::string trial;
  Verdict verdict = Verdict::kNoChange;
  double base_s = 0, head_s = 0;         // time_s of both; NaN: the trial is not there
  std::vector<std::string> differences;  // "ranks[2].messages_sent: 40, 41"
  std::string first_event;               // the first that differs in the event logs; empty: no difference, or no logs
};

/// Returns a row for each trial of virtual time, in the order of base's tables, trials of head alone last. Compares the
/// whole record except measurements of the host. Losses and parameters count only with the `reference` backend, since
/// others may round differently on another machine.
///
/// kNoChange: equal. kImprovement: takes less time. kRegression: takes more time, or as much but differs otherwise,
/// until the baseline is saved again. kIncomparable: the settings are not those of base, or the two were made with
/// another --events, so that their logs and critical paths differ in any case. Also kFailed, kMissing, kNew.
std::vector<ExactRow> compare_exact(const RunFolder& base, const RunFolder& head);

/// Returns every number of the record by its place ("ranks[2].waits.parameters" -> "1200000"), without measurements of
/// the host, single iterations and names of the trial.
std::vector<std::pair<std::string, std::string>> exact_fields(const TrialRecord& record, bool values);

/// Returns the first difference of two event logs (plain or gzip) in words, with its time; "" if there is none or one
/// of them cannot be read.
std::string first_difference(const std::string& base_log, const std::string& head_log);

}  // namespace hopbench
