// `hopbench record`: a real trial, the costs and the links beside it -> cluster.toml and a trace.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/record/kinds.h"
#include "cli/advise/advise.h"
#include "cli/output_files.h"
#include "results/arithmetic/statistics.h"
#include "results/arithmetic/steady.h"
#include "results/files/context.h"
#include "results/files/files.h"
#include "suites/advice/cluster.h"
#include "suites/advice/recording.h"
#include "suites/campaign/adjust.h"
#include "suites/campaign/calibrations.h"
#include "suites/campaign/campaign.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/join.h"
#include "suites/campaign/labels.h"
#include "suites/campaign/preflight.h"
#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

constexpr const char *kCluster = "cluster.toml", *kTrace = "cluster.trace.csv";
constexpr double kLargeDifference = 0.05;  // between the recorded job and virtual time

/// Returns the suite's first trial in real processes.
TrialSpec trial_of(const RecordOptions& options, Suite& suite) {
  keep_matching(options.filter, suite.trials);
  const auto real = std::find_if(suite.trials.begin(), suite.trials.end(),
                                 [](const TrialSpec& spec) { return spec.transport != "sim"; });
  if (suite.trials.empty()) throw usage_error("--filter " + options.filter + ": no trial has such an id");
  if (real == suite.trials.end())
    throw usage_error(options.suite +
                      ": there is nothing to record: all its measures are in virtual time: add --set "
                      "transport.name=auto");
  if (find_model(real->workload.model).create == nullptr)
    throw usage_error(options.suite +
                      ": model timing_only computes nothing that could be recorded: choose another one");
  return *real;
}

void measure_costs(const TrialSpec& spec, Fleet* fleet, Recording& recording) {
  tell("measuring vector operations and messages\n");
  recording.costs = calibrate_twice(spec, fleet);
  tell("measuring the link of each pair of ranks\n");
  const LinkFigures figures = calibrate_links(spec, &count_interrupts(), fleet);
  recording.pairs = int(figures.pairs.size());
  for (const PairFigures& pair : figures.pairs) recording.contended += pair.contended ? 1 : 0;
  const bool machines = fleet != nullptr && fleet->hosts() > 1;
  recording.machine_of = machines ? figures.machine_of : std::vector<int>(std::size_t(spec.workers()), 0);
  const std::vector<int> host_of = machines ? figures.machine_of : make_plan(spec).host_of;
  recording.network = network_from(figures.pairs, machines ? Calibration{} : recording.costs, host_of);
}

void run_trial(Fleet* fleet, Recording& recording) {
  tell(fmt::format("recording {}\n", recording.spec.id()));
  TrialSpec once = recording.spec;
  once.remeasure = 0;  // the user decides
  recording.record = run_all({once}, {.fleet = fleet}).front().record;
  const TrialRecord& record = recording.record;
  if (record.status != TrialStatus::kOk) throw trial_error("the trial to be recorded failed: " + record.failure.text);
  if (disturbed(record))
    tell(
        "warning: other programs took the cores meanwhile, and the recording has that in it: record again when they "
        "are idle\n");
}

std::string trace_text(const TraceRows& rows, const std::string& title) {
  std::ostringstream out;
  write_trace(rows, title, out);
  return out.str();
}

/// Returns how far virtual time is from the recorded job, as a sentence.
std::string check_text(const Recording& recording, const std::string& file) {
  const ClusterFile cluster = read_cluster(file, {});
  std::vector<TrialSpec> trials = cluster.trials_of(cluster.present);
  trials.resize(std::min<std::size_t>(trials.size(), 5));
  std::vector<double> rates;
  for (const TrialRow& row : run_all(trials)) {
    if (row.record.status != TrialStatus::kOk)
      return "virtual time cannot run this job: " + what_happened(row.record.failure) + "\n";
    rates.push_back(row.record.samples_per_s);
  }
  const double error = median(rates) / recording.record.samples_per_s - 1;
  return fmt::format("virtual time gives this job {:.4g} samples/s; measured were {:.4g} ({:+.1f} %){}\n",
                     median(rates), recording.record.samples_per_s, 100 * error,
                     std::abs(error) > kLargeDifference ? ": look for the reason before you trust an advice" : "");
}

/// Returns check_text(). Reports on ^C that the recording is there.
std::string compared_text(const Recording& recording, const std::string& file) {
  try {
    return check_text(recording, file);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted)
      tell("interrupted: the recording is written; only its comparison with virtual time is missing\n");
    throw;
  }
}

/// Returns the recording. Reports on ^C that nothing is written.
Recording recording_of(std::vector<TrialSpec> trial, Fleet* fleet) {
  try {
    std::vector<Calibrated> known;
    calibrate_trials(trial, known, fleet);
    Recording recording{.spec = trial.front(), .record = {}, .costs = {}, .network = {}, .machine_of = {}};
    recording.model_bytes = facts_of(recording.spec).model_bytes;
    measure_costs(recording.spec, fleet, recording);
    run_trial(fleet, recording);
    return recording;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted) tell("interrupted: nothing is written\n");
    throw;
  }
}

int record_with(const RecordOptions& options, Suite suite, const Gathering& gathering) {
  std::vector<TrialSpec> trial{trial_of(options, suite)};
  trial.front().events = EventDetail::kNone;
  gathering.check(trial);
  check_available(trial);
  Fleet* const fleet = gathering.fleet();
  const Recording recording = recording_of(std::move(trial), fleet);
  UnfinishedFolder place(options.output);
  RunFolder folder = RunFolder::create(place.path(), suite.resolved,
                                       context_json(options.command_line, {}, gathering.processes_json(), suite.notes));
  folder.claim();
  folder.add({labels_of(recording.spec), recording.record});
  folder.write_tables();
  const std::string title = fmt::format("recorded by hopbench {}: {}", version_with_commit(), recording.spec.id());
  TraceRows rows = steps_of(recording);
  Imported imported;
  imported.rows = std::move(rows);
  finish_rows(imported, recording.spec.id());
  folder.write_text(kTrace, trace_text(imported.rows, title));
  const Decomposition steps = decompose(imported.rows);
  folder.write_text(kCluster, cluster_toml(recording, steps, kTrace, title));
  folder.finish(place, options.output);
  tell(fmt::format("recording: {0}/{1} and {0}/{2}\nnext: hopbench advise {0}/{1}\n", printable(folder.path()),
                   kCluster, kTrace));
  std::string text =
      fmt::format("{} workers, {} steps that all of them have; a gradient: median {:.4g} s, 99 % {:.4g} s\n",
                  steps.ranks, steps.steps, steps.median, steps.q99);
  text += fmt::format("slowest worker over mean: {:.3f} (mean of the steps)\n", steps.slowest_over_mean);
  text += compared_text(recording, folder.path() + "/" + kCluster) + "What this recording does not tell:\n";
  for (const std::string& line : unknown_after(recording, steps)) text += "  " + line + "\n";
  put("-", text);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

int command_record(const RecordOptions& options) {
  count_interrupts();
  if (const std::optional<int> served = serve(options)) return *served;
  const std::string file = find_suite(options.suite);
  Suite suite = load_suite(file, options.suite_options);
  Suite trial = suite;
  check_available({trial_of(options, trial)});
  check_free(options.output, inputs_of(suite));
  const Gathering gathering(options);
  return gathering.telling_all([&] { return record_with(options, std::move(suite), gathering); });
}

}  // namespace hopbench
