// NetMax's monitor: it measures how long pulls take, and tells workers how often to pull from whom (protocols/gossip/
// netmax.cpp).
#pragma once

#include <vector>

#include "protocols/gossip/netmax_policy.h"
#include "protocols/node/node.h"

namespace hopbench::gossip {

/// The times of a worker's iteration: the words are the rank that it pulled from (its own: from nobody) and
/// nanoseconds.
inline constexpr Kind kPullTimes = kClock;
/// A worker's part of a policy: the pull, then its chances by rank.
inline constexpr Kind kPullPolicy = kToken;

class PullMonitor {
 public:
  /// Tells a new policy after every `every` reports of a worker, on average.
  PullMonitor(Node& self, int every) : self_(self), every_(every), policy_(uniform_policy(self.graph())) {
    const auto n = static_cast<std::size_t>(self.worker_count());
    times_.pulling.assign(n, std::vector<double>(n, 0.0));
    times_.alone.assign(n, 0.0);
  }

  [[noreturn]] void run() {
    for (std::int64_t heard = 1;; ++heard) {
      const Message report = self_.recv(is(kPullTimes), "times of iterations");
      const auto peer = static_cast<std::size_t>(report.words[0]), from = static_cast<std::size_t>(report.from);
      note(peer == from ? times_.alone[from] : times_.pulling[from][peer], to_seconds(Duration(report.words[1])));
      if (heard % (std::int64_t{every_} * self_.worker_count()) != 0) continue;
      policy_ = best_policy(self_.graph(), guessed(), policy_);
      tell();
    }
  }

 private:
  static void note(double& average, double seconds) {
    constexpr double kKept = 0.8;
    average = average == 0 ? seconds : kKept * average + (1 - kKept) * seconds;
  }

  /// Returns the times with those that are not known yet set to the worker's shortest.
  PullTimes guessed() const {
    PullTimes all = times_;
    for (std::size_t i = 0; i < all.alone.size(); ++i) {
      double shortest = all.alone[i];
      for (const double each : all.pulling[i]) {
        if (each > 0 && (shortest == 0 || each < shortest)) shortest = each;
      }
      if (all.alone[i] == 0) all.alone[i] = shortest;
      for (double& each : all.pulling[i]) each = each == 0 ? shortest : each;
    }
    return all;
  }

  void tell() {
    for (const int worker : self_.workers()) {
      std::vector<float> numbers{static_cast<float>(policy_.pull)};
      for (const double chance : policy_.chances[static_cast<std::size_t>(worker)])
        numbers.push_back(static_cast<float>(chance));
      self_.send(worker, kPullPolicy, round_, Vec::from_host(numbers).share());
    }
    ++round_;
  }

  Node& self_;
  const int every_;
  PullTimes times_;    // moving averages; 0: not known
  PullPolicy policy_;  // in force
  Iter round_ = 0;
};

}  // namespace hopbench::gossip
