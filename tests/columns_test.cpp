// The columns of the tables, and the documentation held against them.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "results/columns.h"
#include "results/csv.h"
#include "tests/results_samples.h"

namespace hopbench {
namespace {

std::string documentation() {
  std::ifstream file(std::string(HB_SOURCE_DIR) + "/docs/results.md");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Sorted: the documentation may group them otherwise than the table has them.
std::multiset<std::string> documented(const std::string& table) {
  std::multiset<std::string> names;
  for (const Column& column : columns()) {
    const std::string name = column.name;
    if (*column.table != '\0' && column.table != table) continue;
    names.insert(name == "wait_s: REASON" ? "wait_s: parameters" : name == "figure: NAME" ? "figure: f" : name);
  }
  return names;
}

std::multiset<std::string> written(const std::string& csv) {
  const std::vector<std::string> head = read_csv(csv, "written")[0];
  return {head.begin(), head.end()};
}

TEST(Columns, AreWhatTheTablesHave) {
  TrialRow row = full_row();
  row.record.ranks[0].waits = {{"parameters", Duration(1)}};
  row.record.ranks[0].figures = {{"f", 1.0}};
  const std::vector<TrialRow> rows{row};
  EXPECT_EQ(written(trials_csv(rows)), documented("trials.csv"));
  EXPECT_EQ(written(ranks_csv(rows)), documented("ranks.csv"));
  EXPECT_EQ(written(curve_csv(rows)), documented("curve.csv"));
  EXPECT_EQ(written(host_csv(rows)), documented("host.csv"));
}

TEST(Columns, AreDocumentedEachWithUnitAndMeaning) {
  const std::string text = documentation();
  for (const Column& column : columns()) {
    EXPECT_NE(text.find(markdown_row(column) + "\n"), std::string::npos) << "docs/results.md lacks\n"
                                                                         << markdown_row(column);
  }
}

TEST(Columns, AreAllThatIsDocumented) {
  const std::string text = documentation();
  std::set<std::string> rows;
  for (const Column& column : columns()) rows.insert(markdown_row(column));
  const std::string head = "| column | unit | meaning |\n|---|---|---|\n";
  int tables = 0;
  for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
    ++tables;
    for (std::size_t row = at + head.size(); text[row] == '|'; row = text.find('\n', row) + 1) {
      const std::string line = text.substr(row, text.find('\n', row) - row);
      EXPECT_EQ(rows.count(line), 1u) << "docs/results.md has a row of no column:\n" << line;
    }
  }
  EXPECT_GE(tables, 5);
}

}  // namespace
}  // namespace hopbench
