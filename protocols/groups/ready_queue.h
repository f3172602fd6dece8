// Partial Reduce's controller without the messages: which workers it groups next (protocols/groups/partial_reduce.cpp).
//
// The first P ready workers form a group. With that alone, workers of similar speed could meet the same ones for ever
// (frozen groups). So the latest groups are kept as a graph, in which each group joins its members, and any `window`
// groups in a row connect all workers that are left. If the first P would not do this, workers of parts that are to be
// joined go first, and if none of them is ready, all wait.
//
// This is checked ahead of time. A group of P joins at most P parts, which leaves P - 1 fewer. So if s more groups of a
// window follow the next group, those before and the next must leave at most 1 + s (P - 1) parts.
#pragma once

#include <deque>
#include <optional>
#include <vector>

namespace hopbench::groups {

class ReadyQueue {
 public:
  /// `window` is in groups, at least fewest_groups(workers, group_size); 0: frozen groups are not avoided.
  ReadyQueue(int workers, int group_size, int window);

  void ready(int worker);
  /// Records that the worker has left the run and is not ready any more. May be called again.
  void left(int worker);
  /// Returns `group_size` members, ascending, which are no longer ready; nothing if it takes more ready workers.
  std::optional<std::vector<int>> next_group();
  /// Returns the ready workers if too few workers for a group are left. They are no longer ready and go on alone.
  std::vector<int> stranded();

  int workers_left() const;

 private:
  struct Duty {
    int kept;   // number of the latest groups that are still in a window to come
    int parts;  // number of the parts they make that the next group must join
  };
  std::vector<Duty> duties() const;
  std::optional<std::vector<int>> bridging() const;

  int group_size_, window_;
  std::deque<int> queue_;  // ready workers, in the order of their signals
  std::vector<char> here_;
  std::deque<std::vector<int>> latest_;  // groups, at most window - 1
};

/// Returns the least number of groups of that size that can connect that number of workers.
int fewest_groups(int workers, int group_size);

}  // namespace hopbench::groups
