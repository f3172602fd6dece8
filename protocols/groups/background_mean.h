// Means of all workers' vectors, computed while the body goes on.
#pragma once

#include <memory>

#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::groups {

/// All-reduces along a ring, one after the other, by a strand of its own. All members begin the same ones in the same
/// order. A vector is contributed as it is when its mean is begun.
class BackgroundMean {
 public:
  struct Mean {
    Iter round = -1;  // its number, from 0; -1: none was begun
    Group group;
    Payload contributed;     // until it is over
    std::int64_t count = 0;  // of this member
    Vec values;              // once it is over
    RingMean ring;
  };
  explicit BackgroundMean(Node& self);

  /// Begins a mean over all workers. The one before must be over.
  void begin(Payload mine, std::int64_t count = 0);
  /// Begins a mean over a group that holds this worker, with a number that is the same on all its members.
  void begin(Payload mine, const Group& group, Iter round);
  bool under_way() const { return state_->under_way; }
  /// Waits until no mean is under way.
  void wait(const char* why);
  /// Returns the mean that was begun last, which must be over, and reports it as an average of this rank.
  const Mean& taken();
  const Mean& last() const { return state_->mean; }

 private:
  struct State {
    Mean mean;
    bool under_way = false;
  };
  Node& self_;
  std::shared_ptr<State> state_;  // shared with the strand, which outlives the body
};

}  // namespace hopbench::groups

namespace hopbench {

// Names for protocols of your own, which are of no family.
using groups::BackgroundMean, groups::Group, groups::all_workers, groups::ring_links;

}  // namespace hopbench
