// The flags of reproduce.
#include "cli/parsed.h"

#include <CLI/CLI.hpp>

namespace hopbench {
namespace {

constexpr const char* kReproduceExamples = R"(
Examples:
  hopbench reproduce                               the papers there are
  hopbench reproduce dssp --list                   what is claimed, and how to repeat it
  hopbench reproduce dssp                          small sizes
  hopbench reproduce dssp --claim table1 --profile full
  hopbench reproduce dssp --from DIR               judge results that are there
  hopbench reproduce --kick-the-tires              the small sizes of all papers: under 5 minutes

Exit codes: 0 every verdict is the expected one, 1 one is not, 6 data is missing (the others ran).)";

}  // namespace

void add_paper_commands(CLI::App& app, Parsed& parsed) {
  ReproduceCommand& o = parsed.reproduce;
  CLI::App& reproduce = *app.add_subcommand("reproduce", "claims of papers: run what shows them, and judge");
  reproduce.footer(kReproduceExamples);
  reproduce.add_option("paper", o.paper, "a paper (default: tell which there are)");
  CLI::Option* list = reproduce.add_flag("--list", o.list, "its claims, and the command that repeats each");
  list->needs("paper");
  reproduce.add_option("--claim", o.claims, "only this claim; repeatable")->take_all()->needs("paper");
  reproduce.add_option("--profile", o.profile, "smoke (small sizes, the default) or full")
      ->check(CLI::IsMember({"smoke", "full"}));
  reproduce.add_option(
      "-o,--output", o.output,
      "result folder: the folder of each suite in it must be new or empty (default: hopbench-results/<utc>-<id>)");
  reproduce.add_option("--from", o.from, "judge the results in this folder; run nothing")->needs("paper");
  reproduce.add_flag("--kick-the-tires", o.kick_the_tires, "the small sizes of every paper whose data is there");
  add_output(reproduce, "--json", o.json, "what came out as JSON (alone: on standard output)");
  reproduce.add_option("--markdown", o.markdown, "file: the rows of docs/reproduction/PAPER.md");
  name_environment(reproduce);
  reproduce.callback([&] { parsed.command = [&] { return command_reproduce(parsed.reproduce); }; });
}

}  // namespace hopbench
