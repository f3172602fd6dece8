#include "results/tables/table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kFaint = "\033[2m";
constexpr const char* kPlain = "\033[0m";
constexpr std::size_t kNoteWidth = 120;

/// Returns the number of code points, not of bytes: "µ" takes one column.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::size_t> column_widths(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (const auto& row : grid.rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(printable_line(row[c])));
  }
  return widths;
}

std::string padded(const std::string& cell, std::size_t column_width, bool left) {
  const std::string space(column_width - width(cell), ' ');
  return left ? cell + space : space + cell;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Returns lines of at most kNoteWidth if the words allow it. All but the first are indented.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines{"  "};
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool empty = lines.back().find_first_not_of(' ') == std::string::npos;
    if (!empty && width(lines.back()) + 1 + width(word) > kNoteWidth) {
      lines.push_back("    " + word);
    } else {
      lines.back() += (empty ? "" : " ") + word;
    }
    begin = end + 1;
  }
  return lines;
}

std::string styled(const std::string& text, const char* style, bool colour) {
  return colour && !text.empty() ? style + text + kPlain : text;
}

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
  std::string text;
  if (!grid.title.empty()) text += styled(printable_line(grid.title), kBold, colour) + "\n";
  const std::vector<std::size_t> widths = column_widths(grid);
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < grid.rows[r].size(); ++c) {
      line += (c == 0 ? "" : "  ") + padded(printable_line(grid.rows[r][c]), widths[c], c == 0);
    }
    line = without_trailing_space(line);
    text += (r == 0 ? styled(line, kBold, colour) : line) + "\n";
    if (r == 0) {
      std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
      for (const std::size_t w : widths) total += w;
      text += styled(std::string(total, '-'), kFaint, colour) + "\n";
    }
  }
  for (const std::string& note : notes_below(grid)) {
    for (const std::string& line : wrapped(printable_line(note))) text += styled(line, kFaint, colour) + "\n";
  }
  return text;
}

std::string to_markdown(const Grid& grid) {
  std::string text;
  if (!grid.title.empty()) text += "### " + markdown_cell(grid.title) + "\n\n";
  const std::size_t columns = column_widths(grid).size();
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
