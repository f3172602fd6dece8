// Tables in terminals of any width: every table that is shipped, and tables with labels of any length.
#include "results/tables/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "results/tables/drawing.h"
#include "results/tables/terms.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells{""};
  for (std::size_t i = 2; i + 1 < row.size(); ++i) {
    if (row[i] == '\\') {
      cells.back() += row[++i];
    } else if (row[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += row[i];
    }
  }
  for (std::string& cell : cells) {
    cell.erase(0, std::min(cell.find_first_not_of(' '), cell.size()));
    cell.erase(cell.find_last_not_of(' ') + 1);
  }
  return cells;
}

/// Returns the column with this head: one of the list, if it has one.
Head head_of(const std::string& title) {
  for (const Column& column : table_words()) {
    if (title == (column.title == nullptr ? column.name : column.title)) return {column.name, title};
  }
  return title;
}

/// Returns the tables of a summary.md.
std::vector<Table> tables_of(const std::filesystem::path& path) {
  std::vector<Table> tables;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) {
      tables.emplace_back();
      tables.back().title = line.substr(4);
    } else if (line.starts_with("| ") && !line.starts_with("| :--") && !tables.empty()) {
      const std::vector<std::string> cells = cells_of(line);
      Table& table = tables.back();
      if (!table.columns.empty()) {
        table.rows.emplace_back(cells.begin(), cells.end());
      } else {
        for (const std::string& cell : cells) table.columns.push_back(head_of(cell));
      }
    }
  }
  return tables;
}

/// Returns the tables of all runs that are shipped.
std::vector<Table> shipped_tables() {
  std::vector<Table> tables;
  for (const char* folder : {"results/published", "results/baselines"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/" + folder)) {
      if (entry.path().filename() != "summary.md") continue;
      for (Table& table : tables_of(entry.path())) tables.push_back(std::move(table));
    }
  }
  return tables;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

/// Returns how often each character stands in the text, but for spaces: wrapping moves them and loses none.
std::map<char, int> letters(const std::string& text) {
  std::map<char, int> counts;
  for (const char c : without_spaces(text)) ++counts[c];
  return counts;
}

TEST(Fit, EveryShippedTableFits80And100And200Columns) {
  const std::vector<Table> tables = shipped_tables();
  ASSERT_GE(tables.size(), 10u);
  for (const Table& table : tables) {
    for (const std::size_t columns : {80u, 100u, 200u}) {
      const Fitted fit = fitted(table, columns, false);
      const std::vector<std::string> lines = lines_of(fit.text);
      for (const std::string& line : lines) EXPECT_LE(display_width(line), columns) << table.title << "\n" << line;
      for (const std::string& name : fit.left_out) EXPECT_THAT(spare_columns(), Contains(name)) << table.title;
      // The rest is there, to the letter.
      const Table rest = without(table, fit.left_out);
      std::map<char, int> found = letters(fit.text), wanted = letters(to_text(rest, false));
      found.erase('-');
      wanted.erase('-');
      EXPECT_EQ(found, wanted) << table.title << " at " << columns;
    }
  }
}

Table sample(const std::string& label, const std::string& marks) {
  return {.title = "s / rate / x",
          .columns = {"variant", "n", "samples/s", "iterations/s", "speed-up", "waiting", "mostly for", "marks"},
          .rows = {{label, "3", "1294 (1268 .. 1303)", "5.055", "1.55x [1.33, 1.80]", "62 %", "weights", marks},
                   {"ideal", "3", "3445", "", "2.76x [2.41, 3.15]"}}};
}

TEST(Fit, ATableThatFitsIsAsBefore) {
  const Table table = sample("dpsgd", "failed");
  EXPECT_EQ(fitted(table, 100, false).text, to_text(table, false));
  EXPECT_THAT(fitted(table, 100, false).left_out, IsEmpty());
}

TEST(Fit, LongLabelsAndMarksAreWrappedBeforeAColumnIsLeftOut) {
  const Table table = sample("hop with a label of very many words that nobody would type twice", "not steady (1 of 3)");
  const Fitted fit = fitted(table, 126, false);
  EXPECT_THAT(fit.left_out, IsEmpty());
  EXPECT_THAT(fit.text, HasSubstr("\nhop with a label of very "));
  EXPECT_THAT(fit.text, HasSubstr("\n  many words "));
}

TEST(Fit, ColumnsAreLeftOutInTheirOrder) {
  const Fitted fit = fitted(sample("dpsgd", "not steady (1 of 3)"), 84, false);
  EXPECT_THAT(fit.left_out, ElementsAre("mostly for", "iterations/s"));
  EXPECT_THAT(fit.text, HasSubstr("62 %"));
  EXPECT_THAT(fit.text, Not(HasSubstr("5.055")));
  for (const char* kept : {"ideal", "1.55x [1.33, 1.80]", "not steady"}) EXPECT_THAT(fit.text, HasSubstr(kept));
}

TEST(Fit, WhatStandsInBracketsIsOneWord) {
  EXPECT_THAT(words_of("1294 (1268 .. 1303)"), ElementsAre("1294", "(1268 .. 1303)"));
  EXPECT_THAT(words_of("1.55x [1.33, 1.80]"), ElementsAre("1.55x", "[1.33, 1.80]"));
  EXPECT_THAT(words_of("not  steady"), ElementsAre("not", "steady"));
}

TEST(Fit, ALabelWithoutSpacesIsBroken) {
  const Fitted fit = fitted(sample(std::string(300, 'x'), ""), 60, false);
  for (const std::string& line : lines_of(fit.text)) EXPECT_LE(display_width(line), 60u) << line;
  EXPECT_EQ(std::count(fit.text.begin(), fit.text.end(), 'x'), 300 + 3) << "and those of title and speed-ups";
}

TEST(TableWords, EveryColumnThatMayBeLeftOutIsExplained) {
  for (const std::string& name : spare_columns()) {
    EXPECT_EQ(term(name).name, name);
  }
}

TEST(TableWords, EveryHeadRowAndMarkOfTheShippedTablesIsExplained) {
  const std::vector<Column> all = table_words();
  const auto known = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const Column& term) { return name == term.name; });
  };
  for (const Table& table : shipped_tables()) {
    for (const Head& head : table.columns)
      EXPECT_TRUE(known(head.name) || head.name == "worker" || head.title.starts_with("held"))
          << head.title << " in " << table.title;
    // ("held": of an older hopbench)
    if (!table.has("marks")) continue;
    for (const TableRow& row : table.rows) {
      if (row.size() < table.columns.size()) continue;
      std::istringstream marks(row.back().text);
      for (std::string mark; std::getline(marks, mark, ',');) {
        mark = mark.substr(0, mark.find(" ("));
        mark.erase(0, mark.find_first_not_of(' '));
        EXPECT_TRUE(mark.empty() || known(mark)) << mark << " in " << table.title;
      }
    }
  }
}

}  // namespace
}  // namespace hopbench
