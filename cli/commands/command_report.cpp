// `hopbench report`.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "cli/commands.h"
#include "cli/commands/report_bounds.h"
#include "cli/outputs.h"
#include "results/report/paper_figure.h"
#include "results/report/report.h"
#include "results/tables/cost.h"
#include "results/tables/latex.h"
#include "results/tables/summary.h"
#include "suites/campaign/filter.h"

namespace hopbench {
namespace {

/// Reads the reference from the suite in the folder, and the bounds of each trial that ran. If this program cannot read
/// the suite (it lacks a protocol, say), the report shows the rest.
void add_suite(const RunFolder& run, ReportOptions& options) {
  try {
    const Suite suite = parse_suite(run.suite_toml(), run.path() + "/suite.toml", {});
    options.reference = suite.reference;
    options.at_the_edge = {suite.at_the_edge.begin(), suite.at_the_edge.end()};
    std::map<std::string, const TrialSpec*> specs;
    for (const TrialSpec& spec : suite.trials) specs[spec.id()] = &spec;
    for (const TrialRow& row : run.rows()) {
      const auto spec = specs.find(row.record.id);
      if (spec != specs.end()) options.bounds[row.record.id] = bound_of(*spec->second, row.record);
    }
  } catch (const Error& error) {
    tell(fmt::format("no speed-ups and no bounds: {}\n", error.what()));
  }
}

std::vector<TrialRow> wanted_rows(const RunFolder& run, const ReportOptions& options) {
  std::vector<TrialRow> rows;
  for (const TrialRow& row : run.rows()) {
    if (options.wanted(row)) rows.push_back(row);
  }
  if (rows.empty()) throw usage_error(run.path() + ": --filter leaves no trial");
  return rows;
}

void write_figure(const ReportCommand& command, std::span<const TrialRow> rows, const std::string& reference) {
  if (command.output.empty()) throw usage_error("--figure wants -o FILE.svg, FILE.png or FILE.pdf");
  const PaperFigure figure = paper_figure(rows, reference, command.figure, command.title);
  draw(figure, behind_links(command.output));
  fmt::print("{}\n", printable_line(figure.caption));
}

std::vector<std::string> columns_of(const std::string& list) {
  std::vector<std::string> columns;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::size_t first = list.find_first_not_of(' ', begin), last = list.find_last_not_of(' ', end - 1);
    columns.push_back(first >= end ? "" : list.substr(first, last + 1 - first));
    begin = end + 1;
  }
  return columns;
}

void write_tables(const ReportCommand& command, std::span<const TrialRow> rows, const std::string& reference) {
  std::vector<Table> tables = command.cost ? cost_tables(rows) : summarise(rows, reference);
  if (command.cost) {
    const PayersShown shown = command.workers ? PayersShown::kEachWorker : PayersShown::kSpread;
    for (Table& table : who_pays_tables(rows, shown)) tables.push_back(std::move(table));
  }
  std::string text = command.latex ? to_latex(tables, columns_of(command.columns)) : "";
  for (std::size_t i = 0; i < tables.size() && !command.latex; ++i)
    text += (i > 0 ? "\n" : "") + to_text(for_a_screen(tables[i]), false);
  put(command.output.empty() ? "-" : command.output, text);
}

/// Judges the claims of the paper that the suite is named after: hop_skipping.
int check_claims(const ReportCommand& command, const RunFolder& run) {
  const std::string suite = run.rows().empty() ? "" : run.rows().front().labels.suite;
  ReproduceCommand options;
  for (const std::string& paper : paper_names()) {
    if (suite.starts_with(paper + "_") && paper.size() > options.paper.size()) options.paper = paper;
  }
  if (options.paper.empty())
    throw usage_error(fmt::format("--check: suite '{}' is of no paper: hopbench reproduce lists them", suite));
  options.from = command.folder;
  if (!command.figure.empty()) options.claims = {command.figure};
  return command_reproduce(options);
}

}  // namespace

int command_report(const ReportCommand& command) {
  const std::regex wanted = regular_expression(command.filter, "--filter");
  const std::vector<std::string> inputs = inputs_of({&command.folder, 1});
  if (!command.output.empty()) {
    const OutputFile output{"-o", command.output};
    check_output_files({&output, 1}, inputs);
  }
  const RunFolder run = open_run(command.folder);
  run.context_json();  // throws if it is damaged: the origin of the numbers is then unknown
  if (command.check) return check_claims(command, run);
  ReportOptions options;
  options.wanted = [&](const TrialRow& row) { return std::regex_search(row.record.id, wanted); };
  options.drawn = command.trials;
  options.warn = [](const std::string& flaw) { tell("warning: " + flaw + "\n"); };
  add_suite(run, options);
  if (!command.figure.empty() || command.latex || command.cost) {
    const std::vector<TrialRow> rows = wanted_rows(run, options);
    command.figure.empty() ? write_tables(command, rows, options.reference)
                           : write_figure(command, rows, options.reference);
    return static_cast<int>(ExitCode::kOk);
  }
  const std::string name = command.output.empty() ? command.folder + "/report.html" : command.output;
  if (command.output.empty()) {
    const OutputFile output{"", name};
    check_output_files({&output, 1}, inputs);
  }
  put(name, report_html(run, options));
  if (name != "-") tell(fmt::format("{}: open it in a browser\n", printable(name)));
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
