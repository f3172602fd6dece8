#include "suites/advice/model_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "protocols/node/protocol.h"

namespace hopbench {
namespace {

constexpr int kPoints = 20;             // equally likely errors
constexpr double kUnknown = 0.10;       // an error of this size either way where none was measured at all
constexpr double kOutsideFactor = 2.0;  // outside of what was measured

const std::vector<std::string_view>& head_of_errors() {
  static const std::vector<std::string_view> kColumns = {"family", "from", "to",  "cells", "least", "q05",
                                                         "q25",    "q50",  "q75", "q95",   "most"};
  return kColumns;
}

bool is_family(const std::string& name) {
  if (name == "all") return true;
  for (int family = 0; family <= static_cast<int>(Family::kOther); ++family) {
    if (name == to_string(static_cast<Family>(family))) return true;
  }
  return false;
}

/// Returns why the row is wrong; "" if it is a cell.
std::string read_cell(const std::vector<std::string_view>& cells, ErrorCell& cell) {
  if (cells.size() != head_of_errors().size())
    return fmt::format("{} cells, not {}", cells.size(), head_of_errors().size());
  cell.family = cells[0];
  std::array<double, ErrorCell::kQuantiles + 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = number_in<double>(cells[i + 1]);
    if (!number || std::isnan(*number)) return fmt::format("'{}' is not a number", cells[i + 1]);
    numbers[i] = *number;
  }
  cell.from = numbers[0], cell.to = numbers[1], cell.cells = int(std::clamp(numbers[2], 0.0, 1e9));
  std::copy(numbers.begin() + 3, numbers.end(), cell.quantiles.begin());
  if (!is_family(cell.family)) return fmt::format("'{}' is neither a family of protocols nor all", cell.family);
  if (cell.from < 0 || cell.to <= cell.from) return "'to' must be above 'from', and 'from' at least 0";
  constexpr double kMost = 10;  // of a logarithm: 22000 times as fast
  if (!std::is_sorted(cell.quantiles.begin(), cell.quantiles.end())) return "the quantiles must ascend";
  if (cell.quantiles.front() >= -kMost && cell.quantiles.back() <= kMost) return "";
  return fmt::format("the quantiles are logarithms of ratios, and must lie between {} and {}", -kMost, kMost);
}

/// Returns the quantile of a share, on the line between the two nearest that are known.
double quantile_of(const ErrorCell& cell, double share) {
  std::size_t i = 1;
  while (i + 1 < ErrorCell::kShares.size() && ErrorCell::kShares[i] < share) ++i;
  const double low = ErrorCell::kShares[i - 1], high = ErrorCell::kShares[i];
  const double part = (share - low) / (high - low);
  return cell.quantiles[i - 1] + part * (cell.quantiles[i] - cell.quantiles[i - 1]);
}

std::vector<double> points_of(const ErrorCell& cell) {
  std::vector<double> logs;
  for (int i = 0; i < kPoints; ++i) logs.push_back(quantile_of(cell, (i + 0.5) / kPoints));
  return logs;
}

/// Returns the errors twice as far from their median, which stays.
std::vector<double> doubled(std::vector<double> logs) {
  const double middle = (logs[kPoints / 2 - 1] + logs[kPoints / 2]) / 2;
  for (double& log : logs) log = middle + kOutsideFactor * (log - middle);
  return logs;
}

}  // namespace

ModelErrors ModelErrors::read(const std::string& path) {
  std::vector<ErrorCell> found;
  bool header = true;
  read_csv_rows(path, "file of model errors", [&](std::string_view, const std::vector<std::string_view>& cells) {
    if (header) {
      header = false;
      return cells == head_of_errors()
                 ? std::string()
                 : fmt::format("the header must be {}", "family,from,to,cells,least,q05,q25,q50,q75,q95,most");
    }
    return read_cell(cells, found.emplace_back());
  });
  if (header) throw usage_error(fmt::format("{}: is empty: the header is missing", printable(path)));
  return ModelErrors(std::move(found));
}

LikelyErrors ModelErrors::of(const std::string& family, double ratio) const {
  const auto within = [&](const ErrorCell& cell) { return ratio >= cell.from && ratio < cell.to; };
  for (const ErrorCell& cell : cells_) {
    if (cell.family == family && cell.cells >= kFewestCells && within(cell)) return {points_of(cell), false};
  }
  const auto all =
      std::find_if(cells_.begin(), cells_.end(), [](const ErrorCell& cell) { return cell.family == "all"; });
  if (all != cells_.end()) return {doubled(points_of(*all)), true};
  ErrorCell unknown{
      .family = "all", .from = 0, .to = std::numeric_limits<double>::infinity(), .cells = 0, .quantiles = {}};
  for (std::size_t i = 0; i < unknown.quantiles.size(); ++i)
    unknown.quantiles[i] = kUnknown * (2 * ErrorCell::kShares[i] - 1);
  return {points_of(unknown), true, true};
}

}  // namespace hopbench
