// Rows of CSV files that people and other programs write. results/files/csv.h has those of a run.
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

/// Splits a line into `cells`. Blanks around a cell and quotes around it do not count; a quote within it stays doubled.
void split_row(std::string_view line, char separator, std::vector<std::string_view>& cells);

/// Returns Error(kUsage) "FILE:LINE: why".
Error csv_error(const std::string& path, int line, const std::string& why);

/// Takes a row: its text and its cells. Returns why it is wrong, or "".
using CsvRow = std::function<std::string(std::string_view text, const std::vector<std::string_view>& cells)>;

/// Reads the small files that a suite names: traces, absences and profiles. Empty lines, lines that begin with #, a
/// byte order mark and CR at the end of a line do not count. Calls `row` with each row, the header first. Returns the
/// number of the last line, at least 1. Throws csv_error for a row that is wrong, and Error(kUsage) "the WHAT FILE
/// cannot be read: why".
int read_csv_rows(const std::string& path, const char* what, const CsvRow& row);

}  // namespace hopbench
