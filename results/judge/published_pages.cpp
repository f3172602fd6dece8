#include "results/judge/published_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backends/base/error.h"
#include "backends/base/text.h"

namespace hopbench {
namespace {

constexpr std::string_view kOpen = "<!-- measured: ", kShut = " -->", kClose = "<!-- /measured -->";

Error wrong(const Page& page, int line, const std::string& what) {
  return usage_error(fmt::format("{}:{}: {}", page.path, line, what));
}

int line_at(const std::string& text, std::size_t at) {
  return 1 + int(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n'));
}

/// Return the text before `begin`, and after `end`, in its line.
std::string before(const std::string& text, std::size_t begin) {
  const std::size_t line = begin == 0 ? 0 : text.rfind('\n', begin - 1) + 1;
  return text.substr(line, begin - line);
}
std::string after(const std::string& text, std::size_t end) {
  return text.substr(end, std::min(text.find('\n', end), text.size()) - end);
}

bool blank(const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; }

void check_place(const Page& page, const MeasuredBlock& block, std::size_t open, std::size_t shut) {
  if (block.inside_line && blank(before(page.text, open)))
    throw wrong(page, block.line,
                "the block '" + block.id +
                    "' begins a line, which makes the line HTML: put a word "
                    "in front of it");
  if (block.inside_line) return;
  const std::size_t close_end = shut + kClose.size();
  if (!blank(before(page.text, open)) || !blank(after(page.text, block.begin)) || !blank(before(page.text, shut)) ||
      !blank(after(page.text, close_end)))
    throw wrong(page, block.line, "the markers of the block '" + block.id + "' need lines of their own");
}

std::string cell(const std::string& text) { return replaced(text, "|", "\\|"); }

std::string table_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + cell(text) + " |";
  return line + "\n";
}

/// Returns true if all cells of a column that are not empty begin like a number. The column is then right-aligned.
bool holds_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  return std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
    const std::string text = column < row.size() ? row[column] : "";
    return text.empty() || text == "-" || std::string("0123456789*>-").find(text[0]) != std::string::npos;
  });
}

std::string table_text(const std::vector<std::string>& heads, const std::vector<std::vector<std::string>>& rows,
                       bool numbers) {
  std::string text = "\n" + table_line(heads) + "|";
  for (std::size_t i = 0; i < heads.size(); ++i) text += numbers && i > 0 && holds_numbers(rows, i) ? "--:|" : "---|";
  text += "\n";
  for (const auto& row : rows) text += table_line(row);
  return text;
}

std::string when_text(const LastValue& last) {
  return last.commit.empty() ? last.measured : fmt::format("{}, {}", last.measured, last.commit.substr(0, 12));
}

std::string commands_text(const LastValue& last) {
  std::vector<std::string> commands;
  for (const std::string& command : last.commands) commands.push_back("`" + command + "`");
  return join(commands, ", ");
}

/// Returns the names of the values that a block shows, in their order.
std::vector<std::string> values_in(const MeasuredBlock& block, const Published& published) {
  for (const PublishedTable& table : published.tables) {
    if (table.id == block.id) return table.parts();
  }
  return {block.id};
}

/// Returns the block `runs`: a line for each command, day, commit and machine of the page's other blocks. If a command
/// has several lines, each names its figures.
std::string runs_text(const Page& page, const Published& published, const LastValues& values) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> figures;  // of each row
  std::map<std::string, int> lines_of;            // of a command
  const auto add = [&](const MeasuredBlock& block, const LastValue& last) {
    const std::vector<std::string> row{commands_text(last), when_text(last), last.machine};
    const auto place = std::size_t(std::find(rows.begin(), rows.end(), row) - rows.begin());
    if (place == rows.size()) {
      rows.push_back(row);
      figures.emplace_back();
      ++lines_of[row[0]];
    }
    const std::string name = "`" + block.id + "`";
    if (std::find(figures[place].begin(), figures[place].end(), name) == figures[place].end())
      figures[place].push_back(name);
  };
  for (const MeasuredBlock& block : blocks_of(page)) {
    for (const std::string& id : values_in(block, published)) {
      if (const auto last = values.find(id); last != values.end()) add(block, last->second);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (lines_of[rows[i][0]] > 1) rows[i][1] += ": " + join(figures[i], ", ");
  }
  return table_text({"command", "measured", "machine"}, rows, false);
}

/// Returns "Measured DAY, COMMIT: COMMANDS", with all commands of one day and commit together.
std::string measured_text(const std::vector<const LastValue*>& parts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> days;
  for (const LastValue* part : parts) {
    const std::string when = when_text(*part), commands = commands_text(*part);
    auto day = std::find_if(days.begin(), days.end(), [&](const auto& one) { return one.first == when; });
    if (day == days.end()) day = days.insert(days.end(), {when, {}});
    if (std::find(day->second.begin(), day->second.end(), commands) == day->second.end())
      day->second.push_back(commands);
  }
  std::vector<std::string> texts;
  for (const auto& [when, commands] : days) texts.push_back(when + ": " + join(commands, ", "));
  return "Measured " + join(texts, "; ");
}

/// Returns true if the rows were measured under these heads, and have a cell for each.
bool fits(const PublishedTable& table, const LastValue& last) {
  const auto whole = [&](const auto& row) { return row.size() == table.columns.size(); };
  return last.heads == table.heads() && std::all_of(last.rows.begin(), last.rows.end(), whole);
}

/// Returns the text of a table; nothing if a part of it has no value, or does not fit the table.
std::optional<std::string> content_of(const PublishedTable& table, const LastValues& values) {
  std::vector<const LastValue*> parts;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& id : table.parts()) {
    const auto part = values.find(id);
    if (part == values.end() || !fits(table, part->second)) return std::nullopt;
    parts.push_back(&part->second);
    rows.insert(rows.end(), part->second.rows.begin(), part->second.rows.end());
  }
  return fmt::format("{}\n{}\n", table_text(table.heads(), rows, true), measured_text(parts));
}

/// Returns the text of a block; nothing if its entry has no value.
std::optional<std::string> content_of(const Page& page, const MeasuredBlock& block, const Published& published,
                                      const LastValues& values) {
  if (block.id == kRunsBlock) return runs_text(page, published, values);
  for (const PublishedTable& table : published.tables) {
    if (table.id == block.id) return content_of(table, values);
  }
  const auto last = values.find(block.id);
  return last == values.end() ? std::nullopt : std::optional(last->second.text);
}

std::set<std::string> ids_of(const Published& published, bool tables) {
  std::set<std::string> ids;
  if (tables) {
    for (const PublishedTable& table : published.tables) ids.insert(table.id);
  } else {
    for (const PublishedClaim& claim : published.claims) ids.insert(claim.id);
  }
  return ids;
}

}  // namespace

std::vector<MeasuredBlock> blocks_of(const Page& page) {
  const std::string& text = page.text;
  std::vector<MeasuredBlock> blocks;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find(kOpen, at), stray = text.find(kClose, at);
    if (stray < open) throw wrong(page, line_at(text, stray), "<!-- /measured --> closes no block");
    if (open == std::string::npos) return blocks;
    MeasuredBlock block;
    block.line = line_at(text, open);
    const std::size_t name = open + kOpen.size(), name_end = text.find(kShut, name);
    if (name_end == std::string::npos || name_end > text.find('\n', name))
      throw wrong(page, block.line, "a marker is not complete: <!-- measured: ID -->");
    block.id = text.substr(name, name_end - name);
    block.begin = name_end + kShut.size();
    block.end = text.find(kClose, block.begin);
    if (block.end > text.find(kOpen, block.begin) || block.end == std::string::npos)
      throw wrong(page, block.line, "the block '" + block.id + "' is not closed by <!-- /measured -->");
    block.inside_line = text.find('\n', block.begin) > block.end;
    check_place(page, block, open, block.end);
    blocks.push_back(block);
    at = block.end + kClose.size();
  }
}

std::string filled(const Page& page, const Published& published, const LastValues& values) {
  std::string text = page.text;
  std::vector<MeasuredBlock> blocks = blocks_of(page);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {  // from the end, so that places stay valid
    if (const auto content = content_of(page, *block, published, values))
      text.replace(block->begin, block->end - block->begin, *content);
  }
  return text;
}

std::vector<std::string> check_blocks(const Published& published, const std::vector<Page>& pages) {
  const std::set<std::string> claims = ids_of(published, false), tables = ids_of(published, true);
  std::set<std::string> shown;
  std::vector<std::string> messages;
  for (const Page& page : pages) {
    int runs = 0, in_lines = 0;
    for (const MeasuredBlock& block : blocks_of(page)) {
      shown.insert(block.id);
      runs += block.id == kRunsBlock ? 1 : 0;
      in_lines += block.inside_line ? 1 : 0;
      const bool lines = block.id == kRunsBlock || tables.contains(block.id);
      std::string what;
      if (!lines && !claims.contains(block.id)) {
        what = "has no entry in figures.toml";
      } else if (lines == block.inside_line) {
        what = lines ? "is a table: its markers need lines of their own" : "is a claim: it belongs into a line";
      }
      if (!what.empty())
        messages.push_back(fmt::format("{}:{}: the block '{}' {}", page.path, block.line, block.id, what));
    }
    if (runs > 1 || (runs == 0 && in_lines > 0))
      messages.push_back(
          fmt::format("{}: {} blocks 'runs', which says when and how figures within lines were measured: one is needed",
                      page.path, runs));
  }
  for (const std::set<std::string>& ids : {claims, tables}) {
    for (const std::string& id : ids) {
      if (!shown.contains(id)) messages.push_back(fmt::format("the entry '{}' of figures.toml has no block", id));
    }
  }
  return messages;
}

std::vector<std::string> check_heads(const Published& published, const LastValues& values) {
  std::vector<std::string> messages;
  const auto check = [&](const PublishedTable& table, const std::string& id) {
    const auto last = values.find(id);
    if (last == values.end() || fits(table, last->second)) return;
    messages.push_back(fmt::format(
        "table '{}' has the columns '{}', but '{}' or rows of another length in measured.json: measure it again", id,
        join(table.heads(), "', '"), join(last->second.heads, "', '")));
  };
  for (const PublishedTable& table : published.tables) {
    for (const std::string& id : table.parts()) check(table, id);
  }
  return messages;
}

std::vector<std::string> check_values(const Published& published, const LastValues& values,
                                      const std::vector<Page>& pages) {
  std::vector<std::string> messages;
  std::set<std::string> ids = ids_of(published, false);
  for (const PublishedTable& table : published.tables) {
    for (const std::string& id : table.parts()) ids.insert(id);
  }
  for (const std::string& id : ids) {
    if (!values.contains(id)) messages.push_back(fmt::format("the entry '{}' has no value in measured.json", id));
  }
  for (const auto& [id, value] : values) {
    if (!ids.contains(id)) messages.push_back(fmt::format("the value '{}' of measured.json has no entry", id));
  }
  for (std::string& message : check_heads(published, values)) messages.push_back(std::move(message));
  for (const Page& page : pages) {
    if (filled(page, published, values) != page.text)
      messages.push_back(
          fmt::format("{} says something else than measured.json: hopbench reproduce hopbench --pages", page.path));
  }
  return messages;
}

}  // namespace hopbench
