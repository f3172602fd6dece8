// Plays flows at given times over a network on a timeline of its own, and says when each arrived.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "backends/runtime/virtual/network.h"

namespace hopbench {

struct TimedFlow {
  int from = 0, to = 0;
  std::int64_t bytes = 0;
  double at_s = 0;
};

class TestTimeline final : public Timeline {
 public:
  Time now() const override { return now_; }
  void at(Time when, std::function<void()> action) override {
    actions_.emplace(std::pair(when, next_++), std::move(action));
  }
  void run() {
    while (!actions_.empty()) {
      const auto first = actions_.extract(actions_.begin());
      now_ = first.key().first;
      first.mapped()();
    }
  }

 private:
  Time now_{};
  std::uint64_t next_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> actions_;
};

/// Seconds at which each flow's last byte was there; -1: never.
inline std::vector<double> play(const std::vector<TimedFlow>& flows,
                                const std::function<std::unique_ptr<Network>(int ranks, Timeline&)>& make) {
  TestTimeline timeline;
  int ranks = 0;
  for (const TimedFlow& f : flows) ranks = std::max({ranks, f.from + 1, f.to + 1});
  const auto network = make(ranks, timeline);
  std::vector<double> arrived(flows.size(), -1);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    timeline.at(Time{} + seconds_to_duration(flows[i].at_s), [&, i] {
      network->transfer({.from = flows[i].from, .to = flows[i].to, .bytes = flows[i].bytes},
                        [&, i] { arrived[i] = to_seconds(timeline.now()); });
    });
  }
  timeline.run();
  return arrived;
}

}  // namespace hopbench
