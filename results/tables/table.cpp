#include "results/tables/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

#include "backends/base/printable.h"
#include "results/tables/drawing.h"

namespace hopbench {
namespace {

std::string markdown_row(const std::vector<std::string>& row, std::size_t columns) {
  std::string line = "|";
  for (std::size_t c = 0; c < columns; ++c) line += fmt::format(" {} |", c < row.size() ? markdown_cell(row[c]) : "");
  return line + "\n";
}

}  // namespace

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : printable_line(text)) {
    if (c == '|' || c == '\\' || c == '*' || c == '`' || c == '<') cell += '\\';
    cell += c;
  }
  return cell;
}

std::vector<std::string> notes_below(const Grid& grid) {
  std::vector<std::string> all = grid.notes;
  all.insert(all.end(), grid.facts.begin(), grid.facts.end());
  return all;
}

std::string column_name(const std::string& head) { return head.substr(0, head.find_first_of(",:")); }

std::string title_in_words(const std::string& title) {
  constexpr std::string_view kBetween = " / ";  // names have no '/'
  const std::size_t first = title.find(kBetween), last = title.rfind(kBetween);
  const std::size_t second = first == std::string::npos ? first : title.find(kBetween, first + kBetween.size());
  if (second == std::string::npos || second != last) return title;
  return fmt::format("suite {}, measure {}, scenario {}", title.substr(0, first),
                     title.substr(first + kBetween.size(), second - first - kBetween.size()),
                     title.substr(second + kBetween.size()));
}

Grid for_a_screen(Grid grid) {
  for (std::size_t c = grid.rows.empty() ? 0 : grid.rows[0].size(); c-- > 0;) {
    const std::string name = column_name(grid.rows[0][c]);
    if (std::find(grid.idle.begin(), grid.idle.end(), name) == grid.idle.end()) continue;
    for (auto& row : grid.rows) {
      if (c < row.size()) row.erase(row.begin() + std::ptrdiff_t(c));
    }
  }
  return grid;
}

std::string to_text(const Grid& grid, bool colour) {
  return drawn(grid, natural_widths(grid), std::numeric_limits<std::size_t>::max(), colour);
}

std::string to_markdown(const Grid& grid) {
  std::string text;
  if (!grid.title.empty()) text += "### " + markdown_cell(grid.title) + "\n\n";
  const std::size_t columns = natural_widths(grid).size();
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    text += markdown_row(grid.rows[r], columns);
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < columns; ++c) text += c == 0 ? " :-- |" : " --: |";
    text += "\n";
  }
  const std::vector<std::string> notes = notes_below(grid);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "* " + markdown_cell(note) + "\n";
  return text;
}

std::string to_json(std::span<const Grid> grids) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Grid& grid : grids) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t i = 1; i < grid.rows.size(); ++i) {
      nlohmann::ordered_json row = nlohmann::ordered_json::object();
      for (std::size_t k = 0; k < grid.rows[i].size(); ++k) row[grid.rows[0][k]] = grid.rows[i][k];
      rows.push_back(std::move(row));
    }
    list.push_back({{"title", grid.title}, {"rows", std::move(rows)}});
  }
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hopbench
