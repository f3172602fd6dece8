#include "cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/ran_out.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "cli/parsed.h"
#include "suites/campaign/preflight.h"

namespace hopbench {
namespace {

constexpr const char* kExamples = R"(
Examples:
  hopbench run suites/cnn_hetero.toml --profile quick     the main job, short
  hopbench run suites/cnn_hetero.toml --set 'transport.name="sim"'
  hopbench list protocols -v                              protocols, their papers and knobs
  hopbench validate my.toml                               every mistake of a suite at once
  hopbench tune my.toml                                   every variant's learning rate, with one budget
  hopbench advise my_cluster.toml                         which protocol to use on your machines
  ci/hopbench --protocols DIR run my.toml                 with the protocols of a folder of yours built in

Exit codes: 0 ok; 1 a regression (gate, compare) or an unexpected verdict (reproduce); 2 a mistake in the usage, a suite
or a data file; 3 some trials failed; 4 a gate that cannot decide; 5 a gate that compared nothing; 6 a backend,
transport, device or data set is missing; 130 and 143 interrupted (the run prints the command that resumes it).

Every flag of run but --set can also be set in the environment: HOPBENCH_PROFILE=quick is --profile quick.
A variable HOPBENCH_... that hopbench does not know is a mistake.)";

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
  app.fallthrough();  // allows --color behind the command, too
  app.add_option("--color,--colour", parsed.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->envname("HOPBENCH_COLOR");
  app.set_version_flag("--version", [] { return version_line(); });
  add_run_commands(app, parsed);
  add_bench_commands(app, parsed);
  add_gate_commands(app, parsed);
  add_paper_commands(app, parsed);
  add_import_commands(app, parsed);
  add_advise_commands(app, parsed);
  add_small_commands(app, parsed);
  app.footer(kExamples);  // last, since commands inherit what is there when they are added, and need other examples
}

// Returns the command that was parsed last, and appends its words: "run", "bench sim".
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

// Writes a message to standard error, with control characters escaped and its middle left out if it is very long.
void complain(const std::string& message) {
  constexpr std::size_t kMostBytes = 20000;
  std::fprintf(stderr, "%s\n", printable_lines(shortened(message, kMostBytes)).c_str());
}

// Prints what is wrong with the command line. CLI11 2.1.2 itself exits with 105-109 and suggests nothing.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string words, message = error.what(), hint;
  const CLI::App& at = innermost(app, words);
  const std::vector<std::string> unknown = app.remaining(true);
  const bool wants_command = !at.get_subcommands([](const CLI::App*) { return true; }).empty();
  const bool no_command = wants_command && !unknown.empty() && !unknown.front().starts_with('-');
  // --help and --version. The help of a command that does not exist would be hopbench's own, which is not an answer.
  if (error.get_exit_code() == 0 && !no_command) return app.exit(error);
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const char* what = word.starts_with('-') ? "flag" : no_command ? "command" : "argument";
    message = std::string("unknown ") + what + " '" + quotable(word) + "'";
    hint = did_you_mean(word, known_words(app, at));
  }
  complain("hopbench" + words + ": " + message + "." + hint + " See hopbench" + words + " --help");
  return static_cast<int>(ExitCode::kUsage);
}

Error broken_stdout() { return environment_error("cannot write to standard output: is it closed, or the disk full?"); }

void collect_variables(const CLI::App& app, std::vector<std::string>& known) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_envname().empty()) known.push_back(option->get_envname());
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) collect_variables(*sub, known);
}

std::vector<std::string> known_variables(const CLI::App& app) {
  std::vector<std::string> known{"HOPBENCH_ROOT", "HOPBENCH_COMMAND", "HOPBENCH_RANK", "HOPBENCH_WORLD_SIZE",
                                 "HOPBENCH_JOB",  "HOPBENCH_TOKEN",   "HOPBENCH_HOST"};
  collect_variables(app, known);
  return known;
}

// Removes the variables of other commands. The library checks them for every command with such a flag, so that
// `reproduce` would refuse a profile of `run`.
void forget_variables_of_others(CLI::App& app, std::span<char*> words) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (std::any_of(words.begin(), words.end(), [&](const char* word) { return command->get_name() == word; }))
      continue;
    for (CLI::Option* option : command->get_options()) option->envname("");
  }
}

// Refuses unknown variables. With a mistyped one a run would have other settings than its user believes.
void refuse_unknown_variables(const std::vector<std::string>& known) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name = std::string(*variable).substr(0, std::strcspn(*variable, "="));
    if (!name.starts_with("HOPBENCH_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw usage_error(name + ", which is set in the environment, is no variable of hopbench: unset it." +
                      did_you_mean(name, known));
  }
}

// Refuses variables that CLI11 skipped. Versions from 2.2 on skip a value that the flag would refuse; 2.1 refuses it.
void refuse_skipped_variables(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_envname();
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (value == nullptr || *value == '\0' || option->count() > 0) continue;
    throw usage_error(name + " = '" + quotable(value) + "', which is set in the environment, is no value of " +
                      option->get_name() + ": see hopbench " + app.get_name() + " --help, or unset it");
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) refuse_skipped_variables(*sub);
}

int run_guarded(const std::function<int()>& command) {
  try {
    const int code = command();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw broken_stdout();
    return code;
  } catch (const SuiteError& error) {
    tell(std::string(error.what()) + "\n");  // a line each, with file, line and column in front
    return static_cast<int>(ExitCode::kUsage);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kInterrupted && interrupted_exit_code() != 0) return interrupted_exit_code();
    complain(std::string("hopbench: ") + error.what());
    return static_cast<int>(error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    complain("hopbench: cannot use " + quotable(error.path1().string()) + ": " + error.code().message());
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    if (const std::optional<std::string> what = ran_out(error)) {
      complain("hopbench: " + *what);
      return static_cast<int>(ExitCode::kEnvironment);
    }
    if (std::ferror(stdout) != 0) {  // fmt::print says so in its own words
      complain(std::string("hopbench: ") + broken_stdout().what());
      return static_cast<int>(ExitCode::kEnvironment);
    }
    complain(std::string("hopbench: internal error: ") + error.what());
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
  const bool manual = argc == 2 && std::strcmp(argv[1], "__man") == 0;
  Parsed parsed;
  CLI::App app("Benchmarks heterogeneity-aware distributed training protocols", "hopbench");
  build(app, parsed);
  if (manual) {
    return run_guarded([&] {
      std::fputs(man_page(app, version_line()).c_str(), stdout);
      return static_cast<int>(ExitCode::kOk);
    });
  }
  const std::vector<std::string> variables = known_variables(app);
  forget_variables_of_others(app, std::span(argv, static_cast<std::size_t>(argc)));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string& kind = parsed.list.what;
    const bool unknown_kind =
        !kind.empty() && std::find(listable().begin(), listable().end(), kind) == listable().end();
    if (error.get_exit_code() == 0 && unknown_kind)  // its help would be that of list, which is not an answer
      return run_guarded([&] { return command_list(parsed.list); });
    return explain(app, error);
  }
  parsed.run.colour = parsed.merge.colour = parsed.tune.colour = parsed.compare.colour = wants_colour(parsed.colour);
  const std::vector<std::string> words(argv, argv + argc);
  parsed.run.command_line = parsed.merge.command_line = parsed.tune.command_line = words;
  parsed.reproduce.command_line = parsed.calibrate.command_line = parsed.record.command_line = words;
  parsed.advise.command_line = parsed.whatif.command_line = words;
  return run_guarded([&] {
    check_stack();
    refuse_unknown_variables(variables);
    refuse_skipped_variables(app);
    return parsed.command();
  });
}

}  // namespace hopbench
