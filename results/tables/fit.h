// Tables in a terminal: as wide as it is, and no wider.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/tables/table.h"

namespace hopbench {

struct Fitted {
  std::string text;
  std::vector<std::string> left_out;  // heads of columns that found no room
};

/// Returns the table as text whose lines are at most `columns` wide. Does, until it fits: wraps heads, long labels and
/// marks; leaves out columns that are in spare_columns(); wraps the other cells, and last breaks words. Bound rows, n,
/// intervals and marks always stay. Only a table of more than `columns` / 6 columns that are not spare is wider.
Fitted fitted(const Table& table, std::size_t columns, bool colour);

/// Returns the names of columns that a narrow terminal does without, the least needed first.
const std::vector<std::string>& spare_columns();

}  // namespace hopbench
