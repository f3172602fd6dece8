// `hopbench __man`: the manual page, written from the flags themselves so that it never falls behind them. The install
// step keeps it as share/man/man1/hopbench.1.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "backends/base/text.h"
#include "cli/parsed.h"

namespace hopbench {
namespace {

/// Returns text as troff takes it, without escapes and without lines that begin a request.
std::string troff(const std::string& text) {
  std::string safe = replaced(text, "\\", "\\e");
  safe = replaced(safe, "-", "\\-");
  safe = replaced(safe, "\n.", "\n\\&.");
  safe = replaced(safe, "\n'", "\n\\&'");
  return safe.starts_with('.') || safe.starts_with('\'') ? "\\&" + safe : safe;
}

/// Returns lines that are printed as they stand.
std::string example(const std::string& text) { return ".nf\n" + troff(text) + "\n.fi\n"; }

void add_option(std::string& page, const CLI::Option& option) {
  if (option.get_group().empty()) return;  // hidden
  std::string name = option.get_name(option.get_positional(), true), type = option.get_type_name();
  if (option.get_items_expected_max() == 0) type.clear();
  page += fmt::format(".TP\n\\fB{}\\fR{}\n{}", troff(name), type.empty() ? "" : " \\fI" + troff(type) + "\\fR",
                      troff(option.get_description()));
  if (!option.get_default_str().empty()) page += troff(" (default: " + option.get_default_str() + ")");
  page += '\n';
}

void add_command(std::string& page, const CLI::App& app, const std::string& words) {
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  page += fmt::format(".SS {}\n{}\n", troff(words), troff(app.get_description()));
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name(false, true) != "-h,--help") add_option(page, *option);
  }
  if (!app.get_footer().empty() && below.empty()) page += ".PP\n" + example(app.get_footer());
  for (const CLI::App* sub : below) add_command(page, *sub, words + " " + sub->get_name());
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string page = fmt::format(
      ".TH HOPBENCH 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\nhopbench \\- {}\n"
      ".SH SYNOPSIS\n\\fBhopbench\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n",
      troff(version), troff(app.get_description()));
  page += ".SH DESCRIPTION\n" +
          troff(
              "A suite (TOML) names a model, protocols, scenarios with stragglers and slow links, a transport, and "
              "what to measure. hopbench run runs its trials, as real processes or in virtual time, and writes "
              "tables that can be compared, gated and reported. Suites that come with the program are found by "
              "name from any folder.\n");
  page += ".SH COMMANDS\n";
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    add_command(page, *sub, "hopbench " + sub->get_name());
  }
  page += ".SH OPTIONS OF EVERY COMMAND\n";
  for (const CLI::Option* option : app.get_options()) add_option(page, *option);
  page += ".SH ENVIRONMENT\n" + troff(
                                    "Flags are also read from variables: HOPBENCH_PROFILE=quick is --profile quick. "
                                    "HOPBENCH_ROOT names a checkout whose suites are used. NO_COLOR and "
                                    "CLICOLOR_FORCE are honoured; CI makes gates strict and progress quiet.\n");
  page += ".SH EXAMPLES AND EXIT STATUS\n" + example(app.get_footer());
  return page;
}

}  // namespace hopbench
