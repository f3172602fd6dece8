// Virtual time row by row: a row's rate, or its time to target, may be slower by some tolerance. Tier T0 with
// `gate --virtual-threshold`, and the part of tier T2 that needs no clock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/files/run_folder.h"
#include "results/judge/gate.h"

namespace hopbench {

/// Returns a row for each measure, scenario and variant of virtual time, metric "virtual samples/s" or "virtual time to
/// target, s". Without a tolerance: kRegression if a single trial is slower, kImprovement if none is slower and one is
/// faster. With a tolerance (a share: 0.05): kRegression if the row takes more than that longer for the same work (its
/// speed-up is below 1 / (1 + tolerance)); kImprovement if its speed-up is above 1 + tolerance. A target that only
/// base reached is a regression. kFailed, kMissing, kNew and kIncomparable as in compare().
std::vector<GateRow> virtual_rows(std::span<const TrialRow> base, std::span<const TrialRow> head,
                                  std::optional<double> tolerance);

/// Runs the gate of tier T0 with a tolerance. In addition, a row with a missing trial is kMissing, and one with a trial
/// whose settings are not those of base is kIncomparable.
GateResult tolerant_gate(const std::string& base_name, const RunFolder& base, const std::string& head_name,
                         const RunFolder& head, double tolerance);

}  // namespace hopbench
