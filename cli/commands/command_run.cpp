// `hopbench run`: suites -> trials -> records -> tables.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "backends/cuda/backend.h"
#include "cli/outputs.h"
#include "cli/run.h"
#include "results/files/context.h"
#include "results/files/run_folder.h"
#include "results/judge/baseline.h"
#include "suites/campaign/adjust.h"
#include "suites/campaign/calibrations.h"
#include "suites/campaign/campaign.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/join.h"
#include "suites/campaign/labels.h"
#include "suites/campaign/preflight.h"
#include "suites/campaign/resume.h"
#include "suites/campaign/shard.h"

namespace hopbench {
namespace {

// A suite that is to run, and the folder for its results.
struct SuiteRun {
  Suite suite;
  std::string folder;
  std::set<std::string> ids;  // of all its trials, also those that --filter leaves out
  std::optional<RunShard> shard = std::nullopt;
};

std::string shard_context(const SuiteRun& job) {
  return job.shard ? fmt::format("{{\"shard\": {}}}", to_json(*job.shard)) : "";
}

/// Returns the GPUs that the suite's trials compute on; none if they do not use GPUs.
std::vector<std::string> gpus_of(const Suite& suite) {
  const bool any = std::any_of(suite.trials.begin(), suite.trials.end(),
                               [](const TrialSpec& spec) { return spec.workload.backend == "cuda"; });
  return any ? cuda::gpus() : std::vector<std::string>{};
}

class Run {
 public:
  Run(const RunOptions& options, SuiteRun job, const Gathering& gathering)
      : options_(options),
        job_(std::move(job)),
        fleet_(gathering.fleet()),
        folder_(options.resume.empty()
                    ? RunFolder::create(job_.folder, job_.suite.resolved,
                                        context_json(options.command_line, gpus_of(job_.suite),
                                                     gathering.processes_json(), job_.suite.notes, shard_context(job_)))
                    : RunFolder::open(job_.folder)) {
    folder_.claim();
  }

  int execute(Outputs& outputs) {
    tell(context_text());
    for (const std::string& note : job_.suite.long_warm_ups) tell("note: " + note + "\n");
    if (!options_.resume.empty() && options_.force) folder_.write_text("suite.toml", job_.suite.resolved);
    if (!options_.dump.empty()) begin_dump(folder_, options_.dump);
    if (calibrate()) run_trials();
    return conclude(outputs);
  }

 private:
  // Returns true for rows that will be replaced, whatever their settings were.
  bool stale(const TrialRow& row) const {
    return row.record.status == TrialStatus::kInterrupted ||
           (options_.retry_failed && row.record.status == TrialStatus::kFailed);
  }

  // Returns false if it was interrupted.
  bool calibrate() {
    std::vector<Calibrated> known = read_calibrations(folder_);
    try {
      calibrate_trials(job_.suite.trials, known, fleet_);
    } catch (const Error& error) {
      if (error.code() == ExitCode::kInterrupted) return false;
      throw;
    }
    write_calibrations(folder_, known);
    return true;
  }

  bool done(const TrialSpec& spec) const {
    const std::string id = spec.id(), hash = spec.hash();
    for (const TrialRow& row : folder_.rows()) {
      if (row.record.id != id || stale(row)) continue;
      if (row.record.hash == hash || options_.force) return true;
      throw changed(id + " was run with other settings: the suite, a flag or the calibration");
    }
    return false;
  }

  void check_rows() const {
    for (const TrialRow& row : folder_.rows()) {
      if (!options_.force && !job_.ids.contains(row.record.id))
        throw changed(row.record.id + " is not a trial of the suite");
    }
  }

  // For --force: marks the kept rows, since they do not measure the suite as it is now.
  void mark_kept() {
    std::map<std::string, std::string> hashes;
    for (const TrialSpec& spec : job_.suite.trials) hashes[spec.id()] = spec.hash();
    const auto other = [&](const TrialRow& row) {
      const auto now = hashes.find(row.record.id);
      return now == hashes.end() || now->second != row.record.hash;
    };
    folder_.warn_if(other,
                    {WarningKind::kKept, "its settings are not those of the suite now, or could not be compared"});
  }

  Error changed(const std::string& what) const {
    return usage_error(fmt::format("{}: {} has changed: start a new run, or --force to keep the rows that there are",
                                   folder_.path(), what));
  }

  void run_trials() {
    check_rows();
    std::vector<const TrialSpec*> left;
    for (const TrialSpec& spec : job_.suite.trials) {
      if (!done(spec)) left.push_back(&spec);
    }
    folder_.drop_if([&](const TrialRow& row) { return stale(row); });
    if (options_.force) mark_kept();
    if (left.size() < job_.suite.trials.size())
      tell(fmt::format("{} of {} trials are done already{}\n", job_.suite.trials.size() - left.size(),
                       job_.suite.trials.size(), options_.dump.empty() ? "" : ": --dump is of the others"));
    const CampaignSetting setting{
        .fleet = fleet_, .jobs = options_.jobs, .files = [&](const TrialSpec& spec) { return files_of(spec); }};
    run_campaign(left, setting, [&](TrialRow row) {
      row.labels.tuned = job_.suite.tuned;
      folder_.add(std::move(row));
    });
  }

  ExecuteOptions files_of(const TrialSpec& spec) const {
    ExecuteOptions files;
    if (options_.events != "none") files.event_log = folder_.event_log(spec.id());
    if (!options_.dump.empty()) files.dump = {options_.dump, folder_.dump(spec.id())};
    return files;
  }

  int conclude(Outputs& outputs) {
    folder_.write_tables();
    outputs.add(job_.suite, folder_);
    if (const int code = interrupted_exit_code(); code != 0) {
      std::set<std::string> asked;
      for (const TrialSpec& spec : job_.suite.trials) asked.insert(spec.id());
      std::size_t done = 0, cut_short = 0;
      for (const TrialRow& row : folder_.rows()) {
        if (asked.contains(row.record.id)) ++(row.record.status == TrialStatus::kInterrupted ? cut_short : done);
      }
      const std::string besides = cut_short > 0 ? fmt::format(", {} recorded as interrupted", cut_short) : "";
      tell(fmt::format("interrupted: {} of {} trials are done{}; {}\n", done, asked.size(), besides,
                       how_to_resume("go on with", folder_.path(), options_, options_.retry_failed)));
      return code;
    }
    tell(fmt::format("results: {}\n", printable(folder_.path())));
    if (job_.shard) {
      tell(fmt::format("this is shard {}: hopbench merge joins the folders of all {} shards\n", job_.shard->name(),
                       job_.shard->of));
    }
    const std::vector<TrialRow>& rows = folder_.rows();
    const auto failed = std::count_if(rows.begin(), rows.end(),
                                      [](const TrialRow& row) { return row.record.status != TrialStatus::kOk; });
    if (failed == 0) {
      if (!options_.save_baseline.empty()) {
        save_baseline(options_.baselines, options_.save_baseline, folder_, options_.reason);
      }
      return static_cast<int>(ExitCode::kOk);
    }
    tell_failures(folder_, options_);
    return static_cast<int>(ExitCode::kTrialsFailed);
  }

  const RunOptions& options_;
  SuiteRun job_;
  Fleet* const fleet_;  // nullptr: this machine alone
  RunFolder folder_;
};

int run_job(const RunOptions& options, SuiteRun job, const Gathering& gathering, Outputs& outputs) {
  const std::string folder = job.folder;
  int code = 0;
  telling_how_to_go_on(folder, options, [&] { code = Run(options, std::move(job), gathering).execute(outputs); });
  return code;
}

int run_jobs(const RunOptions& options, std::vector<SuiteRun> jobs, const Gathering& gathering) {
  for (const SuiteRun& job : jobs) gathering.check(job.suite.trials);
  const bool real = std::any_of(jobs.begin(), jobs.end(), [](const SuiteRun& job) {
    return std::any_of(job.suite.trials.begin(), job.suite.trials.end(),
                       [](const TrialSpec& spec) { return spec.transport != "sim"; });
  });
  if (!options.resume.empty() && !options.force && real)
    gathering.check_same(RunFolder::open(options.resume).context_json());
  int worst = 0;
  Outputs outputs(options);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    try {
      worst = std::max(worst, run_job(options, std::move(jobs[j]), gathering, outputs));
    } catch (const Error&) {
      outputs.write_what_there_is();
      throw;
    }
    if (interrupted_exit_code() == 0) continue;
    for (std::size_t left = j + 1; left < jobs.size(); ++left) {
      tell(fmt::format("not begun: suite '{}': run it anew\n", jobs[left].suite.name));
    }
    break;
  }
  outputs.write();
  return worst;
}

void print_dry(const Suite& suite, bool only_ids) {
  double seconds = 0;
  for (const TrialSpec& spec : suite.trials) {
    if (only_ids) fmt::print("{}\n", spec.id());
    if (only_ids) continue;
    const Plan plan = make_plan(spec);
    fmt::print("{}  {} ranks on {}\n", spec.id(), plan.ranks(), spec.transport);
    seconds += estimated_seconds(spec, plan);
  }
  if (only_ids) return;
  fmt::print("{} trial{}{}\n", suite.trials.size(), suite.trials.size() == 1 ? "" : "s",
             seconds > 0 ? fmt::format(", about {:.0f} s on the trials' clocks with real processes", seconds) : "");
}

SuiteRun resumed_job(const RunOptions& options) {
  const RunFolder folder = RunFolder::open(options.resume);
  const std::string name = options.resume + "/suite.toml", text = folder.suite_toml(), context = folder.context_json();
  if (is_baseline(options.resume)) {
    throw usage_error(
        options.resume +
        " is a baseline, which later runs are compared with: start a new run and save it as the baseline");
  }
  check_dump_goes_on(options.resume, options.dump);
  SuiteRun job{parse_suite(text, name, options.suite), options.resume, {}, shard_in(context, options.resume)};
  if (job.shard) check_goes_on(*job.shard, options);
  if (!job.shard && !options.shard.empty()) {
    throw usage_error(fmt::format("{} holds a whole run and no shard: leave --shard {} out", printable(options.resume),
                                  quotable(options.shard)));
  }
  if (options.force) return job;
  if (job.suite.resolved != parse_suite(text, name, {}).resolved) {
    throw usage_error(options.resume +
                      ": --set, --profile, --seed or --runs would change a run that has begun: leave them out, start a "
                      "new run, or --force to keep the rows that there are");
  }
  const std::string then = maker_of(context), now = maker_of(context_json({}));
  if (then != now) {
    throw usage_error(
        fmt::format("{}: was begun by another build ({}, this is {}): start a new run, or --force to keep "
                    "the rows that there are",
                    options.resume, then, now));
  }
  return job;
}

/// Leaves the trials that are to run, with the settings of the command line. If a shard is resumed, --filter chooses
/// among the shard's trials.
void choose(const RunOptions& options, SuiteRun& job) {
  if (job.shard) {
    RunOptions whole = options;
    whole.filter = job.shard->filter, whole.exclude = job.shard->exclude;
    adjust(whole, job.suite.trials);
    keep_shard(*job.shard, job.suite.trials);
  }
  adjust(options, job.suite.trials);
}

std::vector<SuiteRun> jobs_of(const RunOptions& options) {
  std::vector<SuiteRun> jobs;
  if (!options.resume.empty()) {
    jobs.push_back(resumed_job(options));
  } else {
    const std::string base = options.output.empty() ? new_folder_name() : without_detours(options.output);
    for (const std::string& path : options.suites) {
      Suite suite = load_suite(find_suite(path), options.suite);
      const std::string folder = options.suites.size() == 1 ? base : base + "/" + safe_file_name(suite.name);
      jobs.push_back({std::move(suite), folder, {}, shard_of(options)});
    }
  }
  const auto virtual_time = [](const SuiteRun& job) {
    return std::any_of(job.suite.trials.begin(), job.suite.trials.end(),
                       [](const TrialSpec& spec) { return spec.transport == "sim"; });
  };
  if (options.shuffle != 0 && std::none_of(jobs.begin(), jobs.end(), virtual_time))
    throw usage_error(
        "--shuffle is about virtual time and no trial is in it: leave it out, or --set transport.name=sim");
  for (SuiteRun& job : jobs) {
    for (const TrialSpec& spec : job.suite.trials) job.ids.insert(spec.id());
    choose(options, job);
  }
  std::erase_if(jobs, [](const SuiteRun& job) { return job.suite.trials.empty(); });
  if (jobs.empty()) throw usage_error("no trial matches --filter and --exclude: run with --list to see all trial ids");
  return jobs;
}

// Checks, before the first trial of the first suite, for what would stop the last one hours later.
void check_jobs(const RunOptions& options, const std::vector<SuiteRun>& jobs) {
  std::vector<std::string> read = inputs_of({&options.hosts, 1});
  for (const SuiteRun& job : jobs) {
    for (std::string& file : inputs_of(job.suite)) read.push_back(std::move(file));
  }
  std::vector<std::string> used = read;
  for (const SuiteRun& job : jobs) {
    if (options.resume.empty()) check_free(job.folder, read);
    for (std::string& file : files_of_run(job.folder)) used.push_back(std::move(file));
  }
  check_outputs(options, used);
  if (!options.save_baseline.empty()) {
    check_baseline_place(options.baselines, options.save_baseline);
    if (jobs.size() > 1) throw usage_error("--save-baseline: a baseline holds one suite: run them one after the other");
  }
  std::set<std::string> folders;
  for (const SuiteRun& job : jobs) {
    if (!folders.insert(job.folder).second)
      throw usage_error("two suites are called '" + job.suite.name + "': run them one after the other");
    check_available(job.suite.trials);
  }
}

/// Notes that FILE in `--csv FILE` is a further suite: these flags take a file after '=' only.
void hint_at_outputs(const RunOptions& options) {
  const std::vector<std::string>& words = options.command_line;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string &flag = words[i], &next = words[i + 1];
    const bool output = flag == "--csv" || flag == "--json" || flag == "--markdown";
    if (!output || options.suites.size() < 2) continue;
    if (std::find(options.suites.begin(), options.suites.end(), next) == options.suites.end()) continue;
    tell(
        fmt::format("note: {0} alone prints to standard output, and {1} is read as a suite: write {0}={1} for a file\n",
                    flag, shell_word(next)));
  }
}

}  // namespace

int command_run(const RunOptions& options) {
  count_interrupts();
  if (const std::optional<int> served = serve(options, options.list || options.dry_run)) return *served;
  if (options.resume.empty() && options.suites.empty())
    throw usage_error(
        "run needs a suite: hopbench run suites/cnn_hetero.toml (hopbench list suites shows those there are)");
  if (options.force && options.resume.empty() && options.dump.empty())
    throw usage_error("--force is for --resume and --dump: leave it out");
  if (!options.shard.empty() && !options.save_baseline.empty())
    throw usage_error("--save-baseline: a baseline is a whole run: merge the shards, then hopbench baseline save");
  hint_at_outputs(options);
  std::vector<SuiteRun> jobs;
  std::optional<Gathering> gathering;
  telling_how_to_go_on(options.resume, options, [&] {
    jobs = jobs_of(options);
    for (const SuiteRun& job : jobs)
      check_dump(options.dump, job.suite.trials, options.force || !options.resume.empty());
    if (options.list || options.dry_run) return;
    check_jobs(options, jobs);
    gathering.emplace(options);
  });
  if (!gathering) {
    for (const SuiteRun& job : jobs) print_dry(job.suite, options.list);
    return static_cast<int>(ExitCode::kOk);
  }
  return gathering->telling_all([&] { return run_jobs(options, std::move(jobs), *gathering); });
}

}  // namespace hopbench
