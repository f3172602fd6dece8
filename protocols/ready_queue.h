// Partial Reduce's controller without the messages: whom it groups next (protocols/partial_reduce.cpp).
//
// The first P ready workers form a group. Left alone, workers of like speed could meet the same ones for ever (frozen
// groups). So the latest groups are kept as a graph, each group joining its members, and any `window` groups in a row
// connect all workers that are left: where the first P would not do, workers of parts that are to be joined go first,
// and if none of them is ready, all wait.
//
// That is looked at in time. A group of P joins at most P parts, that is P - 1 fewer; so what is left of the window
// after s further groups, and the next group, must make at most 1 + s (P - 1) parts.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "backends/base/iter.h"

namespace hopbench {

class ReadyQueue {
 public:
  /// window: in groups, at least fewest_groups(workers, group_size); 0: frozen groups are not avoided.
  ReadyQueue(int workers, int group_size, int window);

  void ready(int worker);
  /// The worker is not part of the run any more, nor ready. May be said again.
  void left(int worker);
  /// Of `group_size` members, ascending; they are ready no more. Nothing: it takes more ready ones.
  std::optional<std::vector<int>> next_group();
  /// Those who are ready when too few workers for a group are left: they are ready no more and go on alone.
  std::vector<int> stranded();

  int workers_left() const;

 private:
  struct Duty {
    int kept;   // how many of the latest groups are still in a window to come
    int parts;  // so many of the parts they make the next group must join
  };
  std::vector<Duty> duties() const;
  std::optional<std::vector<int>> bridging() const;

  int group_size_, window_;
  std::deque<int> queue_;  // ready workers, in the order of their signals
  std::vector<char> here_;
  std::deque<std::vector<int>> latest_;  // groups, at most window - 1
};

/// How few groups of that size can connect so many workers.
int fewest_groups(int workers, int group_size);

}  // namespace hopbench
