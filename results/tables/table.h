// A table of results: typed cells, which text, Markdown, LaTeX, HTML, JSON and bars are drawn from. No reader of a
// table has to read its texts: columns have names, numbers are numbers, and notes have kinds.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/tables/numbers.h"

namespace hopbench {

/// The head of a column. Those of the summary come from the list in terms.h (`listed`).
struct Head {
  Head(const char* text) : Head(std::string(text)) {}         // NOLINT(google-explicit-constructor): most are a title
  Head(const std::string& text) : name(text), title(text) {}  // NOLINT(google-explicit-constructor)
  Head(std::string its_name, std::string its_title, std::string its_unit = "")
      : name(std::move(its_name)), title(std::move(its_title)), unit(std::move(its_unit)) {}

  std::string name;   // what the column is called: "time to target"
  std::string title;  // as it is printed: "time to target, s"
  std::string unit;   // of its numbers: "s"
};

/// A cell is empty, a text, or numbers. The first number is what the column is about; others, such as its share in
/// something, have names of their own.
struct Cell {
  Cell() = default;
  Cell(const char* words) : text(words) {}             // NOLINT(google-explicit-constructor): most cells are texts
  Cell(std::string words) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor)
  Cell(const Number& number, const Format& format, const char* name = "median")
      : Cell(text_of(number, format), number, name) {}
  Cell(std::string words, const Number& number, const char* name = "median")
      : text(std::move(words)), numbers{{name, number}} {}

  /// Returns nullptr if the cell is a text or empty.
  const Number* number() const { return numbers.empty() ? nullptr : &numbers.front().number; }
  bool operator==(std::string_view other) const { return text == other; }

  struct Named {
    const char* name;  // "median", "ratio", "share"
    Number number;
  };
  std::string text;  // as it is printed; "": empty
  std::vector<Named> numbers;
};
using TableRow = std::vector<Cell>;

struct Note {
  enum class Kind {
    kShared,  // explains numbers, columns or settings: said below the first of several tables that have it
    kFact,    // about this table alone: never left out
  };
  std::string text;
  Kind kind = Kind::kShared;
  std::string column{};  // the column that it explains, and with which it is left out
};

/// The first column is left-aligned, the others right. Rows may be shorter than the heads.
struct Table {
  std::string title{};
  std::vector<Head> columns{};
  std::vector<TableRow> rows{};
  std::vector<Note> notes{};
  std::string caption{};              // the title in words, for pages and papers; "": the title
  std::vector<std::string> narrow{};  // columns that fit into a column of a paper; empty: all
  std::vector<std::string> idle{};    // columns that say nothing here: all values are 0 or not known

  void note(std::string text) { notes.push_back({.text = std::move(text)}); }
  void fact(std::string text) { notes.push_back({.text = std::move(text), .kind = Note::Kind::kFact}); }
  /// Returns the place of a column; the number of columns if it is not there.
  std::size_t place_of(std::string_view column) const;
  bool has(std::string_view column) const { return place_of(column) < columns.size(); }
  const std::string& in_words() const { return caption.empty() ? title : caption; }
};

/// Returns the texts of the notes, shared ones first; or of one kind.
std::vector<std::string> notes_of(const Table& table);
std::vector<std::string> notes_of(const Table& table, Note::Kind kind);
/// Returns the table without these columns, and without the notes that explain them.
Table without(Table table, const std::vector<std::string>& columns);
/// Returns the table without its idle columns.
inline Table for_a_screen(Table table) { return without(table, table.idle); }
/// Keeps each shared note only below the first table that has it.
void say_once(std::span<Table> tables, std::set<std::string>& said);

std::string to_text(const Table& table, bool colour);
std::string to_markdown(const Table& table);
/// Returns the text as a cell of a Markdown table: on one line, without markup, and as printable() has it.
std::string markdown_cell(std::string_view text);
/// Returns the tables as JSON (docs/results.md): a row is an object with a value for each column, by its key.
std::string to_json(std::span<const Table> tables);
/// Returns the same as a document of its own: {"schema_version", "tables_version", "tables"}.
std::string tables_document(std::span<const Table> tables);
/// Returns the key of a column in JSON: "samples_per_s" of "samples/s".
std::string key_of(std::string_view column);

}  // namespace hopbench
