// `hopbench tune`: a suite -> the settings that every variant tries -> the suite with the best of each.
#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/record/kinds.h"
#include "cli/output_files.h"
#include "cli/outputs.h"
#include "cli/run.h"
#include "results/files/context.h"
#include "results/files/files.h"
#include "results/tables/sensitivity.h"
#include "suites/campaign/answer_trials.h"
#include "suites/campaign/install_paths.h"
#include "suites/campaign/join.h"
#include "suites/campaign/preflight.h"
#include "suites/tuning/tune.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

struct Files {
  std::string suite, table;
};

// Returns a.tuned.toml next to a.toml; for a suite that comes with the program, a file in the current folder.
Files files_of(const TuneOptions& options, const std::string& found) {
  if (options.suite == "-" && options.output.empty())
    throw usage_error("a suite from standard input has no place to write beside: name one with -o FILE");
  fs::path to = options.output;
  if (options.output.empty()) {
    const fs::path base = found == options.suite ? fs::path(found) : fs::path(found).filename();
    to = fs::path(base).replace_extension("tuned.toml");
  }
  return {to.string(), fs::path(to).replace_extension("csv").string()};
}

void check_files(const TuneOptions& options, const Suite& suite, const Files& files) {
  if (files.suite == files.table)
    throw usage_error(files.suite + ": a suite's name ends in .toml, its table's in .csv");
  const OutputFile outputs[] = {{"", files.suite}, {"", files.table}};
  check_output_files(outputs, inputs_of(suite));
  for (const std::string& file : {files.suite, files.table}) {
    if (fs::exists(file) && !options.force)
      throw usage_error(file + ": is there already: --force writes over it, -o names another file");
  }
}

// Writes both files or none: an interrupted write leaves what was there before.
void put_both(const Files& files, const std::string& suite, const std::string& table) {
  NewFile first(behind_links(files.table)), second(behind_links(files.suite));
  first.out() << table;
  second.out() << suite;
  second.flush();  // throws before the first one has its name
  first.finish();
  second.finish();
}

Sensitivity blank(const Tuning& tuning) {
  Sensitivity result;
  result.title = fmt::format("{} / tune / {} / {}", tuning.suite.name, tuning.measure, tuning.scenario);
  result.target_loss = tuning.target_loss;
  for (const TuneVariant& variant : tuning.variants) {
    for (const TuneSetting& setting : variant.settings) {
      Tried tried;
      tried.variant = variant.label;
      tried.knobs = setting.knobs_text();
      tried.lr = setting.lr;
      result.tried.push_back(std::move(tried));
    }
  }
  return result;
}

Error none_good(const Tuning& tuning, const Sensitivity& sensitivity, const std::string& variant) {
  const Failure* const failure = sensitivity.why_failed(variant);
  if (failure == nullptr)
    return trial_error(
        fmt::format("{}: every setting of '{}' diverged or failed, so nothing is written: give [tune] "
                    "lr = [LOW, HIGH] with smaller learning rates",
                    tuning.suite.file, variant));
  const char* advice = failure->kind == FailureKind::kScenario
                           ? "tune in another scenario, [tune] scenario = \"NAME\", or give the measure the protocols "
                             "that go on there, protocols = [\"NAME\", ...]"
                           : "mend that first";
  return trial_error(fmt::format("{}: every trial of '{}' failed in '{}', so nothing is written ({}): {}",
                                 tuning.suite.file, variant, tuning.scenario, what_happened(*failure), advice));
}

std::vector<TuneChoice> choices_of(const Tuning& tuning, const Sensitivity& sensitivity) {
  std::vector<TuneChoice> choices;
  const std::size_t each = tuning.variants.front().settings.size();
  for (std::size_t v = 0; v < tuning.variants.size(); ++v) {
    const int best = sensitivity.best(tuning.variants[v].label);
    if (best < 0) throw none_good(tuning, sensitivity, tuning.variants[v].label);
    const Tried& tried = sensitivity.tried[std::size_t(best)];
    choices.push_back({std::size_t(best) - v * each, tried.median_samples(), tried.median_loss(),
                       sensitivity.on_edge(std::size_t(best))});
  }
  return choices;
}

void print_dry(const Tuning& tuning) {
  for (const TuneTrial& trial : tuning.trials) fmt::print("{}\n", trial.spec.id());
  fmt::print("{} trials: {} variants x {} settings x {} repeats\n", tuning.trials.size(), tuning.variants.size(),
             tuning.variants.front().settings.size(), tuning.repeats);
}

/// Returns what was tried, from the rows of all trials.
Sensitivity sensitivity_of(const Tuning& tuning, const std::vector<TrialRow>& rows) {
  Sensitivity sensitivity = blank(tuning);
  const std::size_t each = tuning.variants.front().settings.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    sensitivity.tried[tuning.trials[i].variant * each + tuning.trials[i].setting].add(rows[i]);
  return sensitivity;
}

int conclude(const TuneOptions& options, const Tuning& tuning, const std::vector<TrialRow>& rows, const Files& files) {
  const Sensitivity sensitivity = sensitivity_of(tuning, rows);
  fmt::print("{}", to_text(sensitivity_table(sensitivity), options.colour));
  std::fflush(stdout);
  for (const std::string& warning : sensitivity_warnings(sensitivity)) tell("warning: " + warning + "\n");
  const std::string text = tuned_text(tuning, choices_of(tuning, sensitivity), "hopbench " + version_with_commit());
  put_both(files, text, sensitivity_csv(sensitivity));
  tell(fmt::format("tuned suite: {}\ntable: {}\n", files.suite, files.table));
  const auto failed = std::count_if(rows.begin(), rows.end(),
                                    [](const TrialRow& row) { return row.record.status == TrialStatus::kFailed; });
  if (failed == 0) return static_cast<int>(ExitCode::kOk);
  tell(fmt::format("{} of {} trials failed and count as worst\n", failed, rows.size()));
  return static_cast<int>(ExitCode::kTrialsFailed);
}

}  // namespace

int command_tune(const TuneOptions& options) {
  count_interrupts();
  if (const std::optional<int> served = serve(options, options.dry_run)) return *served;
  SuiteOptions suite_options = options.suite_options;
  if (suite_options.repeats) suite_options.sets.push_back(fmt::format("tune.repeats={}", *suite_options.repeats));
  suite_options.repeats.reset();
  const std::string found = find_suite(options.suite);
  const Files files = options.dry_run ? Files{} : files_of(options, found);
  const Tuning tuning = plan_tuning(read_suite_file(found), found == "-" ? "(standard input)" : found, suite_options);
  if (options.dry_run) {
    print_dry(tuning);
    return static_cast<int>(ExitCode::kOk);
  }
  check_files(options, tuning.suite, files);
  std::vector<TrialSpec> specs;
  for (const TuneTrial& trial : tuning.trials) {
    specs.push_back(trial.spec);
    specs.back().sim_threads = options.threads;
  }
  check_available(specs);
  const Gathering gathering(options);
  return gathering.telling_all([&] {
    AnswerTrials trials(
        {tuning.suite, new_folder_name(), options.resume, options.command_line, gathering.processes_json()},
        {.fleet = gathering.fleet(), .jobs = options.jobs, .rates = false});
    tell(context_text());
    tell(fmt::format("tuning {} variants, {} settings each, on '{}' in '{}'\n", tuning.variants.size(),
                     tuning.variants.front().settings.size(), tuning.measure, tuning.scenario));
    return conclude(options, tuning, trials.rows_of(specs), files);
  });
}

}  // namespace hopbench
