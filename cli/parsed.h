// The command line as data: what every command's options parse into, and the functions that declare them, a file for
// each kind of command (app_run, app_bench, app_gate, app_paper, app_small).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/paper.h"
#include "cli/run.h"
#include "cli/scaffold.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hopbench {

/// Lives as long as the app, whose callbacks refer to it.
struct Parsed {
  RunOptions run;
  TuneOptions tune;
  CalibrateOptions calibrate;
  BenchSimOptions bench_sim;
  BenchComputeOptions bench_compute;
  BenchLossesOptions bench_losses;
  BenchTransportOptions bench_transport;
  CompareCommand compare;
  WhyCommand why;
  TraceCommand trace;
  ReportCommand report;
  BaselineCommand baseline;
  GateCommand gate;
  ReproduceCommand reproduce;
  NewOptions scaffold;
  ListOptions list;
  ValidateOptions validate;
  EnvOptions env;
  CiteOptions cite;
  VersionOptions version;
  CompletionOptions completion;
  std::string colour = "auto";
  std::function<int()> command;
};

/// Returns what is wrong with a number that is not finite; "" if it is. A check for options, since CLI::Range lets nan
/// pass.
std::string check_finite(const std::string& text);
/// The same of a number that is not finite and above 0.
std::string check_above_zero(const std::string& text);

/// run, tune, calibrate
void add_run_commands(CLI::App& app, Parsed& parsed);
/// bench ...
void add_bench_commands(CLI::App& app, Parsed& parsed);
/// compare, why, trace, baseline ..., gate
void add_gate_commands(CLI::App& app, Parsed& parsed);
/// reproduce
void add_paper_commands(CLI::App& app, Parsed& parsed);
/// list, validate, env, version, cite, new, completion
void add_small_commands(CLI::App& app, Parsed& parsed);

/// The manual page (troff) of this command line.
std::string man_page(const CLI::App& app, const std::string& version);

/// --set, --profile, --seed, --runs.
void add_suite_flags(CLI::App& command, SuiteOptions& suite);
/// A flag's environment variable: --trial-timeout is HOPBENCH_TRIAL_TIMEOUT. All of the command's but --set.
void name_environment(CLI::App& command);
/// --json alone is standard output, --json=FILE a file; CLI11's flags take their value only behind '='.
void add_output(CLI::App& command, const std::string& name, std::optional<std::string>& to, const std::string& what);

}  // namespace hopbench
