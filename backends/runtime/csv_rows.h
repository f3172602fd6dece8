// The dialect of the small CSV files that a suite names: traces, absences and profiles. Cells have no quotes; blanks
// around them, empty lines, lines that begin with #, a byte order mark and CR at the end of a line do not count.
#pragma once

#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {

/// Returns the number that a cell holds; nothing if it holds anything else.
template <class Number>
std::optional<Number> number_in(std::string_view cell) {
  Number number{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return number;
}

/// Returns Error(kUsage) "FILE:LINE: why".
Error csv_error(const std::string& path, int line, const std::string& why);

/// Takes a row: its text and its cells. Returns why it is wrong, or "".
using CsvRow = std::function<std::string(std::string_view text, const std::vector<std::string_view>& cells)>;

/// Calls `row` with each row, the header first. Returns the number of the last line, at least 1. Throws csv_error for a
/// row that is wrong, and Error(kUsage) "the WHAT FILE cannot be read: why".
int read_csv_rows(const std::string& path, const char* what, const CsvRow& row);

}  // namespace hopbench
