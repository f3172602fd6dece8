#include "results/tables/fit.h"

#include <algorithm>

#include "backends/base/printable.h"
#include "results/tables/drawing.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

constexpr std::size_t kLabel = 28, kMarks = 24;  // columns that these have before another column is left out
constexpr std::size_t kLeast = 4;                // columns of a cell whose words are broken
constexpr std::size_t kBetween = 2;              // spaces between two cells

using Widths = std::vector<std::size_t>;

std::size_t total(const Widths& widths) {
  std::size_t sum = widths.empty() ? 0 : kBetween * (widths.size() - 1);
  for (const std::size_t w : widths) sum += w;
  return sum;
}

std::size_t longest_word(const std::string& cell) {
  std::size_t longest = 0;
  for (const std::string& word : words_of(printable_line(cell))) longest = std::max(longest, display_width(word));
  return longest;
}

/// Returns the widths of columns whose heads are wrapped, and whose labels and marks are if they are long.
Widths widths_with_wrapped_heads(const Grid& grid) {
  Widths widths;
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    widths.resize(std::max(widths.size(), grid.rows[r].size()), 0);
    for (std::size_t c = 0; c < grid.rows[r].size(); ++c) {
      const std::string& cell = grid.rows[r][c];
      widths[c] = std::max(widths[c], r == 0 ? longest_word(cell) : display_width(printable_line(cell)));
    }
  }
  if (!widths.empty()) widths[0] = std::min(widths[0], kLabel);
  for (std::size_t c = 0; c < widths.size() && c < grid.rows[0].size(); ++c) {
    if (grid.rows[0][c] == "marks") widths[c] = std::min(widths[c], kMarks);
  }
  return widths;
}

/// Returns the widths at which no word of a column is broken.
Widths widths_of_words(const Grid& grid, std::size_t columns) {
  Widths least(columns, 0);
  for (const auto& row : grid.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool count = c < grid.rows[0].size() && grid.rows[0][c] == "n";  // "0 of 3" stays on one line
      least[c] = std::max(least[c], count ? display_width(printable_line(row[c])) : longest_word(row[c]));
    }
  }
  return least;
}

/// Takes from the widest columns that are above `least` until all fit, or none is left.
void shrink(Widths& widths, const Widths& least, std::size_t columns) {
  while (total(widths) > columns) {
    std::size_t widest = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

bool has_column(const Grid& grid, const std::string& name) {
  const auto& head = grid.rows[0];
  return std::any_of(head.begin(), head.end(), [&](const std::string& h) { return column_name(h) == name; });
}

/// Returns the grid without these columns and the notes that explain them.
Grid without(Grid grid, const std::vector<std::string>& names) {
  grid.idle = names;
  for (const std::string& name : names) std::erase(grid.notes, explained(name));
  return for_a_screen(std::move(grid));
}

/// Returns the spare columns that have to go so that the others fit: always the least needed ones, so that tables of
/// one suite differ little from run to run.
std::vector<std::string> without_room(const Grid& grid, std::size_t columns) {
  const auto fit = [&](const std::vector<std::string>& out) {
    return total(widths_with_wrapped_heads(without(grid, out))) <= columns;
  };
  std::vector<std::string> out;
  for (const std::string& name : spare_columns()) {
    if (fit(out)) break;
    if (has_column(grid, name)) out.push_back(name);
  }
  return out;
}

}  // namespace

const std::vector<std::string>& spare_columns() {
  static const std::vector<std::string> kNames{
      "samples/s a host", "mostly for", "iterations/s",      "samples held",   "time held", "hosts",
      "heard/s",          "accuracy",   "iterations jumped", "gradients lost", "waiting",   "samples to target"};
  return kNames;
}

Fitted fitted(const Grid& grid, std::size_t columns, bool colour) {
  Fitted result;
  if (grid.rows.empty() || total(natural_widths(grid)) <= columns)
    return {drawn(grid, natural_widths(grid), columns, colour), {}};
  result.left_out = without_room(grid, columns);
  const Grid narrow = without(grid, result.left_out);
  Widths widths = widths_with_wrapped_heads(narrow);
  shrink(widths, widths_of_words(narrow, widths.size()), columns);
  shrink(widths, Widths(widths.size(), kLeast), columns);
  result.text = drawn(narrow, widths, columns, colour);
  return result;
}

}  // namespace hopbench
