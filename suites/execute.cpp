#include "suites/execute.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "backends/base/ran_out.h"
#include "backends/runtime/launch.h"
#include "results/json.h"
#include "suites/evaluation.h"
#include "suites/job.h"

namespace hopbench {
namespace {

LaunchOptions launch_options(const TrialSpec& spec, const ExecuteOptions& options) {
  LaunchOptions launch;
  launch.command = {"", "rank"};
  launch.rendezvous_timeout = spec.rendezvous_timeout;
  launch.stall_timeout = spec.stall_timeout;
  launch.trial_timeout = spec.trial_timeout;
  launch.interrupts = options.interrupts;
  if (options.progress) {
    launch.progress = [&](const Board& board) { options.progress(board, spec); };
  }
  return launch;
}

// Final losses of a real trial, evaluated here after its processes have ended: off its clock, on nobody's core.
void evaluate_end(TrialRecord& record, const TrialSpec& spec, const Plan& plan,
                  const std::vector<RankResult>& results) {
  std::vector<Payload> finals;
  for (int r = 0; r < plan.workers; ++r) {
    finals.push_back(Vec::from_host(results[std::size_t(r)].parameters).share());
  }
  record.params_hash = params_hash(finals);
  if (spec.workload.evaluation_samples == 0) return;
  const std::unique_ptr<Workload> workload = make_workload(spec.workload);
  CurveRecorder curve(plan.workers, 0, 0, workload->initial().share());
  for (int r = 0; r < plan.workers; ++r) {
    const RankRecord& rank = record.ranks[std::size_t(r)];
    const Iter last = rank.marks.empty() ? 0 : rank.marks.back().iter + 1;
    curve.report(r, last, rank.finished, rank.samples, finals[std::size_t(r)]);
  }
  record.curve = curve.evaluate(*workload, 1);
}

TrialRecord execute_real(const TrialSpec& spec, const ExecuteOptions& options) {
  const Plan plan = make_plan(spec);
  LaunchOptions launch_with = launch_options(spec, options);
  launch_with.ranks = plan.ranks();
  launch_with.credits = plan.credits;
  launch_with.job = to_text(Job{Job::Role::kRank, spec, ""});
  std::optional<LinkEmulator> links;
  if (spec.emulate) links.emplace(network_of(spec, plan), plan.ranks(), spec.seed, spec.repeat);
  launch_with.links = links ? &*links : nullptr;
  const LaunchResult launched = launch(launch_with);

  TrialRecord record;
  record.wall_s = launched.wall_s;
  if (!launched.ok) {
    record.status = launched.interrupted ? TrialStatus::kInterrupted : TrialStatus::kFailed;
    record.reason = launched.reason;
    return record;
  }
  std::vector<RankResult> results;
  for (const RankOutcome& outcome : launched.ranks) results.push_back(rank_result_from_text(outcome.result));
  for (const RankResult& result : results) {
    record.ranks.push_back(result.record);
    record.cpu_s += result.record.cpu_s;
    record.max_rss_bytes = std::max(record.max_rss_bytes, result.record.max_rss_bytes);
  }
  evaluate_end(record, spec, plan, results);
  if (spec.events != EventDetail::kNone && !options.event_log.empty()) {
    std::vector<EventLine> lines;
    for (RankResult& result : results) {
      lines.insert(lines.end(), std::make_move_iterator(result.events.begin()),
                   std::make_move_iterator(result.events.end()));
    }
    write_event_log(options.event_log, spec.id(), std::move(lines));
  }
  complete_record(record, spec, plan);
  return record;
}

TrialRecord execute_simulated(const TrialSpec& spec, const ExecuteOptions& options) {
  make_plan(spec);
  LaunchOptions launch_with = launch_options(spec, options);
  launch_with.ranks = 1;
  launch_with.job =
      to_text(Job{Job::Role::kSimulate, spec, spec.events == EventDetail::kNone ? "" : options.event_log});
  const LaunchResult launched = launch(launch_with);
  TrialRecord record;
  if (launched.ok) {
    record = record_from_json(launched.ranks[0].result);
  } else {
    record.status = launched.interrupted ? TrialStatus::kInterrupted : TrialStatus::kFailed;
    record.reason = launched.reason;
  }
  record.wall_s = launched.wall_s;
  return record;
}

}  // namespace

TrialRecord execute_trial(const TrialSpec& spec, const ExecuteOptions& options) {
  TrialRecord record;
  try {
    record = spec.transport == "sim" ? execute_simulated(spec, options) : execute_real(spec, options);
  } catch (const std::exception& error) {  // Error, or what a library throws over a child's answer
    record.status = TrialStatus::kFailed;
    record.reason = ran_out(error).value_or(error.what());
  }
  record.id = spec.id();
  record.hash = spec.hash();
  return record;
}

}  // namespace hopbench
