// Tier T0 of the gate: in virtual time the same suite gives the same seconds, messages, bytes, gaps and staleness every
// time and everywhere, so that any difference is a change of the program.
#pragma once

#include <string>
#include <vector>

#include "results/files/run_folder.h"
#include "results/judge/gate.h"

namespace hopbench {

/// Returns a row for each trial of virtual time, in the order of base's tables, trials of head alone last: its time in
/// both, and as notes the differences ("ranks[2].messages_sent: base 40, head 41") and the first event that differs.
/// Compares the whole record except measurements of the host. Losses and parameters count only with the `reference`
/// backend, since others may round differently on another machine.
///
/// kNoChange: equal. kImprovement: takes less time. kRegression: takes more time, or as much but differs otherwise,
/// until the baseline is saved again. kIncomparable: the settings are not those of base, or the two were made with
/// another --events, so that their logs and critical paths differ in any case. Also kFailed, kMissing, kNew.
std::vector<GateRow> compare_exact(const RunFolder& base, const RunFolder& head);

/// Returns every number of the record by its place ("ranks[2].waits.parameters" -> "1200000"), without measurements of
/// the host, single iterations and names of the trial.
std::vector<std::pair<std::string, std::string>> exact_fields(const TrialRecord& record, bool values);

/// Returns the first difference of two event logs (plain or gzip) in words, with its time; "" if there is none or one
/// of them cannot be read.
std::string first_difference(const std::string& base_log, const std::string& head_log);

}  // namespace hopbench
