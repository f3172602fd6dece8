// The flags of compare, why, trace, report, baseline and gate.
#include "cli/parsed.h"
#include "results/report/paper_figure.h"

#include <CLI/CLI.hpp>

namespace hopbench {
namespace {

constexpr const char* kCompareExamples = R"(
Examples:
  hopbench compare before after                   two folders of runs; the second against the first
  hopbench compare all_protocols results/published/2026-11-27-cnn_hetero --any-context
  hopbench compare before.json after.json --csv=changes.csv
  hopbench compare main DIR --fail-above 5        exit code 1 if a row is slower by more than 5 %

Exit codes: 0 compared; 1 with --fail-above: a row is slower by more than that, failed, is missing, lacks trials, or no
longer reaches its target; 2 nothing could be compared.)";

constexpr const char* kWhyExamples = R"(
Examples:
  hopbench why hopbench-results/20260101T120000Z-1234 'hop staleness' dpsgd
  hopbench why DIR 'hop tokens+backup' dpsgd --filter 'convergence/one 4x')";

constexpr const char* kGateExamples = R"(
Examples:
  hopbench gate --baseline all_protocols DIR      virtual time must be what it was (tier T0)
  hopbench gate --baseline all_protocols DIR --virtual-threshold 5       no row may be slower by more than 5 %
  hopbench gate --base ./old/hopbench --head ./new/hopbench suites/gate_timed.toml
  hopbench gate --base hopbench --head 'env DNNL_MAX_CPU_ISA=AVX2 hopbench' suites/gate_timed.toml
  hopbench gate --self-test suites/gate_timed.toml

Exit codes: 0 passed; 1 a regression (or a row that is missing, that failed, or that changed in virtual time); 2 a
mistake in the usage, or a file that cannot be used; 5 nothing was compared; 6 passed, but an output could not be
written. With --strict (the default if CI is set) also 4 a row is inconclusive, 5 a row could not be compared.
--advisory turns that off.)";

void add_baselines_option(CLI::App& command, std::string& to) {
  command.add_option("--baselines", to, "folder of the baselines")->capture_default_str();
}

void add_compare(CLI::App& app, Parsed& parsed) {
  CompareCommand& o = parsed.compare;
  CLI::App& compare = *app.add_subcommand("compare", "results side by side: what changed, and whether by chance");
  compare.footer(kCompareExamples);
  compare
      .add_option("results", o.results,
                  "folders of runs, files of run --json, trials.csv, or baselines; first the base")
      ->required()
      ->expected(2, 64);
  compare
      .add_option(
          "--threshold", o.threshold,
          "percent: a smaller change is neither a regression nor an improvement (default: --fail-above, else 5)")
      ->check(check_finite)
      ->check(CLI::Range(0.0, 1000.0));
  compare
      .add_option("--fail-above", o.fail_above,
                  "percent: exit with 1 if a row is slower by more than this; faster never fails")
      ->check(check_finite)
      ->check(CLI::Range(0.0, 1000.0));
  compare.add_flag("--any-context", o.any_context, "compare although settings or machines differ");
  add_baselines_option(compare, o.baselines);
  add_output(compare, "--csv", o.csv, "the comparison as CSV (alone: on standard output)");
  add_output(compare, "--json", o.json, "the tables as JSON, with numbers (alone: on standard output)");
  add_output(compare, "--markdown", o.markdown, "the tables as Markdown (alone: on standard output)");
  name_environment(compare);
  compare.callback([&] { parsed.command = [&] { return command_compare(parsed.compare); }; });
}

void add_why(CLI::App& app, Parsed& parsed) {
  WhyCommand& o = parsed.why;
  CLI::App& why =
      *app.add_subcommand("why", "why one variant is faster than another: samples, compute, messages, waiting");
  why.footer(kWhyExamples);
  why.add_option("folder", o.folder, "of a run")->required();
  why.add_option("a", o.a, "a variant, as its table calls it (an error names all of them if there is none)");
  why.add_option("b", o.b, "the variant that it is compared with");
  why.add_option("-f,--filter", o.filter, "only where MEASURE/SCENARIO matches this regular expression");
  name_environment(why);
  why.callback([&] { parsed.command = [&] { return command_why(parsed.why); }; });
}

void add_trace(CLI::App& app, Parsed& parsed) {
  TraceCommand& o = parsed.trace;
  CLI::App& trace = *app.add_subcommand("trace", "a run's event logs as one trace for ui.perfetto.dev");
  trace.add_option("folder", o.folder, "of a run (run --events all: with messages)")->required();
  trace.add_option("-f,--filter", o.filter, "only trials whose id matches this regular expression");
  trace.add_option("-o,--output", o.output, "file; - is standard output (default: trace.json in the folder)");
  name_environment(trace);
  trace.callback([&] { parsed.command = [&] { return command_trace(parsed.trace); }; });
}

void add_report(CLI::App& app, Parsed& parsed) {
  ReportCommand& o = parsed.report;
  CLI::App& report =
      *app.add_subcommand("report", "a run as one HTML page: tables, figures with their data, timelines");
  report.add_option("folder", o.folder, "of a run")->required();
  CLI::Option* filter =
      report.add_option("-f,--filter", o.filter, "only trials whose id matches this regular expression");
  CLI::Option* output =
      report.add_option("-o,--output", o.output, "file; - is standard output (default: report.html in the folder)");
  report
      .add_option("--trials", o.trials,
                  "the most trials that the page draws one by one: where time went, gaps, timelines")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str();
  std::string ids;
  for (const PaperFigureKind& kind : paper_figures()) ids += std::string(ids.empty() ? "" : ", ") + kind.id;
  CLI::Option* figure =
      report.add_option("--figure", o.figure, "one figure for a paper, into -o FILE.svg, .png or .pdf: " + ids);
  CLI::Option* latex =
      report.add_flag("--latex", o.latex, "the tables as LaTeX (booktabs), on standard output or into -o FILE");
  CLI::Option* cost =
      report.add_flag("--cost", o.cost, "tables of cost: host-seconds, bytes between hosts, and who pays")
          ->excludes(figure);
  report.add_flag("--workers", o.workers, "with --cost: who pays has a row for each worker")->needs(cost);
  report
      .add_option("--columns", o.columns,
                  "with --latex: names of the columns, separated by commas (default: those that fit one column)")
      ->needs(latex);
  report
      .add_option_function<std::string>(
          "--title", [&o](const std::string& title) { o.title = title; },
          "with --figure: its title; \"\" is none (default: the scenarios, where it has several panels)")
      ->needs(figure);
  report
      .add_flag(
          "--check", o.check,
          "of a run of a paper's suite: what the paper claims, and whether it holds; --figure: one claim, by its id")
      ->excludes(latex)
      ->excludes(cost)
      ->excludes(output)
      ->excludes(filter);
  figure->excludes(latex);
  name_environment(report);
  report.callback([&] { parsed.command = [&] { return command_report(parsed.report); }; });
}

void add_baseline(CLI::App& app, Parsed& parsed) {
  BaselineCommand& o = parsed.baseline;
  CLI::App& baseline = *app.add_subcommand("baseline", "results that later ones are held against");
  baseline.require_subcommand(1);
  CLI::App& save = *baseline.add_subcommand("save", "keep a run as a baseline");
  save.add_option("name", o.name, "what to call it")->required();
  save.add_option("folder", o.folder, "of the run (default: the newest in hopbench-results)");
  save.add_option("--reason", o.reason, "why its trials of virtual time are not what they were");
  save.add_flag("--partial", o.partial, "keep the run although trials of its suite are missing (run --filter)");
  add_baselines_option(save, o.baselines);
  save.callback([&] { parsed.command = [&] { return command_baseline_save(parsed.baseline); }; });

  CLI::App& list = *baseline.add_subcommand("list", "those there are");
  add_baselines_option(list, o.baselines);
  list.callback([&] { parsed.command = [&] { return command_baseline_list(parsed.baseline); }; });

  CLI::App& show = *baseline.add_subcommand("show", "its history and its trials");
  show.add_option("name", o.name, "which")->required();
  add_baselines_option(show, o.baselines);
  show.callback([&] { parsed.command = [&] { return command_baseline_show(parsed.baseline); }; });

  CLI::App& remove = *baseline.add_subcommand("rm", "forget one");
  remove.add_option("name", o.name, "which")->required();
  add_baselines_option(remove, o.baselines);
  remove.callback([&] { parsed.command = [&] { return command_baseline_remove(parsed.baseline); }; });
}

void add_gate(CLI::App& app, Parsed& parsed) {
  GateCommand& o = parsed.gate;
  CLI::App& gate = *app.add_subcommand("gate", "fail if something became slower, or changed in virtual time");
  gate.footer(kGateExamples);
  gate.add_option("what", o.what, "with --baseline: the run's folder (default: the newest); else suites");
  CLI::Option* baseline = gate.add_option("--baseline", o.baseline, "name of a baseline, or a run's folder");
  CLI::Option* base = gate.add_option("--base", o.base, "command of the program that was good");
  CLI::Option* head = gate.add_option("--head", o.head, "command of the program that is to be judged");
  CLI::Option* self_test =
      gate.add_flag("--self-test", o.self_test, "how often the timed gate is wrong on this machine");
  CLI::Option* instructions = gate.add_option("--instructions", o.instructions,
                                              "file of counts: instructions of hopbench's hot paths (valgrind)");
  gate.add_flag("--record", o.record, "with --instructions: write the file")->needs(instructions);
  instructions->excludes(baseline)->excludes(base)->excludes(self_test);
  base->needs(head)->excludes(baseline);
  head->needs(base);
  self_test->excludes(baseline)->excludes(base);
  gate.add_option("--set", o.sets, "timed: override a key of the suites; repeatable")->take_all();
  gate.add_option("-f,--filter", o.filter, "timed: only trials whose id matches this regular expression");
  gate.add_option("--profile", o.profile, "timed: the suites' profile");
  gate.add_option("--pairs", o.pairs, "timed: pairs of a set")->check(CLI::Range(3, 1000))->capture_default_str();
  gate.add_option("--most", o.most, "timed: pairs of a set that decides nothing")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  gate.add_option("--threshold", o.threshold, "timed: percent; a smaller change is none (default: 5)")
      ->check(check_finite)
      ->check(CLI::Range(0.1, 1000.0));
  gate.add_option("--virtual-threshold", o.virtual_threshold,
                  "percent: a row of virtual time may be slower by this (default: no change at all)")
      ->check(check_finite)
      ->check(CLI::Range(0.0, 1000.0));
  CLI::Option* strict =
      gate.add_flag("--strict", o.strict, "what could not be compared fails (default where CI is set)");
  gate.add_flag("--advisory", o.advisory, "only what became worse fails")->excludes(strict);
  gate.add_option("--recorded", o.recorded, "self-test: pairs of base with itself")
      ->check(CLI::Range(9, 100000))
      ->needs(self_test);
  gate.add_option("--resampled", o.resampled, "self-test: gates made of such pairs")
      ->check(CLI::Range(1, 100000))
      ->needs(self_test);
  gate.add_option("--full", o.full, "self-test: gates that are really run, half of them with a slower head")
      ->check(CLI::Range(0, 1000))
      ->needs(self_test);
  gate.add_option("--junit", o.junit, "file: JUnit XML");
  gate.add_option("--json", o.json, "file: gate.json");
  gate.add_option("--benchmark-json", o.benchmark_json, "file: as google-benchmark writes it");
  gate.add_option("--markdown", o.markdown, "file: what was found as Markdown, for a comment on a pull request");
  gate.add_flag("--github-summary", o.github_summary, "add a summary to $GITHUB_STEP_SUMMARY");
  add_baselines_option(gate, o.baselines);
  name_environment(gate);
  gate.callback([&] { parsed.command = [&] { return command_gate(parsed.gate); }; });
}

}  // namespace

void add_gate_commands(CLI::App& app, Parsed& parsed) {
  add_compare(app, parsed);
  add_why(app, parsed);
  add_trace(app, parsed);
  add_report(app, parsed);
  add_baseline(app, parsed);
  add_gate(app, parsed);
}

}  // namespace hopbench
