// The critical path of a trial of virtual time. It is the chain of arithmetic, messages and waits that led to a moment,
// found by walking back from there.
//
// If a rank waited until a message came, the path continues at the sender, at the time of sending. A strand
// beside the body is seen by its effects: an operation that ends, or a message that comes, while the body
// waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "results/arithmetic/trail.h"

namespace hopbench {

/// Returns the name of the time by which a slowdown made a rank's gradients longer: "slowdown, rank 3".
std::string slowdown_of(int rank);
/// Returns true for such a name.
bool is_slowdown(std::string_view use);

class CriticalPath : public Observer {
 public:
  /// `number_of`: returns the number that the suite gives to a rank; if null, the rank itself.
  explicit CriticalPath(int ranks, std::function<int(int)> number_of = nullptr)
      : ranks_(std::size_t(ranks)), number_of_(std::move(number_of)) {}
  void on(const Event& event) override;

  /// Walks from `rank` at `end` back to `from`. Returns the time of "compute", "slowdown, rank 3", "vector operations",
  /// "messages, parameters" (under way, to a rank that waited for this reason), "waiting, parameters" (ended by neither
  /// a message nor an operation) and "other". The times sum up to `end` - `from` exactly.
  std::map<std::string, Duration> to(int rank, Time end, Time from = {}) const;

 private:
  // Each trail is in the order in which its entries ended. Numbers are nanoseconds of the trial's clock, except for the
  // last number of each entry.
  struct Rank {
    Trail works;       // begin, length, 2 * delay + 1 for a gradient, 0 for a vector operation
    Trail waits;       // of the body: end, length, place of the reason in reasons_
    Trail deliveries;  // at, time since it was sent, sender
  };
  std::int64_t place_of(const char* reason);

  class Walk;
  std::vector<Rank> ranks_;
  std::vector<const char*> reasons_;
  std::function<int(int)> number_of_;
};

}  // namespace hopbench
