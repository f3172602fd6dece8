// The tables that a run prints, one for each scenario and measure, with the bound rows, and the same as Markdown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/files/run_folder.h"

namespace hopbench {

/// A grid of text: the first row is the head; the first column is left-aligned, the others right.
struct Grid {
  std::string title;
  std::vector<std::string> notes;  // below; of several tables, only the first with a note need have it
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> facts{};  // below the notes: about this table, so never left out as a repetition
  // Names of columns, see below.
  std::vector<std::string> narrow{};  // those that fit into a column of a paper; empty: all
  std::vector<std::string> idle{};    // those that say nothing here: all values are 0 or not known
};
/// Returns notes and facts.
std::vector<std::string> notes_below(const Grid& grid);
/// Returns the name of a column from its head: the text before a unit or an explanation. "time to target, s" is
/// "time to target", "loss: mean / median / worst rank" is "loss".
std::string column_name(const std::string& head);
/// Returns a table's title in words, for pages and papers: "suite small, measure rate, scenario random" for
/// "small / rate / random". Other titles stay as they are.
std::string title_in_words(const std::string& title);
/// Returns the grid without its idle columns.
Grid for_a_screen(Grid grid);
std::string to_text(const Grid& grid, bool colour);
std::string to_markdown(const Grid& grid);
/// Returns the text as a cell of a Markdown table: on one line, without markup, and as printable() has it.
std::string markdown_cell(std::string_view text);
/// Returns a list of {"title", "rows"}: a row is an object with a text for each column.
std::string to_json(std::span<const Grid> grids);

/// Returns the summary of a run: a grid for every measure and scenario, without "who pays" (cost.h). `reference` is the
/// label that speed-ups refer to.
std::vector<Grid> summarise(std::span<const TrialRow> rows, const std::string& reference);

}  // namespace hopbench
