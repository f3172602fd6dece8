#include "cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "cli/scaffold.h"
#include "cli/signals.h"

namespace hopbench {
namespace {

constexpr const char* kExamples = R"(
Examples:
  hopbench run suites/cnn_hetero.toml --profile quick     the main job, short
  hopbench run suites/cnn_hetero.toml --set 'transport.name="sim"'
  hopbench list protocols -v                              protocols, their papers and knobs
  hopbench validate my.toml                               every mistake of a suite at once
  hopbench tune my.toml                                   every variant's learning rate, with one budget
  ci/hopbench --protocols DIR run my.toml                 with the protocols of a folder of yours built in

Exit codes: 0 ok, 2 usage, suite or data file, 3 some trials failed, 6 environment or backend missing, 130/143
interrupted. Every flag of run but --set can also be set in the environment: HOPBENCH_PROFILE=quick is
--profile quick.)";

constexpr const char* kRunExamples = R"(
Examples:
  hopbench run suites/cnn_hetero.toml
  hopbench run suites/cnn_hetero.toml --filter 'hop|allreduce' -r 5
  hopbench run suites/quadratic.toml --json > results.json
  hopbench run --resume hopbench-results/20260101T120000Z-1234)";

constexpr const char* kTuneExamples = R"(
Examples:
  hopbench tune my.toml                                   writes my.tuned.toml and my.tuned.csv
  hopbench tune my.toml --set tune.trials=24 -o tuned/my.toml
  hopbench run my.tuned.toml                              its notes tell how it was tuned)";

// What the options parse into; lives as long as the app.
struct Parsed {
  RunOptions run;
  TuneOptions tune;
  CalibrateOptions calibrate;
  BenchSimOptions bench_sim;
  BenchComputeOptions bench_compute;
  BenchLossesOptions bench_losses;
  BenchTransportOptions bench_transport;
  NewOptions scaffold;
  ListOptions list;
  ValidateOptions validate;
  EnvOptions env;
  VersionOptions version;
  CompletionOptions completion;
  std::string colour = "auto";
  std::function<int()> command;
};

// What TOML can hold; CLI11 makes its largest of everything beyond.
const CLI::Range kSeeds(std::int64_t{0}, std::numeric_limits<std::int64_t>::max() - 1);

// A flag's environment variable: --trial-timeout is HOPBENCH_TRIAL_TIMEOUT.
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

// --json alone is standard output, --json=FILE a file; CLI11's flags take their value only behind '='.
void add_output(CLI::App& command, const std::string& name, std::optional<std::string>& to, const std::string& what) {
  command.add_flag(name + "{-}", to, what);
}

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
  run.add_option("-o,--output", o.output, "result folder (default: hopbench-results/<utc>-<id>)");
  CLI::Option* resume = run.add_option("--resume", o.resume, "go on with an interrupted run: its folder");
  resume->excludes("suite")->excludes("--output");
  run.add_flag("--retry-failed", o.retry_failed, "with --resume: run failed trials again")->needs(resume);
  run.add_flag("--force", o.force, "with --resume: keep rows although settings have changed")->needs(resume);
  add_output(run, "--json", o.json, "the whole run as JSON (alone: on standard output)");
  add_output(run, "--csv", o.csv, "trials.csv (alone: on standard output)");
  add_output(run, "--markdown", o.markdown, "the tables as Markdown (alone: on standard output)");
  run.add_option("--strands", o.strands, "virtual time's strands")->check(CLI::IsMember({"fibers", "threads"}));
  run.add_option("--shuffle", o.shuffle, "virtual time: permute ties and jitter latencies by this seed")->check(kSeeds);
  run.add_option("--threads", o.threads, "virtual time: threads that compute gradients (0: all cores, the default)")
      ->check(CLI::Range(0, 1024));
  run.add_option("-j,--jobs", o.jobs,
                 "virtual time: trials at once (0: as many as cores, the default); the same results")
      ->check(CLI::Range(0, 1024));
  run.add_flag("!--no-events", o.events, "write no event logs");
  run.add_option("--trial-timeout", o.trial_timeout, "end a trial after this long (default 30min)");
  run.add_option("--rendezvous-timeout", o.rendezvous_timeout, "wait this long for all ranks to meet (default 30s)");
  run.add_option("--stall-timeout", o.stall_timeout,
                 "end a trial in which nothing happens for this long (default 60s)");
  name_environment(run);
  run.callback([&] { parsed.command = [&] { return command_run(parsed.run); }; });
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
  tune.callback([&] { parsed.command = [&] { return command_tune(parsed.tune); }; });
}

void add_bench_losses(CLI::App& bench, Parsed& parsed) {
  BenchLossesOptions& o = parsed.bench_losses;
  const auto finite = [](const std::string& text) {  // CLI::Range lets NaN pass
    return std::isfinite(std::strtod(text.c_str(), nullptr)) ? std::string() : "'" + text + "' is no finite number";
  };
  CLI::App& losses = *bench.add_subcommand("losses", "the losses of some steps, and all that is needed to repeat them");
  losses.add_option("model", o.model, "see hopbench list models")->required();
  losses.add_option("-o,--output", o.output, "folder to write to")->required();
  losses.add_option("--dataset", o.dataset, "default: the model's own");
  losses.add_option("--path", o.path, "folder of the data set's files");
  losses.add_option("--backend", o.backend, "see hopbench list backends");
  losses.add_option("--threads", o.threads, "of a gradient")->check(CLI::Range(1, 1024));
  losses.add_option("--batch", o.batch, "samples of a step")->check(CLI::Range(1, 1000000));
  losses.add_option("--steps", o.steps, "how many")->check(CLI::Range(1, 1000000));
  losses.add_option("--lr", o.lr, "learning rate")->check(finite)->check(CLI::Range(0.0, 1e6));
  losses.add_option("--momentum", o.momentum, "of SGD")->check(finite)->check(CLI::Range(0.0, 1.0));
  losses.add_option("--weight-decay", o.weight_decay, "of SGD")->check(finite)->check(CLI::Range(0.0, 1e6));
  losses.callback([&] { parsed.command = [&] { return command_bench_losses(parsed.bench_losses); }; });
}

void add_bench_transport(CLI::App& bench, Parsed& parsed) {
  BenchTransportOptions& o = parsed.bench_transport;
  CLI::App& transport = *bench.add_subcommand(
      "transport", "messages, averages and all-reduces beside the same without hopbench, and the machine's limit");
  const auto sizes = CLI::AsSizeValue(false);
  transport.add_option("operations", o.operations, "pingpong, average, allreduce (default: all)")
      ->check(CLI::IsMember({"pingpong", "average", "allreduce"}));
  transport.add_option("--transport", o.transports, "only these (default: all that are here)");
  transport.add_option("-b,--begin", o.begin, "smallest size, bytes: 8, 64K, 1M")
      ->transform(sizes)
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 30));
  transport.add_option("-e,--end", o.end, "largest size")
      ->transform(sizes)
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 30));
  transport.add_option("-f,--factor", o.factor, "from a size to the next; 1: only the smallest")
      ->check(CLI::Range(1, 1 << 20));
  transport
      .add_option("-n,--iterations", o.iterations,
                  "operations a round (default: as many as make 64 MiB, from 20 to 1000)")
      ->check(CLI::Range(1, 1000000));
  transport.add_option("-w,--warmup", o.warmup, "operations before each round that do not count")
      ->check(CLI::Range(0, 1000000));
  transport.add_option("-r,--rounds", o.rounds, "how often each way has its turn")->check(CLI::Range(1, 1000));
  transport.add_option("--ranks", o.ranks, "processes")->check(CLI::Range(2, 64));
  transport
      .add_option("--neighbours", o.neighbours, "of an average: ranks that each one hears (default: 2, or all others)")
      ->check(CLI::Range(1, 63));
  transport.add_option("--interface", o.interface, "network interface (default: loopback)");
  transport.add_option("--mpi-peer", o.mpi_peer, "the same over MPI: ci/transport makes and names this program")
      ->check(CLI::ExistingFile);
  transport.add_flag("--json", o.json, "as JSON");
  transport.callback([&] { parsed.command = [&] { return command_bench_transport(parsed.bench_transport); }; });
}

void add_bench(CLI::App& app, Parsed& parsed) {
  CLI::App& bench = *app.add_subcommand("bench", "benchmarks of hopbench itself");
  bench.require_subcommand(1);
  CLI::App& sim = *bench.add_subcommand("sim", "virtual time: messages a second, memory a rank");
  sim.add_option("--ranks", parsed.bench_sim.ranks, "ranks that exchange small messages")->check(CLI::Range(2, 4096));
  sim.add_option("--incast", parsed.bench_sim.incast, "workers that push to one server")->check(CLI::Range(1, 100000));
  sim.add_option("-n,--messages", parsed.bench_sim.messages, "messages of the exchange, and pushes of the incast")
      ->check(CLI::Range(1, 100'000'000));
  sim.add_option("--workers", parsed.bench_sim.workers, "workers of the Hop run")->check(CLI::Range(8, 100000));
  sim.add_option("--iterations", parsed.bench_sim.iterations, "iterations of the Hop run")
      ->check(CLI::Range(1, 1000000));
  sim.add_option("-r,--runs", parsed.bench_sim.repeats, "repeats")->check(CLI::Range(1, 1000));
  sim.add_flag("--json", parsed.bench_sim.json, "as JSON");
  sim.callback([&] { parsed.command = [&] { return command_bench_sim(parsed.bench_sim); }; });

  BenchComputeOptions& o = parsed.bench_compute;
  CLI::App& compute =
      *bench.add_subcommand("compute", "gradients and vector operations beside what this machine could do");
  compute.add_option("-m,--model", o.models, "models to measure (default: all); none, alone: no model");
  compute.add_option("-b,--batch", o.batch, "samples in a gradient")->check(CLI::Range(1, 65536));
  compute.add_option("-t,--threads", o.threads, "threads of a gradient, at most one a core")
      ->check(CLI::Range(1, 1024));
  compute.add_option("-r,--repeats", o.repeats, "steps that are timed")->check(CLI::Range(1, 10000));
  compute.add_flag("--layers", o.layers, "where the time of a step goes, by layer and direction");
  compute.add_flag("!--no-vectors", o.vectors, "leave out memory bandwidth and vector operations");
  compute.add_option("--isa", o.isa, "avx2: as on a machine without AVX-512")->check(CLI::IsMember({"avx2"}));
  compute.add_flag("--json", o.json, "as JSON");
  compute.callback([&] { parsed.command = [&] { return command_bench_compute(parsed.bench_compute); }; });
  add_bench_losses(bench, parsed);
  add_bench_transport(bench, parsed);
}

void add_small_commands(CLI::App& app, Parsed& parsed) {
  CLI::App& list =
      *app.add_subcommand("list", "protocols, models, datasets, backends, transports, topologies, suites, keys");
  list.add_option("what", parsed.list.what, "what to list")->required();  // checked by the command, which suggests
  list.add_flag("-v,--verbose", parsed.list.verbose, "with knobs, ranges, defaults, sources");
  list.add_flag("--json", parsed.list.json, "as JSON");
  list.callback([&] { parsed.command = [&] { return command_list(parsed.list); }; });

  CLI::App& validate = *app.add_subcommand("validate", "check suites: every mistake, with line and column");
  validate.add_option("suite", parsed.validate.suites, "suite files")->required();
  add_suite_flags(validate, parsed.validate.suite);
  validate.callback([&] { parsed.command = [&] { return command_validate(parsed.validate); }; });

  CLI::App& calibrate = *app.add_subcommand("calibrate", "measure what a step costs with all ranks of a suite at work");
  calibrate.add_option("suite", parsed.calibrate.suite, "suite file")->required();
  calibrate.add_flag("--links", parsed.calibrate.links,
                     "and what the link between each two ranks carries, one pair after the other");
  calibrate.add_option("-f,--filter", parsed.calibrate.filter, "of the first trial whose id matches this");
  add_suite_flags(calibrate, parsed.calibrate.suite_options);
  calibrate.callback([&] { parsed.command = [&] { return command_calibrate(parsed.calibrate); }; });

  CLI::App& env = *app.add_subcommand("env", "versions, devices, and which launcher variables were seen");
  env.callback([&] { parsed.command = [&] { return command_env(parsed.env); }; });
  CLI::App& version = *app.add_subcommand("version", "version and commit");
  version.callback([&] { parsed.command = [&] { return command_version(parsed.version); }; });

  CLI::App& scaffold = *app.add_subcommand("new", "start a protocol of your own: source, test and suite");
  scaffold.add_option("what", parsed.scaffold.what, "what to start")->required()->check(CLI::IsMember({"protocol"}));
  scaffold.add_option("name", parsed.scaffold.name, "its name: lower case letters, digits, underscores")->required();
  scaffold.add_option("folder", parsed.scaffold.folder, "where to write it (default: ./NAME)");
  scaffold.callback([&] { parsed.command = [&] { return command_new(parsed.scaffold); }; });

  CLI::App& completion = *app.add_subcommand("completion", "print a completion script for your shell");
  completion.add_option("shell", parsed.completion.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.callback([&] { parsed.command = [&] { return command_completion(parsed.completion); }; });
}

bool wants_colour(const std::string& mode) {
  if (mode != "auto") return mode == "always";
  const auto set = [](const char* name) { return std::getenv(name) != nullptr && *std::getenv(name) != '\0'; };
  if (set("NO_COLOR")) return false;
  if (set("CLICOLOR_FORCE")) return true;
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

void build(CLI::App& app, Parsed& parsed) {
  app.require_subcommand(1);
  app.fallthrough();  // --color also behind the command
  app.footer(kExamples);
  app.add_option("--color,--colour", parsed.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->envname("HOPBENCH_COLOR");
  app.set_version_flag("--version", [] { return version_line(); });
  add_run(app, parsed);
  add_tune(app, parsed);
  add_bench(app, parsed);
  add_small_commands(app, parsed);
}

// The command that was parsed last, and its words: "run", "bench sim".
const CLI::App& innermost(const CLI::App& app, std::string& words) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    words += " " + at->get_name();
  }
  return *at;
}

std::vector<std::string> known_words(const CLI::App& app, const CLI::App& at) {
  std::vector<std::string> known;
  for (const CLI::App* sub : at.get_subcommands([](const CLI::App*) { return true; })) known.push_back(sub->get_name());
  for (const CLI::App* holder : {&at, &app}) {
    for (const CLI::Option* option : holder->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  return known;
}

// CLI11 2.1.2 exits with 105-109 and suggests nothing.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string words, message = error.what(), hint;
  const CLI::App& at = innermost(app, words);
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const char* what = word.starts_with('-') ? "flag" : words.empty() ? "command" : "argument";
    message = std::string("unknown ") + what + " '" + word + "'";
    hint = did_you_mean(word, known_words(app, at));
  }
  std::fprintf(stderr, "hopbench%s: %s.%s See hopbench%s --help\n", words.c_str(), message.c_str(), hint.c_str(),
               words.c_str());
  return static_cast<int>(ExitCode::kUsage);
}

Error broken_stdout() { return environment_error("cannot write to standard output: is it closed, or the disk full?"); }

int run_guarded(const std::function<int()>& command) {
  try {
    const int code = command();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw broken_stdout();
    return code;
  } catch (const SuiteError& error) {
    std::fprintf(stderr, "%s\n", error.what());  // a line each, with file, line and column in front
    return static_cast<int>(ExitCode::kUsage);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted && interrupted_exit_code() != 0) return interrupted_exit_code();
    std::fprintf(stderr, "hopbench: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "hopbench: out of memory: use a smaller model or batch, or fewer ranks\n");
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "hopbench: cannot use %s: %s\n", error.path1().c_str(), error.code().message().c_str());
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) {  // fmt::print says so in its own words
      std::fprintf(stderr, "hopbench: %s\n", broken_stdout().what());
      return static_cast<int>(ExitCode::kEnvironment);
    }
    std::fprintf(stderr, "hopbench: internal error: %s\n", error.what());
    return static_cast<int>(ExitCode::kTrialsFailed);
  }
}

}  // namespace

std::vector<std::vector<std::string>> command_words() {
  Parsed parsed;
  CLI::App app;
  build(app, parsed);
  std::vector<std::vector<std::string>> words;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back({sub->get_name()});
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_lnames()) words.back().push_back("--" + name);
    }
  }
  return words;
}

int run_command_line(int argc, char** argv) {
  if (argc >= 2 && std::strcmp(argv[1], "__complete") == 0) {
    return run_guarded([&] { return command_complete({argv + 2, argv + argc}, command_words()); });
  }
  Parsed parsed;
  CLI::App app("Benchmarks heterogeneity-aware distributed training protocols", "hopbench");
  build(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  parsed.run.colour = parsed.tune.colour = wants_colour(parsed.colour);
  parsed.run.command_line.assign(argv, argv + argc);
  return run_guarded(parsed.command);
}

}  // namespace hopbench
