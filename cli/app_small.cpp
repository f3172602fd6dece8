// The flags of the commands that only report, and of new.
#include "cli/parsed.h"

#include <CLI/CLI.hpp>

namespace hopbench {

void add_small_commands(CLI::App& app, Parsed& parsed) {
  CLI::App& list = *app.add_subcommand(
      "list", "protocols, models, datasets, backends, transports, topologies, networks, suites, keys, columns");
  list.add_option("what", parsed.list.what, "what to list");  // checked by the command, which names the values
  list.add_flag("-v,--verbose", parsed.list.verbose, "with knobs, ranges, defaults, sources");
  list.add_flag("--json", parsed.list.json, "as JSON");
  list.callback([&] { parsed.command = [&] { return command_list(parsed.list); }; });

  // All that follows are words, "[a, b]" and "kept by --force" too, which CLI11 would take for a list and a flag.
  CLI::App& explain = *app.add_subcommand("explain",
                                          "explain WORD...: what a column, row, sign or mark of the tables, a protocol "
                                          "or a key means (without words: all of the tables)");
  explain.fallthrough(false)->allow_extras();
  explain.callback([&] {
    parsed.explain.words = explain.remaining();
    parsed.command = [&] { return command_explain(parsed.explain); };
  });

  CLI::App& validate = *app.add_subcommand("validate", "check suites: every mistake, with line and column");
  validate.add_option("suite", parsed.validate.suites, "suite files")->required();
  add_suite_flags(validate, parsed.validate.suite);
  validate.callback([&] { parsed.command = [&] { return command_validate(parsed.validate); }; });

  CLI::App& env = *app.add_subcommand("env", "versions, devices, and which launcher variables were seen");
  env.callback([&] { parsed.command = [&] { return command_env(parsed.env); }; });
  CLI::App& version = *app.add_subcommand("version", "version and commit");
  version.callback([&] { parsed.command = [&] { return command_version(parsed.version); }; });

  CLI::App& cite = *app.add_subcommand("cite", "BibTeX of hopbench and of the papers behind a run's protocols");
  cite.add_option("what", parsed.cite.what, "folders of runs, or names of protocols");
  cite.callback([&] { parsed.command = [&] { return command_cite(parsed.cite); }; });

  CLI::App& scaffold = *app.add_subcommand("new", "start a protocol of your own: source, test and suite");
  scaffold.add_option("what", parsed.scaffold.what, "what to start")->required()->check(CLI::IsMember({"protocol"}));
  scaffold.add_option("name", parsed.scaffold.name, "its name: lower case letters, digits, underscores")->required();
  scaffold.add_option("folder", parsed.scaffold.folder, "where to write it (default: ./NAME)");
  scaffold.add_flag("--async", parsed.scaffold.asynchronous,
                    "start from a protocol in which every worker asks and answers, and waits for no slow one");
  scaffold.callback([&] { parsed.command = [&] { return command_new(parsed.scaffold); }; });

  CLI::App& completion = *app.add_subcommand("completion", "print a completion script for your shell");
  completion.add_option("shell", parsed.completion.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion.callback([&] { parsed.command = [&] { return command_completion(parsed.completion); }; });
}

}  // namespace hopbench
