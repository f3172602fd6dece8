#include "results/tables/latex.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"

namespace hopbench {
namespace {

std::string latex_text(const std::string& text) {
  std::string safe;
  for (const char c : printable_line(text)) {
    if (c == '\\') {
      safe += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      safe += fmt::format("\\{}{{}}", c);
    } else if (c == '<' || c == '>' || c == '|') {
      safe += fmt::format("${}$", c == '|' ? "\\mid" : std::string(1, c));
    } else {
      if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

std::string latex_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& shown) {
  std::string row = "    ";
  for (std::size_t i = 0; i < shown.size(); ++i)
    row += (i == 0 ? "" : " & ") + latex_text(shown[i] < cells.size() ? cells[shown[i]] : "");
  return row + " \\\\\n";
}

std::optional<std::size_t> place_of(const Grid& grid, const std::string& column) {
  const auto& head = grid.rows[0];
  const auto found = std::find_if(head.begin(), head.end(), [&](const auto& h) { return column_name(h) == column; });
  if (found == head.end()) return std::nullopt;
  return std::size_t(found - head.begin());
}

void check_columns(std::span<const Grid> grids, const std::vector<std::string>& columns) {
  std::vector<std::string> known;
  for (const Grid& grid : grids) {
    for (const std::string& head : grid.rows[0]) {
      const std::string name = column_name(head);
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
  }
  for (const std::string& column : columns) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    throw usage_error("--columns: no table here has a column '" + column + "': known are " + join(known, ", ") + "." +
                      did_you_mean(column, known));
  }
}

/// Returns the places in a row of the columns that are shown.
std::vector<std::size_t> shown_of(const Grid& grid, const std::vector<std::string>& columns) {
  std::vector<std::size_t> shown{0};
  std::vector<std::string> names = columns.empty() ? grid.narrow : columns;
  if (names.empty()) std::transform(grid.rows[0].begin(), grid.rows[0].end(), std::back_inserter(names), column_name);
  for (const std::string& name : names) {
    const std::optional<std::size_t> place = place_of(grid, name);
    if (place && std::find(shown.begin(), shown.end(), *place) == shown.end()) shown.push_back(*place);
  }
  return shown;
}

/// Returns the cells of a column that is not shown: "n of hop: 2 of 3; dpsgd: 3". Returns "" if the column is shown, or
/// there is no such column.
std::string left_out(const Grid& grid, const std::vector<std::size_t>& shown, const std::string& column) {
  const std::optional<std::size_t> place = place_of(grid, column);
  if (!place || std::find(shown.begin(), shown.end(), *place) != shown.end()) return "";
  std::vector<std::string> parts;
  std::set<std::string> values;
  for (std::size_t r = 1; r < grid.rows.size(); ++r) {
    const auto& row = grid.rows[r];
    if (*place >= row.size() || row[*place].empty()) continue;
    values.insert(row[*place]);
    parts.push_back(row[0] + ": " + row[*place]);
  }
  if (column == "n" && values.size() == 1) return "n = " + *values.begin();
  return parts.empty() ? "" : column + " of " + join(parts, "; ");
}

std::string table_text(const Grid& grid, const std::vector<std::size_t>& shown) {
  std::string text = fmt::format(
      "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\footnotesize\n  \\setlength{{\\tabcolsep}}{{3pt}}\n"
      "  \\begin{{tabular}}{{@{{}}l{}@{{}}}}\n    \\toprule\n",
      latex_text(title_in_words(grid.title)), std::string(shown.size() - 1, 'r'));
  text += latex_row(grid.rows[0], shown) + "    \\midrule\n";
  for (std::size_t r = 1; r < grid.rows.size(); ++r) text += latex_row(grid.rows[r], shown);
  text += "    \\bottomrule\n  \\end{tabular}\n";
  std::vector<std::string> below{left_out(grid, shown, "n"), left_out(grid, shown, "marks")};
  below.insert(below.end(), grid.facts.begin(), grid.facts.end());
  for (const std::string& line : below) text += line.empty() ? "" : "  \\par " + latex_text(line) + "\n";
  return text + "\\end{table}\n";
}

}  // namespace

std::string to_latex(std::span<const Grid> grids, const std::vector<std::string>& columns) {
  std::vector<Grid> filled(grids.begin(), grids.end());
  std::erase_if(filled, [](const Grid& grid) { return grid.rows.empty(); });
  check_columns(filled, columns);
  std::string text = "% \\usepackage{booktabs}\n", notes;
  std::set<std::string> said;
  for (const Grid& grid : filled) {
    const std::vector<std::size_t> shown = shown_of(grid, columns);
    const bool has_one = std::any_of(columns.begin(), columns.end(), [&](auto& c) { return place_of(grid, c); });
    if (!columns.empty() && !has_one) continue;
    text += table_text(grid, shown);
    for (const std::string& note : grid.notes) {
      if (said.insert(note).second) notes += "  " + latex_text(note) + ".\n";
    }
  }
  return notes.empty() ? text : text + "\\par\\noindent{\\footnotesize\n" + notes + "\\par}\n";
}

}  // namespace hopbench
