// A claim of a paper as plain data: the rows of a run that it is about, and what it says about their numbers. Claims
// are read by suites/claims/paper.h and judged by suites/claims/claims.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hopbench {

/// The trials of one variant in one scenario of one measure. In a claim, an empty part stands for the only one that the
/// suite has.
struct Selection {
  std::string measure, scenario, variant;
  bool operator==(const Selection&) const = default;
  bool finds(const Selection& whole) const;
  std::string text() const;  // "convergence / homogeneous / hop", without empty parts
};

enum class ClaimVerdict { kHolds, kDiffers, kUndecided };
const char* to_string(ClaimVerdict verdict);

struct Claim {
  enum class Kind {
    kRatio,  // metric of the first selection over that of the second, paired by seed and repeat
    kValue,  // median of the metric
    kOrder,  // medians of the selections ascend
  };
  std::string id;
  std::string figure, says, published;  // in the paper's words
  std::string confidence;               // "paper", "memory low", ...
  std::string suite;                    // file, beside the paper's expected.toml
  std::string metric;                   // a column of trials.csv
  Kind kind = Kind::kRatio;
  std::vector<Selection> selections;
  std::optional<double> at_least, at_most;
  double tolerance = 0;                         // order: a later median may be this share smaller
  std::map<std::string, ClaimVerdict> expects;  // by profile: "smoke", "full"; one that is missing is not judged
  std::string because;                          // the reason why it differs
};

}  // namespace hopbench
