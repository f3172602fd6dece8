#include "cli/commands/report_bounds.h"

namespace hopbench {
namespace {

/// Returns the bound for D-PSGD and Hop: they average values of the iteration itself, or as old as `staleness` says.
/// Jumps have no such bound, since a jump averages the iteration before.
std::optional<double> staleness_of(const TrialSpec& spec) {
  if (spec.protocol == "dpsgd") return 0;
  if (spec.protocol != "hop" || spec.knobs.integer("max_jump") > 1) return std::nullopt;
  return spec.knobs.integer("staleness");
}

}  // namespace

ReportBound bound_of(const TrialSpec& spec, const TrialRecord& record) {
  ReportBound bound;
  bound.staleness = staleness_of(spec);
  if (record.gap_bound >= 0) bound.gap = double(record.gap_bound);
  return bound;
}

}  // namespace hopbench
