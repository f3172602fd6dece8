// The critical path of a trial of virtual time: the chain of arithmetic, messages and waits that led to a moment, found
// by walking back from there.
//
// A rank that waited until a message came went on because of it: the path goes on at its sender, when it was sent. A
// strand beside the body is seen by what it does: an operation that ends, or a message that comes, while the body
// waits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/record.h"

namespace hopbench {

class CriticalPath : public Observer {
 public:
  explicit CriticalPath(int ranks) : ranks_(std::size_t(ranks)) {}
  void on(const Event& event) override;

  /// Walks from `rank` at `end` back to `from`. Returns "compute", "slowdown, rank 3", "vector operations",
  /// "messages, parameters" (under way, to a rank that waited for this reason), "waiting, parameters" (which neither a
  /// message nor an operation ended) and "other". They sum up to `end` - `from` exactly.
  std::map<std::string, Duration> to(int rank, Time end, Time from = {}) const;

 private:
  struct Work {  // a gradient or a vector operation
    Time begin{}, end{};
    bool gradient = false;
    Duration delay{};  // of a gradient: what a slowdown added
  };
  struct Wait {  // of the body
    Time begin{}, end{};
    const char* why = "";
  };
  struct Delivery {
    Time at{}, sent{};
    int from = 0;
  };
  struct Rank {  // each in the order in which they ended
    std::vector<Work> works;
    std::vector<Wait> waits;
    std::vector<Delivery> deliveries;
  };
  class Walk;
  std::vector<Rank> ranks_;
};

}  // namespace hopbench
