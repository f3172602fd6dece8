#include "results/tables/fit.h"

#include <algorithm>

#include "backends/base/printable.h"
#include "results/tables/drawing.h"

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
Widths widths_with_wrapped_heads(const Table& table) {
  Widths widths;
  for (const Head& head : table.columns) widths.push_back(longest_word(head.title));
  for (const TableRow& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(printable_line(row[c].text)));
  }
  widths[0] = std::min(widths[0], kLabel);
  if (table.has("marks")) widths[table.place_of("marks")] = std::min(widths[table.place_of("marks")], kMarks);
  return widths;
}

/// Returns the widths at which no word of a column is broken.
Widths widths_of_words(const Table& table) {
  Widths least(table.columns.size(), 0);
  for (const std::vector<std::string>& row : texts_of(table)) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool count = table.columns[c].name == "n";  // "0 of 3" stays on one line
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

/// Returns the spare columns that have to go so that the others fit: always the least needed ones, so that tables of
/// one suite differ little from run to run.
std::vector<std::string> without_room(const Table& table, std::size_t columns) {
  const auto fit = [&](const std::vector<std::string>& out) {
    return total(widths_with_wrapped_heads(without(table, out))) <= columns;
  };
  std::vector<std::string> out;
  for (const std::string& name : spare_columns()) {
    if (fit(out)) break;
    if (table.has(name)) out.push_back(name);
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

Fitted fitted(const Table& table, std::size_t columns, bool colour) {
  Fitted result;
  if (table.columns.empty() || total(natural_widths(table)) <= columns)
    return {drawn(table, natural_widths(table), columns, colour), {}};
  result.left_out = without_room(table, columns);
  const Table narrow = without(table, result.left_out);
  Widths widths = widths_with_wrapped_heads(narrow);
  shrink(widths, widths_of_words(narrow), columns);
  shrink(widths, Widths(widths.size(), kLeast), columns);
  result.text = drawn(narrow, widths, columns, colour);
  return result;
}

}  // namespace hopbench
