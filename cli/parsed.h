// The command line as data: a structure for the options of every command, and the functions that declare them, one file
// for each kind of command (app_run, app_advise, app_bench, app_gate, app_paper, app_import, app_small).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/advise/advise.h"
#include "cli/bench/bench.h"
#include "cli/commands.h"
#include "cli/gate/gate.h"
#include "cli/run.h"

namespace CLI {
class App;
}  // namespace CLI

namespace hopbench {

/// The parsed options. They live as long as the app, whose callbacks refer to them.
struct Parsed {
  RunOptions run;
  MergeOptions merge;
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
  ImportCommand importing;
  RecordOptions record;
  AdviseOptions advise;
  WhatifOptions whatif;
  ReproduceCommand reproduce;
  NewOptions scaffold;
  ListOptions list;
  ExplainOptions explain;
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
/// Returns the same for a number that is not finite or not above 0.
std::string check_above_zero(const std::string& text);

/// Adds run, merge, tune and calibrate.
void add_run_commands(CLI::App& app, Parsed& parsed);
/// Adds bench ...
void add_bench_commands(CLI::App& app, Parsed& parsed);
/// Adds compare, why, trace, baseline ... and gate.
void add_gate_commands(CLI::App& app, Parsed& parsed);
/// Adds reproduce.
void add_paper_commands(CLI::App& app, Parsed& parsed);
/// Adds import ...
void add_import_commands(CLI::App& app, Parsed& parsed);
/// Adds record, advise and whatif.
void add_advise_commands(CLI::App& app, Parsed& parsed);
/// Adds list, explain, validate, env, version, cite, new and completion.
void add_small_commands(CLI::App& app, Parsed& parsed);

/// Returns the manual page (troff) of this command line.
std::string man_page(const CLI::App& app, const std::string& version);

/// Adds --set, --profile, --seed and --runs.
void add_suite_flags(CLI::App& command, SuiteOptions& suite);
/// Adds --jobs and --resume of a command that answers from trials of virtual time.
void add_answer_flags(CLI::App& command, int& jobs, std::string& resume);
/// Adds --hosts, --ssh, --rendezvous and --iface.
void add_process_flags(CLI::App& command, GatheringOptions& options);
/// Names the environment variable of each flag of the command but --set: --trial-timeout is HOPBENCH_TRIAL_TIMEOUT.
void name_environment(CLI::App& command);
/// Adds a flag: --json alone is standard output, --json=FILE a file. CLI11's flags take their value only behind '='.
void add_output(CLI::App& command, const std::string& name, std::optional<std::string>& to, const std::string& what);

}  // namespace hopbench
