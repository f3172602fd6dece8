#include "results/latex.h"

#include <fmt/format.h>

#include <string_view>

namespace hopbench {
namespace {

std::string latex_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
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

std::string latex_row(const std::vector<std::string>& cells) {
  std::string row = "    ";
  for (std::size_t i = 0; i < cells.size(); ++i) row += (i == 0 ? "" : " & ") + latex_text(cells[i]);
  return row + " \\\\\n";
}

}  // namespace

std::string to_latex(std::span<const Grid> grids) {
  std::string text = "% \\usepackage{booktabs}\n";
  for (const Grid& grid : grids) {
    if (grid.rows.empty()) continue;
    text +=
        fmt::format("\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{l{}}}\n    \\toprule\n",
                    latex_text(grid.title), std::string(grid.rows[0].size() - 1, 'r'));
    text += latex_row(grid.rows[0]) + "    \\midrule\n";
    for (std::size_t r = 1; r < grid.rows.size(); ++r) text += latex_row(grid.rows[r]);
    text += "    \\bottomrule\n  \\end{tabular}\n";
    for (const std::string& note : notes_below(grid)) text += "  \\par\\footnotesize " + latex_text(note) + "\n";
    text += "\\end{table}\n";
  }
  return text;
}

}  // namespace hopbench
