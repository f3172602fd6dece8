#include "results/tables/drawing.h"

#include <algorithm>
#include <sstream>

#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr const char* kBold = "\033[1m";
constexpr const char* kFaint = "\033[2m";
constexpr const char* kPlain = "\033[0m";
constexpr std::size_t kNoteWidth = 120;

bool begins_a_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::string styled(const std::string& text, const char* style, bool colour) {
  return colour && !text.empty() ? style + text + kPlain : text;
}

/// Returns the pieces of a word that is longer than `width`.
std::vector<std::string> broken(const std::string& word, std::size_t width) {
  std::vector<std::string> pieces{""};
  std::size_t length = 0;
  for (const char c : word) {
    if (begins_a_code_point(c) && length++ == width) {
      pieces.emplace_back();
      length = 1;
    }
    pieces.back() += c;
  }
  return pieces;
}

/// Returns the words between spaces.
std::vector<std::string> plain_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Returns lines of at most `width` if no word is longer; later ones have `indent` in front.
std::vector<std::string> wrapped(const std::vector<std::string>& words, std::size_t width, const std::string& indent) {
  std::vector<std::string> lines{""};
  for (const std::string& word : words) {
    const std::size_t room = lines.size() == 1 ? width : width - indent.size();
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (display_width(line) + 1 + display_width(word) <= room) {
      line += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i] = indent + lines[i];
  return lines;
}

std::string padded(const std::string& cell, std::size_t column_width, bool left) {
  const std::string space(column_width - display_width(cell), ' ');
  return left ? cell + space : space + cell;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Returns the lines of a cell, all of at most `width`.
std::vector<std::string> cell_lines(const std::string& text, std::size_t width, const std::string& indent) {
  const std::size_t most = std::max<std::size_t>(1, width - std::min(width, indent.size()));
  std::vector<std::string> words;
  for (const std::string& word : words_of(text)) {
    if (display_width(word) <= most) {
      words.push_back(word);
      continue;
    }
    for (const std::string& plain : plain_words(word)) {  // brackets come apart before words do
      for (std::string& piece : broken(plain, most)) words.push_back(std::move(piece));
    }
  }
  return wrapped(words, width, indent);
}

/// Returns a row's lines: as many as its highest cell has.
std::vector<std::string> lines_of_row(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t c = 0; c < row.size(); ++c) {
    const std::string text = printable_line(row[c]);
    cells.push_back(display_width(text) <= widths[c] ? std::vector<std::string>{text}
                                                     : cell_lines(text, widths[c], c == 0 ? "  " : ""));
    height = std::max(height, cells.back().size());
  }
  std::vector<std::string> lines;
  for (std::size_t l = 0; l < height; ++l) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c)
      line += (c == 0 ? "" : "  ") + padded(l < cells[c].size() ? cells[c][l] : "", widths[c], c == 0);
    lines.push_back(without_trailing_space(std::move(line)));
  }
  return lines;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_a_code_point));
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{""};
  int depth = 0;
  for (const char c : text) {
    if (c == ' ' && depth <= 0) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    words.back() += c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::vector<std::vector<std::string>> texts_of(const Table& table) {
  std::vector<std::vector<std::string>> lines;
  if (table.columns.empty()) return lines;
  for (const Head& head : table.columns) (lines.empty() ? lines.emplace_back() : lines.back()).push_back(head.title);
  for (const TableRow& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(cell.text);
  }
  return lines;
}

std::vector<std::size_t> natural_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const auto& row : texts_of(table)) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], display_width(printable_line(row[c])));
  }
  return widths;
}

std::string fitted_text(const std::string& text, std::size_t columns) {
  std::string lines;
  for (const std::string& line : wrapped(plain_words(text), columns, "  ")) lines += line + "\n";
  return lines;
}

std::string drawn(const Table& table, const std::vector<std::size_t>& widths, std::size_t columns, bool colour) {
  std::string text;
  const std::size_t most = std::min(columns, kNoteWidth);
  const auto add = [&](const std::string& line, const char* style) { text += styled(line, style, colour) + "\n"; };
  if (!table.title.empty()) {
    for (const std::string& line : wrapped(plain_words(printable_line(table.title)), columns, "  ")) add(line, kBold);
  }
  const std::vector<std::vector<std::string>> rows = texts_of(table);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (const std::string& line : lines_of_row(rows[r], widths)) {
      if (r == 0) {
        add(line, kBold);
      } else {
        text += line + "\n";
      }
    }
    if (r > 0) continue;
    std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
    for (const std::size_t w : widths) total += w;
    add(std::string(total, '-'), kFaint);
  }
  for (const std::string& note : notes_of(table)) {
    for (const std::string& line : wrapped(plain_words(printable_line(note)), most - 2, "  ")) add("  " + line, kFaint);
  }
  return text;
}

}  // namespace hopbench
