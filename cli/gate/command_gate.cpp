// `hopbench gate` compares a run with a baseline, or two programs in turns. It reports in every form asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/gate/gate.h"
#include "cli/output_files.h"
#include "cli/outputs.h"
#include "cli/suite_differences.h"
#include "results/files/context.h"
#include "results/files/possible.h"
#include "results/judge/baseline.h"
#include "results/judge/virtual_gate.h"

namespace hopbench {
namespace {

/// Returns nothing if there is no such baseline. A folder of its name that holds no run does not hide it.
std::optional<RunFolder> open_baseline(const GateCommand& options) {
  const std::string named = options.baselines + "/" + options.baseline;
  for (const std::string& folder : {options.baseline, named}) {
    if (holds_run(folder)) return RunFolder::open(folder);
  }
  if (std::filesystem::is_directory(options.baseline))
    return RunFolder::open(options.baseline);  // which reports what the folder is
  return std::nullopt;
}

/// Adds a note if rows may be missing because the run has not ended. The note says how to go on with it.
void add_advice(const RunFolder& run, GateResult& result) {
  const auto missing = [](const GateRow& row) { return row.verdict == Verdict::kMissing; };
  if (std::none_of(result.rows.begin(), result.rows.end(), missing)) return;
  try {
    const SuiteTrials trials = trials_of_suite(run);
    if (!trials.lacking.empty())
      result.notes.push_back(
          fmt::format("{0} lacks {1} of the {2} trials of its suite: run them (hopbench run --resume "
                      "{0})",
                      run.path(), trials.lacking.size(), trials.all));
  } catch (const Error&) {  // if this program cannot read the suite, the results are still reported
  }
}

/// Adds a note that says how the suites differ, if rows could not be compared. Trials that ran under both differ in it.
void add_suite_differences(const RunFolder& base, const RunFolder& head, GateResult& result) {
  const auto unlike = [](const GateRow& row) { return row.verdict == Verdict::kIncomparable; };
  if (std::none_of(result.rows.begin(), result.rows.end(), unlike)) return;
  const std::string text = suite_differences(base.suite_toml(), head.suite_toml());
  if (!text.empty()) result.notes.push_back("the suites differ (baseline; this run): " + text);
}

/// Returns " Did you mean 'x'?" if there is a baseline with a similar name.
std::string similar_baseline(const GateCommand& options) {
  std::vector<std::string> names;
  for (const Baseline& baseline : list_baselines(options.baselines)) names.push_back(baseline.name);
  return did_you_mean(options.baseline, names);
}

GateResult against_baseline(const GateCommand& options) {
  if (options.what.size() > 1) throw usage_error("gate --baseline holds one run against it: name one folder");
  const RunFolder run = open_run(options.what.empty() ? newest_run() : options.what.front());
  const std::optional<RunFolder> baseline = open_baseline(options);
  const std::optional<double> percent = options.virtual_threshold;
  if (baseline) {
    for (const RunFolder* compared : {&*baseline, &run}) {
      compared->context_json();
      check_finite(*compared);
    }
    GateResult result = percent ? tolerant_gate(options.baseline, *baseline, run.path(), run, *percent / 100)
                                : exact_gate(options.baseline, *baseline, run.path(), run);
    add_advice(run, result);
    add_suite_differences(*baseline, run, result);
    return result;
  }
  GateResult nothing{"exact", options.baseline, run.path(), {}, {}};
  nothing.notes.push_back(fmt::format("there is no baseline {0} in {1}.{2} To make it: hopbench baseline save {0} {3}",
                                      options.baseline, options.baselines, similar_baseline(options), run.path()));
  return nothing;
}

GateResult found(const GateCommand& options) {
  if (!options.instructions.empty()) return run_instructions_gate(options.instructions);
  return options.baseline.empty() ? run_timed_gate(options) : against_baseline(options);
}

void check_what(const GateCommand& options) {
  const bool timed = !options.base.empty() || options.self_test;
  if (options.threshold && !timed) {
    throw usage_error("--threshold has no effect here: it is of times that are measured (--base CMD --head CMD). " +
                      std::string(options.instructions.empty() ? "Virtual time has --virtual-threshold PERCENT"
                                                               : "Counts of instructions have a fixed 2 %"));
  }
  if (options.virtual_threshold && options.baseline.empty() && options.base.empty()) {
    throw usage_error("--virtual-threshold has no effect here: it is of virtual time (--baseline NAME, or --base CMD)");
  }
  if (!options.instructions.empty()) return;
  if (options.baseline.empty() && !timed) {
    throw usage_error("gate wants --baseline NAME, or --base CMD --head CMD and suites: see hopbench gate --help");
  }
  if (timed && options.what.empty()) throw usage_error("gate wants the suites that both programs are to run");
  if (options.most < options.pairs)
    throw usage_error(fmt::format("--most ({}) must be at least --pairs ({})", options.most, options.pairs));
}

std::optional<std::string> file(const std::string& name) { return name.empty() ? std::nullopt : std::optional(name); }

void check_outputs(const GateCommand& o) {
  const OutputFile files[] = {{"--junit", file(o.junit)},
                              {"--json", file(o.json)},
                              {"--benchmark-json", file(o.benchmark_json)},
                              {"--markdown", file(o.markdown)}};
  std::vector<std::string> names = o.what;
  names.insert(names.end(), {o.baseline, o.baselines + "/" + o.baseline, o.instructions});
  std::vector<std::string> inputs = inputs_of(names, {.sets = o.sets, .profile = o.profile, .seed = {}, .repeats = {}});
  std::istringstream commands(o.base + ' ' + o.head);
  for (std::string word; commands >> word;) inputs.push_back(word);
  check_output_files(files, inputs);
  if (o.github_summary) check_github_summary(inputs);
}

/// Writes what was asked for. Tries every output, so that one failure does not prevent others; returns the first one.
std::optional<Error> write_outputs(const GateCommand& options, const GateResult& result, bool strict) {
  std::optional<Error> broken;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const Error& error) {
      if (!broken) broken = error;
    }
  };
  attempt([&] { put("-", gate_text(result, strict)); });
  attempt([&] { put(file(options.junit), gate_junit(result, strict)); });
  attempt([&] { put(file(options.json), gate_json(result, strict)); });
  attempt([&] { put(file(options.benchmark_json), gate_benchmark_json(result, context_json({}))); });
  attempt([&] { put(file(options.markdown), gate_markdown(result, strict)); });
  if (options.github_summary) attempt([&] { append_github_summary(gate_markdown(result, strict)); });
  return broken;
}

}  // namespace

bool strict_gate(const GateCommand& options) { return !options.advisory && (options.strict || under_ci()); }

int command_gate(const GateCommand& options) {
  check_what(options);
  if (options.self_test) return run_gate_self_test(options);
  if (!options.instructions.empty() && !have_valgrind()) {
    tell("gate --instructions: skipped: there is no valgrind (Debian: apt-get install valgrind)\n");
    return static_cast<int>(ExitCode::kOk);
  }
  if (options.record) {
    record_instructions(options.instructions);
    return static_cast<int>(ExitCode::kOk);
  }
  const bool strict = strict_gate(options);
  check_outputs(options);
  const GateResult result = found(options);
  const ExitCode verdict = gate_exit(result, strict);
  if (const std::optional<Error> broken = write_outputs(options, result, strict)) {
    if (verdict == ExitCode::kOk) throw *broken;
    tell(fmt::format("hopbench: {}\n", broken->what()));
  }
  return static_cast<int>(verdict);
}

}  // namespace hopbench
