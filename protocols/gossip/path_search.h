// Pathsearch: when may the workers that are done average? Of DSGD-AAU and its predecessor DyBW.
#pragma once

#include <set>
#include <vector>

#include "protocols/node/topology.h"

namespace hopbench::gossip {

/// Workers become done one by one. As soon as two neighbours are done whose link has not yet been used in this epoch,
/// all that are done average, each with those of its neighbours that are done too. Once the links used in an epoch
/// connect all workers, a new epoch begins.
class PathSearch {
 public:
  explicit PathSearch(const Topology& graph);

  void done(int worker);
  /// Removes a worker that has left the run.
  void left(int worker);
  int workers_left() const { return int(here_.size()); }
  /// Returns the workers that are to average now, ascending, and begins to wait anew; empty if it is too early. If all
  /// workers that are left are done, it is never too early.
  std::vector<int> next_group();

 private:
  bool finds_new_link();
  void begin_epoch_if_connected();

  const Topology& graph_;
  std::set<int> here_, done_;
  std::set<Edge> used_;  // in this epoch, a < b
};

/// Returns the neighbours of `rank` among `active` workers, ascending, and their Metropolis weights in the graph of the
/// active ones.
struct ActiveNeighbours {
  std::vector<int> ranks;
  std::vector<double> weights;
  double own = 1;
};
ActiveNeighbours active_neighbours(const Topology& graph, int rank, const std::vector<int>& active);

}  // namespace hopbench::gossip
