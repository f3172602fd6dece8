#include "cli/outputs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "backends/base/json_value.h"
#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "results/files/csv.h"
#include "results/files/record_json.h"
#include "results/judge/junit.h"
#include "results/tables/cost.h"
#include "results/tables/drawing.h"
#include "results/tables/fit.h"
#include "results/tables/summary.h"
#include "suites/campaign/install_paths.h"

namespace hopbench {
namespace {

constexpr std::size_t kAnyWidth = std::numeric_limits<std::size_t>::max();  // of a file or a pipe, too

// Returns the notes on the suite that the run was started with. It is resumed with the resolved suite, where every
// default is given. Returns nothing if there were none, or if an older hopbench started it.
std::optional<std::vector<std::string>> notes_at_start(const RunFolder& folder) {
  const nlohmann::json context = nlohmann::json::parse(folder.context_json(), nullptr, false);
  if (!context.contains("notes")) return std::nullopt;
  std::vector<std::string> notes;
  for (const nlohmann::json& note : context.at("notes")) notes.push_back(printable(note.get<std::string>()));
  return notes;
}

std::string run_junit(const std::vector<TrialRow>& rows) {
  std::vector<TestCase> cases;
  for (const TrialRow& row : rows) {
    const TestCase::End end = row.record.status == TrialStatus::kOk            ? TestCase::End::kPassed
                              : row.record.status == TrialStatus::kInterrupted ? TestCase::End::kSkipped
                                                                               : TestCase::End::kFailed;
    cases.push_back({end, "hopbench." + row.labels.suite, row.record.id, to_string(row.record.status),
                     row.record.failure.text, row.record.wall_s});
  }
  return junit_xml("hopbench run", cases);
}

bool to_stdout(const std::optional<std::string>& where) { return where && *where == "-"; }

// Returns a note if vector operations take more than a tenth of the reference's time at the default rate, else "".
std::string vector_rate_note(const Suite& suite, const std::vector<TrialRow>& rows) {
  constexpr double kMuch = 0.1;
  std::map<std::string, const TrialSpec*> by_default;
  for (const TrialSpec& spec : suite.trials) {
    const bool counts = spec.default_vector_rate && spec.transport == "sim" && spec.label == suite.reference;
    if (counts) by_default[spec.id()] = &spec;
  }
  double most = 0, rate = 0;
  for (const TrialRow& row : rows) {
    const auto spec = by_default.find(row.record.id);
    if (spec == by_default.end() || row.record.status != TrialStatus::kOk || row.record.time_s <= 0) continue;
    double operations = 0;
    for (const RankRecord& rank : row.record.ranks) operations += rank.server ? 0 : to_seconds(rank.vector_ops);
    most = std::max(most, operations / (row.record.time_s * spec->second->workers()));
    rate = spec->second->costs.vector_bytes_per_s;
  }
  if (most <= kMuch) return "";
  return fmt::format(
      "vector operations take up to {:.0f} % of the time of {}, at the default compute.vector_rate of {:.3g} GB/s, a "
      "CPU core's: set it to \"a100\", \"h100\" or a rate, or to \"cpu\" if that is meant",
      100 * most, suite.reference, rate / 1e9);
}

}  // namespace

void check_outputs(const RunOptions& options, std::span<const std::string> inputs) {
  const OutputFile files[] = {{"--json", options.json},
                              {"--csv", options.csv},
                              {"--markdown", options.markdown},
                              {"--junit", options.junit.empty() ? std::nullopt : std::optional(options.junit)}};
  check_output_files(files, inputs);
  if (options.github_summary) check_github_summary(inputs);
}

Outputs::Outputs(const RunOptions& options)
    : options_(options), columns_(options.wide ? kAnyWidth : terminal_columns(STDOUT_FILENO, kAnyWidth)) {}

std::string Outputs::fitted_tables(std::vector<Table> tables) {
  say_once(tables, said_);
  std::string text;
  std::vector<std::string> left_out;
  for (const Table& table : tables) {
    const Fitted fit = fitted(table, columns_, options_.colour);
    text += fit.text + "\n";
    for (const std::string& name : fit.left_out)
      if (std::find(left_out.begin(), left_out.end(), name) == left_out.end()) left_out.push_back(name);
  }
  if (!left_out.empty())
    text += fitted_text("Left out where there was no room: " + join(left_out, ", ") +
                            " (--wide shows all; hopbench explain NAME says what a column means)",
                        columns_);
  return text;
}

void Outputs::add(const Suite& suite, const RunFolder& folder) {
  std::vector<Table> tables = summarise(folder.rows(), suite.reference);
  for (Table& table : skewed_who_pays(folder.rows())) tables.push_back(std::move(table));
  std::set<std::string> in_this_summary;
  say_once(tables, in_this_summary);
  for (Table& table : tables) table = for_a_screen(std::move(table));
  std::string markdown, text = fitted_tables(tables);
  for (const Table& table : tables) markdown += to_markdown(table) + "\n";
  tables_.insert(tables_.end(), tables.begin(), tables.end());
  std::vector<std::string> notes = notes_at_start(folder).value_or(suite.notes);
  if (const std::string note = vector_rate_note(suite, folder.rows()); !note.empty()) notes.push_back(note);
  for (const std::string& note : notes) {
    markdown += "- " + note + "\n";
    text += fitted_text(note, columns_);
  }
  folder.write_text("summary.md", markdown);
  markdown_ += markdown;
  rows_.insert(rows_.end(), folder.rows().begin(), folder.rows().end());
  if (context_.empty()) context_ = folder.context_json();
  // A machine-readable form on standard output must be alone there.
  if (!options_.tables || to_stdout(options_.json) || to_stdout(options_.csv) || to_stdout(options_.markdown) ||
      broken_)
    return;
  try {
    put("-", text);
  } catch (const Error& error) {
    broken_ = error;  // reported at the end: the suites that are left still run
  }
}

void Outputs::write() const {
  if (options_.json) put(options_.json, run_to_json(rows_, context_, to_json(tables_)));
  if (options_.csv) put(options_.csv, trials_csv(rows_));
  put(options_.markdown, markdown_);
  if (!options_.junit.empty()) put(options_.junit, run_junit(rows_));
  if (options_.github_summary) append_github_summary(markdown_);
  if (broken_) throw *broken_;
}

void Outputs::write_what_there_is() const {
  if (rows_.empty()) return;
  try {
    write();
  } catch (const Error& error) {
    tell(std::string(error.what()) + "\n");
  }
}

void tell_cut_off(const std::string& folder, std::size_t trials) {
  tell(
      fmt::format("{}/trials.jsonl ends in the middle of a line: {} trials are left: was the run ended, or the file "
                  "cut? hopbench run --resume {} runs what is missing\n",
                  folder, trials, folder));
}

RunFolder open_run(const std::string& folder) {
  RunFolder run = RunFolder::open(folder);
  if (run.cut_off()) tell_cut_off(folder, run.rows().size());
  return run;
}

std::string new_folder_name() {
  std::time_t now = std::time(nullptr);
  return fmt::format("hopbench-results/{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(now), getpid());
}

}  // namespace hopbench
