#include "suites/trial/execute.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "backends/base/ran_out.h"
#include "backends/runtime/process/launch.h"
#include "protocols/node/node.h"
#include "results/files/record_json.h"
#include "suites/trial/child_task.h"
#include "suites/trial/completion.h"
#include "suites/trial/evaluation.h"
#include "suites/trial/event_log.h"
#include "suites/trial/rank_assignment.h"

namespace hopbench {
namespace {

LaunchOptions trial_launch(const ChildTask& job, int ranks, const Plan& plan, const ExecuteOptions& options) {
  LaunchOptions launch = launch_options(job, ranks, options.interrupts);
  if (plan.iterations > 0) launch.warm_up = plan.warmup_iterations;
  launch.alone = options.at_once;
  if (options.progress) {
    launch.progress = [&](const Board& board) { options.progress(board, job.spec); };
  }
  return launch;
}

/// Returns the workers that the scenario kills.
std::vector<int> planned_crashes(const Scenario& scenario) {
  std::vector<int> ranks;
  for (const Fault& fault : scenario.faults) {
    if (fault.what == FaultKind::kCrash) ranks.insert(ranks.end(), fault.ranks.begin(), fault.ranks.end());
  }
  return ranks;
}

/// Returns why the trial failed. If the scenario wanted the death that ended it, that is a failure of the scenario's
/// kind.
Failure failure_of_ranks(const LaunchResult& launched, const Plan& plan) {
  const bool wanted = !plan.goes_on && launched.died >= 0 && launched.ranks[std::size_t(launched.died)].crashed_ns >= 0;
  if (!wanted) return launched.failure;
  return {FailureKind::kScenario, launched.died, launched.failure.text + ", " + why_stopped(*plan.protocol)};
}

/// Returns why a simulation failed. Its one process stands for all ranks, so no text names it as rank 0.
Failure failure_of_simulation(const LaunchResult& launched) {
  if (launched.complaint) return *launched.complaint;
  return {launched.failure.kind, -1, launched.failure.text};
}

/// Returns what the ranks sent. For ranks that the scenario killed, returns what is left of them.
std::vector<RankResult> results_of(const LaunchResult& launched, const TrialSpec& spec, const Plan& plan) {
  std::vector<RankResult> results;
  for (std::size_t r = 0; r < launched.ranks.size(); ++r) {
    const RankOutcome& outcome = launched.ranks[r];
    if (outcome.ok) {
      results.push_back(rank_result_from_text(outcome.result));
      continue;
    }
    const Time when{Duration(outcome.crashed_ns)};
    EventLog log(spec.events);
    log.on(crash_event(static_cast<int>(r), outcome.iteration, when));
    results.push_back({crashed_record(static_cast<int>(r), plan.host_of[r], when), std::move(log.lines()), {}});
  }
  return results;
}

/// Sets the curve, which is its end alone. Samples of a crashed rank, which its slot holds, count as in virtual time.
void evaluate_finals(TrialRecord& record, const TrialSpec& spec, const Plan& plan, const LaunchResult& launched,
                     const std::vector<Payload>& finals, const std::vector<Payload>& servers) {
  const std::unique_ptr<Workload> workload = make_workload(spec.workload);
  CurveRecorder curve(plan.workers, 0, 0, workload->initial().share());
  curve.ask_servers([&] { return servers; });
  for (int r = 0, there = 0; r < plan.workers; ++r) {
    const RankRecord& rank = record.ranks[std::size_t(r)];
    if (!rank.lost.empty()) {
      const RankOutcome& outcome = launched.ranks[std::size_t(r)];
      curve.lose(r, rank.finished, outcome.ok ? rank.samples : outcome.samples);
      continue;
    }
    const Iter last = rank.marks.empty() ? 0 : rank.marks.back().iter + 1;
    curve.report(r, last, rank.finished, rank.samples, finals[std::size_t(there++)]);
  }
  record.curve = curve.evaluate(*workload, 1);
  mark_if_unchanged(record, finals, workload->initial().share());
}

/// Returns what each server keeps of the model; nothing if the extra ranks keep none.
std::vector<Payload> model_of_servers(const Plan& plan, const std::vector<RankResult>& results) {
  std::vector<Payload> slices;
  for (int r = plan.workers; r < plan.ranks(); ++r) {
    if (results[std::size_t(r)].parameters.empty()) return {};
    slices.push_back(Vec::from_host(results[std::size_t(r)].parameters).share());
  }
  return slices;
}

// Evaluates the final losses of a real trial after its processes have ended, so off its clock and on no rank's core.
void evaluate_end(TrialRecord& record, const TrialSpec& spec, const Plan& plan, const LaunchResult& launched,
                  const std::vector<RankResult>& results) {
  std::vector<Payload> finals;
  for (int r = 0; r < plan.workers; ++r) {
    if (record.ranks[std::size_t(r)].lost.empty())
      finals.push_back(Vec::from_host(results[std::size_t(r)].parameters).share());
  }
  record.params_hash = params_hash(finals);
  if (spec.workload.evaluation_samples > 0)
    evaluate_finals(record, spec, plan, launched, finals, model_of_servers(plan, results));
  mark_if_diverged(record, finals);
}

/// Dumps the final models, which is all that real processes report.
void dump_finals(const Dump& dump, const TrialRecord& record, const Plan& plan,
                 const std::vector<RankResult>& results) {
  CurveRecorder::Point end;
  for (int r = 0; r < plan.workers; ++r) {
    const RankRecord& rank = record.ranks[std::size_t(r)];
    if (!rank.lost.empty()) continue;
    end.time = std::max(end.time, rank.finished);
    end.ranks.push_back({.iter = rank.iters,
                         .samples = rank.samples,
                         .x = Vec::from_host(results[std::size_t(r)].parameters).share(),
                         .rank = r});
  }
  write_dump(dump, {&end, 1}, nullptr);
}

TrialRecord execute_real(const TrialSpec& spec, const ExecuteOptions& options) {
  const Plan plan = make_plan(spec);
  const ChildTask job{"rank", spec};
  LaunchOptions launch_with = trial_launch(job, plan.ranks(), plan, options);
  launch_with.credits = plan.credits;
  launch_with.may_crash = planned_crashes(spec.scenario);
  launch_with.survivors_go_on = plan.goes_on && !launch_with.may_crash.empty();
  std::optional<LinkEmulator> links;
  if (spec.emulate) links.emplace(network_of(spec, plan), plan.ranks(), spec.seed, spec.repeat);
  launch_with.links = links ? &*links : nullptr;
  place(launch_with, spec, plan, options.fleet);
  const LaunchResult launched = launch(launch_with);

  TrialRecord record;
  record.wall_s = launched.wall_s;
  if (!launched.ok) {
    record.status = launched.interrupted ? TrialStatus::kInterrupted : TrialStatus::kFailed;
    record.failure = failure_of_ranks(launched, plan);
    return record;
  }
  std::vector<RankResult> results = results_of(launched, spec, plan);
  for (const RankResult& result : results) {
    record.ranks.push_back(result.record);
    record.ranks.back().machine = machine_of(launch_with, static_cast<int>(record.ranks.size()) - 1, options.fleet);
    record.cpu_s += result.record.cpu_s;
    record.max_rss_bytes = std::max(record.max_rss_bytes, result.record.max_rss_bytes);
  }
  evaluate_end(record, spec, plan, launched, results);
  if (options.dump.any()) dump_finals(options.dump, record, plan, results);
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

/// Returns the file to which the event log of a trial in virtual time goes; "" for none.
std::string log_of(const TrialSpec& spec, const ExecuteOptions& options) {
  return spec.events == EventDetail::kNone ? "" : options.event_log;
}

/// Calls `work`, which may throw. Whatever happens, returns a record with the trial's names.
template <class Work>
TrialRecord record_of(const TrialSpec& spec, const Work& work) {
  TrialRecord record;
  try {
    record = work();
  } catch (const std::exception& error) {  // Error, or what a library throws over a child's answer
    record = {};
    record.status = TrialStatus::kFailed;
    record.failure = failure_of(error);
  }
  record.id = spec.id();
  record.hash = spec.hash();
  return record;
}

TrialRecord failed_simulation(const LaunchResult& launched) {
  TrialRecord record;
  record.status = launched.interrupted ? TrialStatus::kInterrupted : TrialStatus::kFailed;
  record.failure = failure_of_simulation(launched);
  return record;
}

TrialRecord execute_simulated(const TrialSpec& spec, const ExecuteOptions& options) {
  const ChildTask job{"simulate", spec, log_of(spec, options), "", options.dump};
  const LaunchResult launched = launch(trial_launch(job, 1, make_plan(spec), options));
  TrialRecord record = launched.ok ? record_from_json(launched.ranks[0].result) : failed_simulation(launched);
  record.wall_s = launched.wall_s;
  return record;
}

}  // namespace

TrialRecord execute_trial(const TrialSpec& spec, const ExecuteOptions& options) {
  return record_of(
      spec, [&] { return spec.transport == "sim" ? execute_simulated(spec, options) : execute_real(spec, options); });
}

Errand errand_of(const TrialSpec& spec, const ExecuteOptions& options) {
  return {.job = to_text(ChildTask{"simulate_elsewhere", spec, log_of(spec, options), "", {}}),
          .place = options.at_once,
          .rendezvous_timeout = spec.rendezvous_timeout,
          .stall_timeout = spec.stall_timeout,
          .trial_timeout = spec.trial_timeout};
}

TrialRecord record_of_errand(const TrialSpec& spec, const LaunchResult& launched, const ExecuteOptions& options,
                             const std::string& machine) {
  return record_of(spec, [&] {
    TrialRecord record;
    if (launched.ok) {
      const SimulationResult result = simulation_result_from_text(launched.ranks.at(0).result);
      record = record_from_json(result.record);
      if (!result.event_log.empty()) write_event_log_text(options.event_log, result.event_log);
      for (RankRecord& rank : record.ranks) rank.machine = machine;
    } else {
      record = failed_simulation(launched);
    }
    record.wall_s = launched.wall_s;
    return record;
  });
}

}  // namespace hopbench
