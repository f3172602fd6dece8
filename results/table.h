// The tables a run prints: one a scenario and measure, with the bound rows, and the same as Markdown.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/run_folder.h"

namespace hopbench {

/// A grid of text: the first row is the head; the first column is left-aligned, the others right.
struct Grid {
  std::string title;
  std::vector<std::string> notes;  // below; who writes several tables may say each below the first that has it
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> facts{};  // below the notes: of this table, so never left out as said before
};
/// Notes and facts.
std::vector<std::string> notes_below(const Grid& grid);
std::string to_text(const Grid& grid, bool colour);
std::string to_markdown(const Grid& grid);
/// A list of {"title", "rows"}: a row is an object with a text for each column.
std::string to_json(std::span<const Grid> grids);

/// The summary of a run: for every measure and scenario a grid. `reference` is the label that speed-ups refer to.
std::vector<Grid> summarise(std::span<const TrialRow> rows, const std::string& reference);

}  // namespace hopbench
