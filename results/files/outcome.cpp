#include "results/files/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "results/arithmetic/groups.h"
#include "results/files/fields.h"
#include "results/files/files.h"
#include "results/files/possible.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::optional<std::string> text = read_file(path);
  if (!text) throw usage_error(path + " cannot be read: name a run's folder, its JSON, or its trials.csv");
  return *std::move(text);
}

/// Returns the trials of a trials.csv. Error(kUsage) if one that ended well has a time or a rate that is not finite.
std::vector<Outcome> finite_outcomes(const std::string& file) {
  std::vector<Outcome> outcomes = outcomes_from_csv(content(file), file);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (const char* column : {"time_s", "samples_per_s"}) {
      const std::optional<double> value = outcomes[i].number(column);
      if (!outcomes[i].ok() || !value || std::isfinite(*value)) continue;
      throw usage_error(
          fmt::format("{}: row {}: its '{}' is {}: take the table from the run again", file, i + 1, column, *value));
    }
  }
  return outcomes;
}

/// Loads a folder that holds published tables only: there is no trials.jsonl.
Results tables_of(const std::string& folder) {
  Results source{folder, finite_outcomes(folder + "/trials.csv"), "", folder, false};
  if (const std::string path = folder + "/context.json"; fs::exists(path)) {
    source.context = content(path);
    check_context(source.context, path);
  }
  return source;
}

Results folder_source(const std::string& folder) {
  if (!holds_run(folder) && fs::exists(folder + "/trials.csv")) return tables_of(folder);
  const RunFolder run = RunFolder::open(folder);
  check_finite(run);
  return {folder, outcomes_in_order(run.rows()), run.context_json(), folder, run.cut_off()};
}

Results file_source(const std::string& file) {
  if (file.ends_with(".csv")) return {file, finite_outcomes(file), "", "", false};
  RunDocument run = run_from_json(content(file), file);
  check_finite(run.rows, file, "");
  return {file, outcomes_in_order(run.rows), std::move(run.context_json), "", false};
}

/// Returns 0 for a cell that is empty or not a whole number.
std::uint64_t whole_number(const std::string& cell) {
  std::uint64_t value = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

/// Returns the trial of a table's line. Error(kUsage) if the line is not a trial, or has cells that no trial has.
Outcome outcome_of(const std::vector<std::string>& head, const std::vector<std::string>& line) {
  if (line.size() != head.size())
    throw usage_error(fmt::format("it has {} fields, the head {}", line.size(), head.size()));
  std::map<std::string, std::string> texts;
  for (std::size_t c = 0; c < head.size(); ++c) texts[head[c]] = line[c];
  check_possible(texts);
  Outcome outcome;
  static const std::set<std::string> kTexts = trial_columns(false);
  for (const auto& [column, text] : texts)
    outcome.cells[column] = {text, kTexts.contains(column) ? std::nullopt : number_in<double>(text)};
  outcome.draw = {whole_number(texts["seed"]), std::uint32_t(whole_number(texts["repeat"]))};
  return outcome;
}

/// Throws Error(kUsage) if a column is missing that every trials.csv has.
void check_head(const std::vector<std::string>& head, const std::string& name) {
  for (const char* column : {"trial", "scenario", "variant", "measure", "status", "clock"}) {
    if (std::find(head.begin(), head.end(), column) != head.end()) continue;
    throw usage_error(fmt::format("{}: there is no column '{}': this is not a trials.csv", name, column));
  }
}

}  // namespace

std::string Outcome::text(const std::string& column) const {
  const auto cell = cells.find(column);
  return cell == cells.end() ? "" : cell->second.text;
}

std::optional<double> Outcome::number(const std::string& column) const {
  const auto cell = cells.find(column);
  return cell == cells.end() ? std::nullopt : cell->second.number;
}

std::vector<Outcome> outcomes_from_csv(const std::string& text, const std::string& name) {
  const std::vector<std::vector<std::string>> lines = read_csv(text, name);
  std::vector<Outcome> outcomes;
  std::map<std::string, std::size_t> rows;  // by trial
  if (lines.size() > 1) check_head(lines[0], name);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    try {
      outcomes.push_back(outcome_of(lines[0], lines[i]));
      const std::string& trial = outcomes.back().text("trial");
      const auto [earlier, fresh] = rows.try_emplace(trial, i);
      if (!fresh) throw usage_error(fmt::format("trial {} is in row {} already", quotable(trial), earlier->second));
    } catch (const Error& error) {
      throw usage_error(fmt::format("{}: row {}: {}: take the table from the run again", name, i, error.what()));
    }
  }
  return outcomes;
}

std::vector<Outcome> outcomes_in_order(std::span<const TrialRow> rows) {
  std::vector<Outcome> outcomes;
  const std::vector<const TrialRow*> ordered = in_table_order(rows);
  std::vector<TrialCells> cells = trial_cells(ordered);
  for (std::size_t i = 0; i < ordered.size(); ++i) outcomes.push_back({std::move(cells[i]), draw_of(*ordered[i])});
  return outcomes;
}

Results load_results(const std::string& what, const std::string& baselines) {
  const std::string baseline = baselines + "/" + what;
  const bool a_name = what.find('/') == std::string::npos && fs::is_directory(baseline);
  Results source;
  if (fs::is_directory(what)) {
    source = folder_source(what);
  } else if (fs::exists(what)) {
    source = file_source(what);
  } else if (a_name) {
    source = folder_source(baseline);
  } else {
    throw usage_error(
        fmt::format("{} is neither a folder, a file nor a baseline in {}: hopbench baseline list shows those "
                    "that there are",
                    what, baselines));
  }
  source.name = what;
  if (source.outcomes.empty()) throw usage_error(what + " has no trials: nothing ended there yet");
  return source;
}

}  // namespace hopbench
