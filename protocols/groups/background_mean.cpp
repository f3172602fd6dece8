#include "protocols/groups/background_mean.h"

#include <utility>

namespace hopbench::groups {

BackgroundMean::BackgroundMean(Node& self) : self_(self), state_(std::make_shared<State>()) {
  self.spawn([&self, state = state_] {
    for (;;) {
      self.until([&] { return state->under_way; }, "the next round");
      Mean& mean = state->mean;
      mean.values = Vec::uninitialised(mean.contributed.size(), mean.contributed.space());
      mean.ring = ring_mean(self, mean.group, mean.round, mean.contributed, mean.values, 0,
                            "vectors of the other workers", mean.count);
      mean.contributed = {};
      state->under_way = false;
    }
  });
}

void BackgroundMean::begin(Payload mine, std::int64_t count) {
  begin(std::move(mine), self_.workers(), state_->mean.round + 1);
  state_->mean.count = count;
}

void BackgroundMean::begin(Payload mine, const Group& group, Iter round) {
  HB_ASSERT(!state_->under_way);
  Mean& mean = state_->mean;
  mean.round = round;
  mean.group = group;
  mean.contributed = std::move(mine);
  mean.count = 0;
  state_->under_way = true;
}

void BackgroundMean::wait(const char* why) {
  self_.until([&] { return !state_->under_way; }, why);
}

const BackgroundMean::Mean& BackgroundMean::taken() {
  HB_ASSERT(!state_->under_way);
  self_.averaged(state_->mean.round, state_->mean.group, state_->mean.ring.weight);
  return state_->mean;
}

}  // namespace hopbench::groups
