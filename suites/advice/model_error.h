// How far rates in virtual time were from those of real processes. `ci/studies/prediction errors` measures it, and
// writes the file, suites/advice/model_error.csv; docs/advice.md describes it.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace hopbench {

/// The errors of a family of protocols, where a message takes from `from` to `to` times as long as a gradient.
struct ErrorCell {
  static constexpr int kQuantiles = 7;
  /// The shares of errors that are at most the quantile.
  static constexpr std::array<double, kQuantiles> kShares{0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};

  std::string family;  // to_string(Family); "all": of all families together
  double from = 0, to = 0;
  int cells = 0;                             // rates that were compared
  std::array<double, kQuantiles> quantiles;  // of ln(real rate / rate in virtual time), ascending
};

/// Equally likely errors of a rate, as ln(real rate / rate in virtual time).
struct LikelyErrors {
  std::vector<double> logs;
  bool outside = false;  // too few such rates were compared: these are the errors of all, doubled
  bool assumed = false;  // no rates were compared at all: 10 % either way is assumed
};

class ModelErrors {
 public:
  /// Reads a CSV file with the columns family, from, to, cells, least, q05, q25, q50, q75, q95, most. Error(kUsage),
  /// "FILE:LINE: ...", if it is not such a file.
  static ModelErrors read(const std::string& path);
  explicit ModelErrors(std::vector<ErrorCell> cells) : cells_(std::move(cells)) {}

  /// Returns the errors of a family at this ratio of message time to gradient time.
  LikelyErrors of(const std::string& family, double ratio) const;
  /// The fewest compared rates that count as a measurement of a family's errors.
  static constexpr int kFewestCells = 10;

 private:
  std::vector<ErrorCell> cells_;
};

}  // namespace hopbench
