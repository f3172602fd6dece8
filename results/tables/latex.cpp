#include "results/tables/latex.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/tables/drawing.h"

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

void check_columns(std::span<const Table> tables, const std::vector<std::string>& columns) {
  std::vector<std::string> known;
  for (const Table& table : tables) {
    for (const Head& head : table.columns) {
      if (std::find(known.begin(), known.end(), head.name) == known.end()) known.push_back(head.name);
    }
  }
  for (const std::string& column : columns) {
    if (std::find(known.begin(), known.end(), column) != known.end()) continue;
    throw usage_error("--columns: no table here has a column '" + column + "': known are " + join(known, ", ") + "." +
                      did_you_mean(column, known));
  }
}

/// Returns the places in a row of the columns that are shown.
std::vector<std::size_t> shown_of(const Table& table, const std::vector<std::string>& columns) {
  std::vector<std::size_t> shown{0};
  std::vector<std::string> names = columns.empty() ? table.narrow : columns;
  if (names.empty()) {
    for (const Head& head : table.columns) names.push_back(head.name);
  }
  for (const std::string& name : names) {
    const std::size_t place = table.place_of(name);
    if (table.has(name) && std::find(shown.begin(), shown.end(), place) == shown.end()) shown.push_back(place);
  }
  return shown;
}

/// Returns the cells of a column that is not shown: "n of hop: 2 of 3; dpsgd: 3". Returns "" if the column is shown, or
/// there is no such column.
std::string left_out(const Table& table, const std::vector<std::size_t>& shown, const std::string& column) {
  const std::size_t place = table.place_of(column);
  if (!table.has(column) || std::find(shown.begin(), shown.end(), place) != shown.end()) return "";
  std::vector<std::string> parts;
  std::set<std::string> values;
  for (const TableRow& row : table.rows) {
    if (place >= row.size() || row[place].text.empty()) continue;
    values.insert(row[place].text);
    parts.push_back(row[0].text + ": " + row[place].text);
  }
  if (column == "n" && values.size() == 1) return "n = " + *values.begin();
  return parts.empty() ? "" : column + " of " + join(parts, "; ");
}

std::string table_text(const Table& table, const std::vector<std::size_t>& shown) {
  std::string text = fmt::format(
      "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\footnotesize\n  \\setlength{{\\tabcolsep}}{{3pt}}\n"
      "  \\begin{{tabular}}{{@{{}}l{}@{{}}}}\n    \\toprule\n",
      latex_text(table.in_words()), std::string(shown.size() - 1, 'r'));
  const std::vector<std::vector<std::string>> lines = texts_of(table);
  for (std::size_t r = 0; r < lines.size(); ++r) text += latex_row(lines[r], shown) + (r == 0 ? "    \\midrule\n" : "");
  text += "    \\bottomrule\n  \\end{tabular}\n";
  std::vector<std::string> below{left_out(table, shown, "n"), left_out(table, shown, "marks")};
  for (std::string& fact : notes_of(table, Note::Kind::kFact)) below.push_back(std::move(fact));
  for (const std::string& line : below) text += line.empty() ? "" : "  \\par " + latex_text(line) + "\n";
  return text + "\\end{table}\n";
}

}  // namespace

std::string to_latex(std::span<const Table> tables, const std::vector<std::string>& columns) {
  check_columns(tables, columns);
  std::string text = "% \\usepackage{booktabs}\n", notes;
  std::set<std::string> said;
  for (const Table& table : tables) {
    const bool has_one = std::any_of(columns.begin(), columns.end(), [&](auto& column) { return table.has(column); });
    if (table.columns.empty() || (!columns.empty() && !has_one)) continue;
    text += table_text(table, shown_of(table, columns));
    for (const std::string& note : notes_of(table, Note::Kind::kShared)) {
      if (said.insert(note).second) notes += "  " + latex_text(note) + ".\n";
    }
  }
  return notes.empty() ? text : text + "\\par\\noindent{\\footnotesize\n" + notes + "\\par}\n";
}

}  // namespace hopbench
