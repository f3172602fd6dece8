// The trials of virtual time that `advise` and `whatif` rest on.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "backends/base/process/cores.h"
#include "backends/base/record/kinds.h"
#include "cli/advise/advise.h"
#include "cli/commands/at_once.h"
#include "cli/commands/labels.h"
#include "cli/commands/progress.h"
#include "cli/install_paths.h"
#include "cli/signals.h"
#include "cli/tell.h"
#include "protocols/node/protocol.h"
#include "results/arithmetic/steady.h"
#include "results/files/fields.h"
#include "results/tables/cost.h"
#include "results/tables/terms.h"
#include "suites/trial/execute.h"
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

std::vector<TrialRow> run_virtual(const std::vector<TrialSpec>& trials, int jobs) {
  const int cores = usable_cores();
  const int at_a_time = std::max(1, std::min<int>(jobs > 0 ? jobs : cores, int(trials.size())));
  Progress progress(trials.size(), isatty(STDERR_FILENO) != 0 && !under_ci());
  std::vector<TrialRow> rows(trials.size());
  const auto over = [] { return count_interrupts().load() > 0; };
  at_once(
      trials.size(), at_a_time,
      [&](std::size_t i, int) {
        TrialSpec spec = trials[i];
        spec.sim_threads = 1;
        progress.begin(trials[i]);
        ExecuteOptions with;
        with.interrupts = &count_interrupts();
        with.progress = [&](const Board& board, const TrialSpec&) { progress.tick(board, trials[i]); };
        rows[i] = {labels_of(spec), execute_trial(spec, with)};
        progress.end(trials[i], rows[i].record);
      },
      [](std::size_t) {}, over);
  if (over()) throw Error(ExitCode::kInterrupted, "interrupted");
  return rows;
}

std::string shipped_file(const std::string& name) {
  for (const std::string& root : data_roots()) {
    std::error_code none;
    if (std::string path = root + "/" + name; std::filesystem::exists(path, none)) return path;
  }
  throw environment_error(name +
                          " is missing: is the program installed with its suites? HOPBENCH_ROOT names a checkout");
}

std::string shipped_candidates() { return read_suite_file(shipped_file("suites/advice/candidates.toml")); }

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
