// A finished trial as comparisons see it: a row of trials.csv, read by name. Every result is reduced to such rows, so
// that a run's folder, a JSON document, a table that was published years ago and a saved baseline compare alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/pairs.h"
#include "results/files/csv.h"
#include "results/files/run_folder.h"

namespace hopbench {

struct Outcome {
  TrialCells cells{};
  Draw draw{};

  /// Returns a value as text; "" for a column that its table does not have.
  std::string text(const std::string& column) const;
  /// Returns the number of a cell; nothing if the cell has none.
  std::optional<double> number(const std::string& column) const;
  bool ok() const { return text("status") == "ok"; }
  bool virtual_time() const { return text("clock") == "virtual"; }
};
/// Make trials of files pairs (pairs.h).
inline Draw draw_of(const Outcome& outcome) { return outcome.draw; }
inline bool ended_well(const Outcome& outcome) { return outcome.ok(); }

/// Returns the rows of a trials.csv with any columns. Error(kUsage) naming `name` and the row if the text is not CSV,
/// lacks what identifies a trial, has a trial twice, or has a value that no trial has (possible.h).
std::vector<Outcome> outcomes_from_csv(const std::string& text, const std::string& name);
/// Returns the trials of a run in the order of the tables (in_table_order).
std::vector<Outcome> outcomes_in_order(std::span<const TrialRow> rows);

/// The part of a result that can be compared.
struct Results {
  std::string name{};               // as it was typed
  std::vector<Outcome> outcomes{};  // in the order of the tables; of a trials.csv, in the order of the run
  std::string context{};            // JSON; empty: not known
  std::string folder{};             // may have event logs; empty: no folder
  bool cut_off = false;             // see RunFolder::cut_off
};

/// Loads results. `what` is the folder of a run (or of its published tables), the file of `run --json`, a trials.csv,
/// or the name of a baseline in the folder `baselines`. Error(kUsage) if it is none of these.
Results load_results(const std::string& what, const std::string& baselines);

}  // namespace hopbench
