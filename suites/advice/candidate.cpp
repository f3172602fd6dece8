#include "suites/advice/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/record/kinds.h"
#include "protocols/node/protocol.h"
#include "results/arithmetic/steady.h"
#include "results/files/fields.h"
#include "results/tables/cost.h"
#include "results/tables/terms.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

/// Returns why a trial has no rate; "" if it has one.
std::string why_no_rate(const TrialRow& row) {
  if (row.record.status != TrialStatus::kOk) return what_happened(row.record.failure);
  if (row.record.samples_heard_per_s < 0) return "it is not known which of its gradients reached others";
  return row.record.samples_heard_per_s > 0 ? "" : "no gradient reached another worker";
}

/// Returns the largest share of a worker's gradients that was thrown away.
double largest_lost_share(const TrialRecord& record) {
  double largest = 0;
  for (const RankRecord& rank : record.ranks) {
    const double cut = gradients_cut(rank), begun = double(rank.gradients) + cut;
    if (begun > 0) largest = std::max(largest, (double(rank.gradients_lost) + cut) / begun);
  }
  return largest;
}

double mean_staleness(const TrialRecord& record) {
  double sum = 0;
  int ranks = 0;
  for (const RankRecord& rank : record.ranks) {
    if (rank.staleness_max == 0 && rank.staleness_mean == 0) continue;
    sum += rank.staleness_mean;
    ++ranks;
  }
  return ranks > 0 ? sum / ranks : 0;
}

}  // namespace

Candidate candidate_of(const std::vector<TrialSpec>& trials, const std::vector<const TrialRow*>& rows,
                       const ModelErrors& errors, const JobFacts& facts) {
  const TrialSpec& spec = trials.front();
  Candidate candidate;
  candidate.label = spec.label;
  candidate.family = to_string(find_protocol(spec.protocol).family);
  const LikelyErrors likely = errors.of(candidate.family, facts.ratio());
  candidate.errors = likely.logs, candidate.outside = likely.outside;
  candidate.assumed = likely.assumed;
  const Protocol& protocol = find_protocol(spec.protocol);
  const Topology graph = graph_of(spec);
  const Setting setting{spec.knobs, graph, spec.workers(), hosts_of_workers(spec), 0, spec.workload.batch};
  candidate.changes = spec.workload.without.empty() ? class_of_changes(protocol, setting) : 3;
  candidate.rests_on = provenance(to_string(protocol.source));
  candidate.experimental = is_experimental(protocol, spec.knobs);
  for (const TrialRow* row : rows) {
    candidate.failure = why_no_rate(*row);
    if (!candidate.failure.empty()) return candidate;
    const TrialRecord& record = row->record;
    candidate.rates.push_back(record.samples_heard_per_s);
    for (const Warning& warning : record.warnings)
      candidate.unsteady = candidate.unsteady || warning.kind == WarningKind::kNotSteady;
    candidate.gap_bound = record.gap_bound;
    candidate.leads = double(kIterationsPerLead * record.gap_bound) > facts_of(spec).measured_steps;
    candidate.bytes_per_sample += bytes_per_sample(record).value_or(0) / double(rows.size());
    candidate.staleness += mean_staleness(record) / double(rows.size());
    candidate.unheard = std::max(candidate.unheard, largest_unheard_share(record, spec.workers()));
    candidate.lost = std::max(candidate.lost, largest_lost_share(record));
  }
  return candidate;
}

}  // namespace hopbench
