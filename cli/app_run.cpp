// The flags of run, merge, tune and calibrate.
#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/parsed.h"

namespace hopbench {
namespace {

constexpr const char* kRunExamples = R"(
Examples:
  hopbench run suites/cnn_hetero.toml
  hopbench run suites/cnn_hetero.toml --filter 'hop|allreduce' -r 5
  hopbench run suites/quadratic.toml --json > results.json
  hopbench run --resume hopbench-results/20260101T120000Z-1234
  hopbench run suites/quadratic.toml --shard 2/3 -o part2         then: hopbench merge part1 part2 part3 -o whole
  mpirun -np 4 hopbench run suites/cnn_hetero.toml --set run.world_size=4
  hopbench run suites/cnn_hetero.toml --hosts machines.txt)";

constexpr const char* kTuneExamples = R"(
Examples:
  hopbench tune my.toml                                   writes my.tuned.toml and my.tuned.csv
  hopbench tune my.toml --set tune.trials=24 -o tuned/my.toml
  hopbench run my.tuned.toml                              its notes tell how it was tuned)";

constexpr const char* kMergeExamples = R"(
Examples:
  hopbench merge part1 part2 part3 -o whole
  hopbench merge part1 part3 -o whole --partial           then: hopbench run --resume whole

Exit codes: 0 merged; 2 the folders do not belong together, or trials are missing; 3 merged, and some trials failed.)";

// The seeds that TOML can hold. CLI11 turns everything beyond its largest number into that number.
const CLI::Range kSeeds(std::int64_t{0}, std::numeric_limits<std::int64_t>::max() - 1);

void add_run(CLI::App& app, Parsed& parsed) {
  RunOptions& o = parsed.run;
  CLI::App& run = *app.add_subcommand("run", "run suites and print result tables");
  run.footer(kRunExamples);
  run.add_option("suite", o.suites, "suite files (TOML); - is standard input");
  add_suite_flags(run, o.suite);
  run.add_option("-f,--filter", o.filter, "only trials whose id matches this regular expression");
  run.add_option("--exclude", o.exclude, "no trials whose id matches");
  run.add_flag("--list", o.list, "print trial ids only");
  run.add_flag("--dry-run", o.dry_run, "print what would run; write nothing");
  run.add_option("-o,--output", o.output, "result folder, new or empty (default: hopbench-results/<utc>-<id>)");
  CLI::Option* resume = run.add_option("--resume", o.resume, "go on with an interrupted run: its folder");
  resume->excludes("suite")->excludes("--output");
  run.add_option("--shard", o.shard, "N/COUNT: only this part of the trials, from 1/COUNT; hopbench merge joins them");
  run.add_flag("--retry-failed", o.retry_failed, "with --resume: run failed trials again")->needs(resume);
  run.add_flag("--force", o.force,
               "with --resume: keep rows although settings have changed; with --dump: above 1 GiB, too");
  run.add_option("--save-baseline", o.save_baseline, "keep the results as this baseline (see hopbench baseline)");
  run.add_option("--reason", o.reason, "with --save-baseline: why results in virtual time changed");
  o.baselines = kBaselines;
  run.add_option("--baselines", o.baselines, "folder of the baselines")->capture_default_str();
  run.add_flag("--wide", o.wide, "tables with all columns in a terminal, too, as in files and pipes");
  add_output(run, "--json", o.json, "the whole run as JSON (alone: on standard output)");
  add_output(run, "--csv", o.csv, "trials.csv (alone: on standard output)");
  add_output(run, "--markdown", o.markdown, "the tables as Markdown (alone: on standard output)");
  run.add_option("--junit", o.junit, "file: JUnit XML, a test case a trial");
  run.add_flag("--github-summary", o.github_summary, "add the tables to $GITHUB_STEP_SUMMARY");
  run.add_option("--strands", o.strands, "virtual time's strands")->check(CLI::IsMember({"fibers", "threads"}));
  run.add_option("--shuffle", o.shuffle, "virtual time: permute ties and jitter latencies by this seed")->check(kSeeds);
  run.add_option("--threads", o.threads, "virtual time: threads that compute gradients (0: all cores, the default)")
      ->check(CLI::Range(0, 1024));
  run.add_option("-j,--jobs", o.jobs,
                 "virtual time: trials at once (0: as many as cores, the default); the same results")
      ->check(CLI::Range(0, 1024));
  CLI::Option* events = run.add_option("--events", o.events, "event logs: none, brief (no single messages) or all")
                            ->check(CLI::IsMember({"none", "brief", "all"}))
                            ->capture_default_str();
  run.add_flag_callback(
         "--no-events", [&o] { o.events = "none"; }, "write no event logs")
      ->excludes(events);
  run.add_option(
         "--dump", o.dump,
         "params, gradients, samples: at each evaluation, an archive of NumPy a worker in the result folder's dump/")
      ->delimiter(',')
      ->check(CLI::IsMember({"params", "gradients", "samples"}));
  run.add_option("--trial-timeout", o.trial_timeout,
                 "end a trial after this long (default: the suite's run.trial_timeout)");
  run.add_option("--rendezvous-timeout", o.rendezvous_timeout,
                 "wait this long for all ranks to meet (default: the suite's run.rendezvous_timeout)");
  run.add_option("--stall-timeout", o.stall_timeout,
                 "end a trial in which nothing happens for this long (default: the suite's run.stall_timeout)");
  add_process_flags(run, o);
  name_environment(run);
  run.callback([&] { parsed.command = [&] { return command_run(parsed.run); }; });
}

void add_merge(CLI::App& app, Parsed& parsed) {
  MergeOptions& o = parsed.merge;
  CLI::App& merge = *app.add_subcommand("merge", "join the folders of run --shard into the folder of the whole run");
  merge.footer(kMergeExamples);
  merge.add_option("folders", o.folders, "of all shards of a run, in any order")->required();
  merge.add_option("-o,--output", o.output, "result folder, new or empty")->required();
  merge.add_flag("--partial", o.partial, "merge although trials are missing; run --resume on the result runs them");
  merge.add_flag("--wide", o.wide, "tables with all columns in a terminal, too");
  merge.callback([&] { parsed.command = [&] { return command_merge(parsed.merge); }; });
}

void add_tune(CLI::App& app, Parsed& parsed) {
  TuneOptions& o = parsed.tune;
  CLI::App& tune = *app.add_subcommand("tune", "find every variant's learning rate, all with the same budget");
  tune.footer(kTuneExamples);
  tune.add_option("suite", o.suite, "suite file (TOML); - is standard input")->required();
  add_suite_flags(tune, o.suite_options);
  tune.get_option("--runs")->description("draws on which each setting is tried (tune.repeats)");
  tune.add_option("-o,--output", o.output, "the tuned suite (default: SUITE.tuned.toml); its table beside it, as .csv");
  tune.add_flag("--force", o.force, "write over files that are there");
  tune.add_flag("--dry-run", o.dry_run, "print what would run; write nothing");
  tune.add_option("--threads", o.threads, "threads that compute gradients (0: all cores, the default)")
      ->check(CLI::Range(0, 1024));
  add_answer_flags(tune, o.jobs, o.resume);
  add_process_flags(tune, o);
  tune.callback([&] { parsed.command = [&] { return command_tune(parsed.tune); }; });
}

void add_calibrate(CLI::App& app, Parsed& parsed) {
  CLI::App& calibrate = *app.add_subcommand("calibrate", "measure what a step costs with all ranks of a suite at work");
  calibrate.add_option("suite", parsed.calibrate.suite, "suite file")->required();
  calibrate.add_flag("--links", parsed.calibrate.links,
                     "and what the link between each two ranks carries, one pair after the other");
  calibrate.add_option("--hosts", parsed.calibrate.hosts,
                       "the same between machines, by ssh: a host file as for run; links are measured too");
  calibrate.add_option("--ssh", parsed.calibrate.ssh, "with --hosts: the program that reaches them")
      ->capture_default_str();
  calibrate.add_option("--iface", parsed.calibrate.interface,
                       "network interface by which the machines reach each other");
  calibrate.add_option("-f,--filter", parsed.calibrate.filter, "of the first trial whose id matches this");
  add_suite_flags(calibrate, parsed.calibrate.suite_options);
  calibrate.callback([&] { parsed.command = [&] { return command_calibrate(parsed.calibrate); }; });
}

}  // namespace

void name_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    std::string name = option->get_single_name();
    if (name == "help" || option->get_positional() || name == "set") continue;
    for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    option->envname("HOPBENCH_" + name);
  }
}

void add_suite_flags(CLI::App& command, SuiteOptions& suite) {
  command.add_option("--set", suite.sets, "override a key: dotted.key=VALUE, a TOML value; repeatable")->take_all();
  command.add_option("--profile", suite.profile, "apply the suite's [profile.NAME], e.g. quick");
  command
      .add_option_function<std::uint64_t>(
          "--seed", [&suite](std::uint64_t v) { suite.seed = v; }, "seed of all draws")
      ->check(kSeeds);
  command
      .add_option_function<int>(
          "-r,--runs", [&suite](int v) { suite.repeats = v; }, "repeats of every trial")
      ->check(CLI::Range(1, 1000));
}

std::string check_finite(const std::string& text) {
  return std::isfinite(std::strtod(text.c_str(), nullptr)) ? std::string() : "'" + text + "' is not a finite number";
}

std::string check_above_zero(const std::string& text) {
  std::string why = check_finite(text);
  if (!why.empty() || std::strtod(text.c_str(), nullptr) > 0) return why;
  return "'" + text + "' is not a number above 0";
}

void add_answer_flags(CLI::App& command, int& jobs, std::string& resume) {
  command.add_option("-j,--jobs", jobs, "trials at once (0: as many as cores, the default); the same results")
      ->check(CLI::Range(0, 1024));
  command.add_option("--resume", resume, "go on with the trials that an interrupted call kept: their folder");
}

void add_process_flags(CLI::App& command, GatheringOptions& o) {
  command.add_option("--hosts", o.hosts, "file: machines to run on, by ssh; a line each: HOST [slots=N]");
  command.add_option("--ssh", o.ssh, "with --hosts: the program that reaches them")->capture_default_str();
  command.add_option("--rendezvous", o.rendezvous,
                     "where the processes that mpirun, srun or a Kubernetes Job started meet: a shared folder, "
                     "redis://host:port/prefix or tcp://host:port");
  command.add_option("--iface", o.interface, "network interface by which the machines reach each other");
}

void add_output(CLI::App& command, const std::string& name, std::optional<std::string>& to, const std::string& what) {
  command.add_flag(name + "{-}", to, what);
}

void add_run_commands(CLI::App& app, Parsed& parsed) {
  add_run(app, parsed);
  add_merge(app, parsed);
  add_tune(app, parsed);
  add_calibrate(app, parsed);
}

}  // namespace hopbench
