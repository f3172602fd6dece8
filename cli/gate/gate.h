// Commands that compare results: compare, why, baseline, gate.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/judge/baseline.h"
#include "results/judge/gate.h"

namespace hopbench {

struct CompareCommand {
  std::vector<std::string> results;  // the others are compared with the first
  std::string baselines = kBaselines;
  std::optional<double> threshold;   // percent; absent: fail_above, else 5
  std::optional<double> fail_above;  // percent
  bool any_context = false;
  std::optional<std::string> csv, json, markdown;  // absent, "-" (standard output), or a file
  bool colour = false;
};
/// Prints one row for each scenario and variant. Exit code 0, or 1 if `fail_above` is set and a row is slower by more
/// than that. Error(kUsage) if nothing could be compared.
int command_compare(const CompareCommand& options);

struct WhyCommand {
  std::string folder, a, b;  // of a run; its variants
  std::string filter;        // regular expression on "measure/scenario"; empty: all
};
/// Prints a sentence, two bars and a table for each measure and scenario that has both variants.
int command_why(const WhyCommand& options);

struct BaselineCommand {
  std::string name, folder;  // folder of a run; empty: the newest in hopbench-results
  std::string baselines = kBaselines, reason;
  bool partial = false;  // keep it although trials of its suite are missing
};
int command_baseline_save(const BaselineCommand& options);
int command_baseline_list(const BaselineCommand& options);
int command_baseline_show(const BaselineCommand& options);
int command_baseline_remove(const BaselineCommand& options);

struct GateCommand {
  std::string baselines = kBaselines;
  std::string baseline;           // T0: a baseline's name or a run's folder; empty: T2
  std::vector<std::string> what;  // T0: the run that is compared with it; T2: the suites that both run
  std::string base, head;         // T2: a command each
  std::vector<std::string> sets;
  std::string filter, profile;
  std::string instructions;  // T1: a file of counts
  bool record = false;       // T1: write it instead
  bool self_test = false;
  int recorded = 200, resampled = 300, full = 20;  // of the self-test: pairs, gates, gates that are really run
  int pairs = 9, most = 60;
  std::optional<double> threshold;          // percent, for measured times; absent: 5
  std::optional<double> virtual_threshold;  // percent, for virtual time; absent: exact
  bool strict = false, advisory = false;
  std::string junit, json, benchmark_json, markdown;  // files; empty: none
  bool github_summary = false;
};
/// Exit code 0 passed, 1 regression, 4 inconclusive, 5 nothing to compare with (see results/judge/gate.h).
int command_gate(const GateCommand& options);

/// The trials of a run's suite, as suite.toml in its folder has them.
struct SuiteTrials {
  std::size_t all = 0;
  std::set<std::string> lacking;  // those without a row
};
/// Throws Error(kUsage), or SuiteError if the suite is damaged.
SuiteTrials trials_of_suite(const RunFolder& run);

/// Returns the newest folder of ./hopbench-results. Error(kUsage) if there is none.
std::string newest_run();
/// Returns true if the gate is strict. Without a flag it is strict if the variable CI is set.
bool strict_gate(const GateCommand& options);

/// Runs both programs in turns (tier T2).
GateResult run_timed_gate(const GateCommand& options);
/// Count the instructions of the hot paths (tier T1). The first compares them with the file; the second writes it.
GateResult run_instructions_gate(const std::string& file);
void record_instructions(const std::string& file);
bool have_valgrind();
/// Prints for `gate --self-test` how often the timed gate gives false alarms, what it finds, and the machine's noise.
int run_gate_self_test(const GateCommand& options);

}  // namespace hopbench
