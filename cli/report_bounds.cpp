#include "cli/report_bounds.h"

namespace hopbench {
namespace {

/// Of D-PSGD and Hop: what is averaged is of the iteration itself, or as old as `staleness` says; a jump averages the
/// one before.
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
