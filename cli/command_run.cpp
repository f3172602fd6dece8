// `hopbench run`: suites -> trials -> records -> tables.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <regex>

#include "backends/base/text.h"
#include "cli/labels.h"
#include "cli/outputs.h"
#include "cli/preflight.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "results/context.h"
#include "results/run_folder.h"
#include "suites/execute.h"

namespace hopbench {
namespace {

void set_duration(const std::string& text, const char* flag, Duration& to) {
  if (text.empty()) return;
  long long ns = 0;
  if (!parse_duration(text, ns) || ns <= 0) {
    throw usage_error(fmt::format("{} is a time such as 30s or 500ms, not '{}'", flag, text));
  }
  to = Duration{ns};
}

std::regex compile(const std::string& text, const char* flag) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw usage_error(fmt::format("{}: '{}' is no regular expression: {}", flag, text, error.what()));
  }
}

// What the command line says about trials without being part of them.
void adjust(const RunOptions& options, std::vector<TrialSpec>& trials) {
  if (!options.filter.empty()) {
    const std::regex filter = compile(options.filter, "--filter");
    std::erase_if(trials, [&](const TrialSpec& spec) { return !std::regex_search(spec.id(), filter); });
  }
  if (!options.exclude.empty()) {
    const std::regex exclude = compile(options.exclude, "--exclude");
    std::erase_if(trials, [&](const TrialSpec& spec) { return std::regex_search(spec.id(), exclude); });
  }
  if (trials.empty()) throw usage_error("no trial is left: --filter and --exclude leave nothing of this suite");
  for (TrialSpec& spec : trials) {
    set_duration(options.trial_timeout, "--trial-timeout", spec.trial_timeout);
    set_duration(options.rendezvous_timeout, "--rendezvous-timeout", spec.rendezvous_timeout);
    set_duration(options.stall_timeout, "--stall-timeout", spec.stall_timeout);
    spec.strands = options.strands == "threads" ? StrandKind::kThreads : StrandKind::kFibers;
    spec.shuffle = options.shuffle;
    spec.sim_threads = options.threads;
    spec.events = options.events;
  }
}

// One suite's run.
class Run {
 public:
  Run(const RunOptions& options, Suite suite, std::string folder, bool resumed)
      : options_(options),
        suite_(std::move(suite)),
        folder_(resumed ? RunFolder::open(folder)
                        : RunFolder::create(folder, suite_.resolved, context_json(options.command_line))) {}

  int execute() {
    drop_stale_rows();
    std::vector<Calibrated> known = read_calibrations(folder_);
    calibrate_trials(suite_.trials, known);
    write_calibrations(folder_, known);
    run_trials();
    return conclude();
  }

 private:
  void drop_stale_rows() {
    folder_.drop_if([&](const TrialRow& row) {
      return row.record.status == TrialStatus::kInterrupted ||
             (options_.retry_failed && row.record.status == TrialStatus::kFailed);
    });
  }

  bool done(const TrialSpec& spec) const {
    const std::string id = spec.id(), hash = spec.hash();
    for (const TrialRow& row : folder_.rows()) {
      if (row.record.id != id) continue;
      if (row.record.hash == hash || options_.force) return true;
      throw usage_error(
          fmt::format("{}: {} was run with other settings: the suite, a flag or the calibration has changed: "
                      "start a new run, or --force to keep the old row",
                      folder_.path(), id));
    }
    return false;
  }

  void run_trials() {
    std::vector<const TrialSpec*> left;
    for (const TrialSpec& spec : suite_.trials) {
      if (!done(spec)) left.push_back(&spec);
    }
    if (left.size() < suite_.trials.size()) {
      fmt::print(stderr, "{} of {} trials are done already\n", suite_.trials.size() - left.size(),
                 suite_.trials.size());
    }
    Progress progress(left.size(), isatty(STDERR_FILENO) != 0 && std::getenv("CI") == nullptr);
    for (const TrialSpec* spec : left) {
      if (count_interrupts().load() > 0) break;
      progress.begin(*spec);
      ExecuteOptions execute_with;
      execute_with.interrupts = &count_interrupts();
      execute_with.progress = [&](const Board& board, const TrialSpec& running) { progress.tick(board, running); };
      if (options_.events) execute_with.event_log = folder_.event_log(spec->id());
      TrialRow row{labels_of(*spec), execute_trial(*spec, execute_with)};
      progress.end(*spec, row.record);
      folder_.add(std::move(row));
    }
  }

  int conclude() {
    folder_.write_tables();
    write_outputs(options_, suite_, folder_);
    if (const int code = interrupted_exit_code(); code != 0) {
      fmt::print(stderr, "interrupted: {} of {} trials are recorded. Go on with:\n  hopbench run --resume {}\n",
                 folder_.rows().size(), suite_.trials.size(), folder_.path());
      return code;
    }
    fmt::print(stderr, "results: {}\n", folder_.path());
    std::size_t failed = 0;
    for (const TrialRow& row : folder_.rows()) failed += row.record.status == TrialStatus::kOk ? 0 : 1;
    if (failed == 0) return static_cast<int>(ExitCode::kOk);
    fmt::print(stderr, "{} of {} trials failed; run them again with: hopbench run --resume {} --retry-failed\n", failed,
               folder_.rows().size(), folder_.path());
    return static_cast<int>(ExitCode::kTrialsFailed);
  }

  const RunOptions& options_;
  Suite suite_;
  RunFolder folder_;
};

void print_dry(const Suite& suite) {
  double seconds = 0;
  for (const TrialSpec& spec : suite.trials) {
    const Plan plan = make_plan(spec);
    fmt::print("{}  {} ranks on {}\n", spec.id(), plan.ranks(), spec.transport);
    seconds += estimated_seconds(spec, plan);
  }
  fmt::print("{} trials{}\n", suite.trials.size(),
             seconds > 0 ? fmt::format(", about {:.0f} s on the trials' clocks with real processes", seconds) : "");
}

int run_suite(const RunOptions& options, Suite suite, const std::string& folder, bool resumed) {
  adjust(options, suite.trials);
  if (options.list) {
    for (const TrialSpec& spec : suite.trials) fmt::print("{}\n", spec.id());
    return static_cast<int>(ExitCode::kOk);
  }
  if (options.dry_run) {
    print_dry(suite);
    return static_cast<int>(ExitCode::kOk);
  }
  check_available(suite.trials);
  fmt::print(stderr, "{}", context_text());
  return Run(options, std::move(suite), folder, resumed).execute();
}

}  // namespace

int command_run(const RunOptions& options) {
  count_interrupts();
  if (!options.resume.empty()) {
    const RunFolder folder = RunFolder::open(options.resume);
    const std::string name = options.resume + "/suite.toml";
    return run_suite(options, parse_suite(folder.suite_toml(), name, options.suite), options.resume, true);
  }
  if (options.suites.empty()) {
    throw usage_error(
        "run needs a suite: hopbench run suites/cnn_hetero.toml (hopbench list suites shows those there are)");
  }
  std::vector<Suite> suites;  // all are read and checked before the first trial runs
  for (const std::string& path : options.suites) suites.push_back(load_suite(find_suite(path), options.suite));
  const std::string base = options.output.empty() ? new_folder_name() : options.output;
  int worst = 0;
  for (Suite& suite : suites) {
    const std::string folder = suites.size() == 1 ? base : base + "/" + suite.name;
    worst = std::max(worst, run_suite(options, std::move(suite), folder, false));
    if (interrupted_exit_code() != 0) break;
  }
  return worst;
}

}  // namespace hopbench
