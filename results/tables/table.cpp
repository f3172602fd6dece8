#include "results/tables/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "backends/base/printable.h"
#include "results/files/columns.h"
#include "results/files/record_json.h"
#include "results/tables/drawing.h"

namespace hopbench {
namespace {

using Json = nlohmann::ordered_json;

std::string markdown_row(const std::vector<std::string>& row, std::size_t columns) {
  std::string line = "|";
  for (std::size_t c = 0; c < columns; ++c) line += fmt::format(" {} |", c < row.size() ? markdown_cell(row[c]) : "");
  return line + "\n";
}

/// Returns null for a number that is not finite: it is not known, or was never reached.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number_json(const Number& number, const char* name) {
  Json json{{name, finite(number.value)}};
  if (const auto& spread = number.spread()) {
    json["low"] = finite(spread->low);
    json["high"] = finite(spread->high);
    json["spread"] = number.interval ? "95 % interval" : "least and most";
  }
  json["n"] = number.n;
  if (number.beyond) json["beyond"] = true;
  return json;
}

Json cell_json(const Cell& cell, const std::string& unit) {
  if (cell.numbers.empty()) return cell.text.empty() ? Json(nullptr) : Json(cell.text);
  Json json = number_json(cell.numbers.front().number, cell.numbers.front().name);
  json["unit"] = unit;
  json["text"] = cell.text;
  for (std::size_t i = 1; i < cell.numbers.size(); ++i)
    json[cell.numbers[i].name] = number_json(cell.numbers[i].number, "value");
  return json;
}

Json table_json(const Table& table) {
  std::vector<std::string> keys;
  Json columns = Json::array(), rows = Json::array(), notes = Json::array();
  for (const Head& head : table.columns) {
    std::string key = key_of(head.name);
    for (int k = 2; std::find(keys.begin(), keys.end(), key) != keys.end(); ++k)
      key = fmt::format("{}_{}", key_of(head.name), k);
    columns.push_back({{"key", key}, {"title", head.title}});
    keys.push_back(std::move(key));
  }
  for (const TableRow& row : table.rows) {
    Json cells = Json::object();
    for (std::size_t c = 0; c < keys.size(); ++c)
      cells[keys[c]] = c < row.size() ? cell_json(row[c], table.columns[c].unit) : Json(nullptr);
    rows.push_back(std::move(cells));
  }
  for (const Note& note : table.notes)
    notes.push_back({{"kind", note.kind == Note::Kind::kFact ? "fact" : "shared"}, {"text", note.text}});
  return {{"title", table.title}, {"columns", columns}, {"rows", rows}, {"notes", notes}};
}

}  // namespace

std::size_t Table::place_of(std::string_view column) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Head& head) { return head.name == column; });
  return std::size_t(found - columns.begin());
}

std::vector<std::string> notes_of(const Table& table, Note::Kind kind) {
  std::vector<std::string> texts;
  for (const Note& note : table.notes) {
    if (note.kind == kind) texts.push_back(note.text);
  }
  return texts;
}

std::vector<std::string> notes_of(const Table& table) {
  std::vector<std::string> all = notes_of(table, Note::Kind::kShared);
  for (std::string& fact : notes_of(table, Note::Kind::kFact)) all.push_back(std::move(fact));
  return all;
}

Table without(Table table, const std::vector<std::string>& columns) {
  for (const std::string& name : columns) {
    std::erase_if(table.notes, [&](const Note& note) { return note.column == name; });
    const std::size_t place = table.place_of(name);
    if (!table.has(name)) continue;
    table.columns.erase(table.columns.begin() + std::ptrdiff_t(place));
    for (TableRow& row : table.rows) {
      if (place < row.size()) row.erase(row.begin() + std::ptrdiff_t(place));
    }
  }
  return table;
}

void say_once(std::span<Table> tables, std::set<std::string>& said) {
  for (Table& table : tables)
    std::erase_if(table.notes,
                  [&](const Note& note) { return note.kind == Note::Kind::kShared && !said.insert(note.text).second; });
}

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : printable_line(text)) {
    if (c == '|' || c == '\\' || c == '*' || c == '`' || c == '<') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string to_text(const Table& table, bool colour) {
  return drawn(table, natural_widths(table), std::numeric_limits<std::size_t>::max(), colour);
}

std::string to_markdown(const Table& table) {
  std::string text;
  if (!table.title.empty()) text += "### " + markdown_cell(table.title) + "\n\n";
  const std::vector<std::vector<std::string>> lines = texts_of(table);
  const std::size_t columns = natural_widths(table).size();
  for (std::size_t r = 0; r < lines.size(); ++r) {
    text += markdown_row(lines[r], columns);
    if (r > 0) continue;
    text += "|";
    for (std::size_t c = 0; c < columns; ++c) text += c == 0 ? " :-- |" : " --: |";
    text += "\n";
  }
  const std::vector<std::string> notes = notes_of(table);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "* " + markdown_cell(note) + "\n";
  return text;
}

std::string key_of(std::string_view column) {
  std::string key;
  for (const char c : column) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '/') {
      key += "_per_";
    } else if (letter) {
      key += c;
    } else if (!key.empty() && key.back() != '_') {
      key += '_';
    }
  }
  key.erase(key.find_last_not_of('_') + 1);
  return key;
}

std::string to_json(std::span<const Table> tables) {
  Json list = Json::array();
  for (const Table& table : tables) list.push_back(table_json(table));
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string tables_document(std::span<const Table> tables) {
  return fmt::format("{{\"schema_version\":\"{}\",\"tables_version\":{},\"tables\":{}}}\n", kSchemaVersion,
                     kTablesVersion, to_json(tables));
}

}  // namespace hopbench
