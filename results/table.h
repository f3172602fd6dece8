// The tables a run prints: one a scenario and measure, with the bound rows, and the same as Markdown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/run_folder.h"

namespace hopbench {

/// A grid of text: the first row is the head; the first column is left-aligned, the others right.
struct Grid {
  std::string title;
  std::vector<std::string> notes;  // below; who writes several tables may say each below the first that has it
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> facts{};  // below the notes: of this table, so never left out as said before
  // Names of columns, see below.
  std::vector<std::string> narrow{};  // that fit a column of a paper; empty: all
  std::vector<std::string> idle{};    // that say nothing here: all their values are 0 or not known
};
/// Notes and facts.
std::vector<std::string> notes_below(const Grid& grid);
/// The name of a column, by its head: what stands before a unit or an explanation. "time to target, s" is
/// "time to target", "loss: mean / median / worst rank" is "loss".
std::string column_name(const std::string& head);
/// A table's title in words, for pages and papers: "suite small, measure rate, scenario random" for
/// "small / rate / random". Other titles stay as they are.
std::string title_in_words(const std::string& title);
/// The grid without its idle columns.
Grid for_a_screen(Grid grid);
std::string to_text(const Grid& grid, bool colour);
std::string to_markdown(const Grid& grid);
/// The text as a cell of a Markdown table: on one line, without markup, and as printable() has it.
std::string markdown_cell(std::string_view text);
/// A list of {"title", "rows"}: a row is an object with a text for each column.
std::string to_json(std::span<const Grid> grids);

/// The summary of a run: for every measure and scenario a grid, without who pays (cost.h). `reference` is the label
/// that speed-ups refer to.
std::vector<Grid> summarise(std::span<const TrialRow> rows, const std::string& reference);

}  // namespace hopbench
