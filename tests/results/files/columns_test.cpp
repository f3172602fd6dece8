// Compares the list of columns with the tables. ci/docs compares the documentation with the list.
#include <gtest/gtest.h>

#include "results/files/columns.h"
#include "results/files/csv.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

std::vector<std::string> listed(const std::string& table) {
  std::vector<std::string> names;
  for (const Column& column : columns()) {
    const std::string name = column.name;
    if (*column.table != '\0' && column.table != table) continue;
    names.push_back(name == "wait_s: REASON" ? "wait_s: parameters" : name == "figure: NAME" ? "figure: f" : name);
  }
  return names;
}

std::vector<std::string> written(const std::string& csv) { return read_csv(csv, "written")[0]; }

TEST(Columns, AreWhatTheTablesHaveInTheirOrder) {
  TrialRow row = full_row();
  row.record.ranks[0].waits = {{"parameters", Duration(1)}};
  row.record.ranks[0].figures = {{"f", 1.0}};
  const std::vector<TrialRow> rows{row};
  EXPECT_EQ(written(trials_csv(rows)), listed("trials.csv"));
  EXPECT_EQ(written(ranks_csv(rows)), listed("ranks.csv"));
  EXPECT_EQ(written(curve_csv(rows)), listed("curve.csv"));
  EXPECT_EQ(written(host_csv(rows)), listed("host.csv"));
}

}  // namespace
}  // namespace hopbench
