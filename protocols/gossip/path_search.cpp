#include "protocols/gossip/path_search.h"

#include <algorithm>
#include <iterator>

namespace hopbench::gossip {
namespace path_search {

std::vector<int> among(const std::vector<int>& neighbours, const std::vector<int>& active) {
  std::vector<int> both;
  std::set_intersection(neighbours.begin(), neighbours.end(), active.begin(), active.end(), std::back_inserter(both));
  return both;
}

}  // namespace path_search

PathSearch::PathSearch(const Topology& graph) : graph_(graph), here_(graph.ranks().begin(), graph.ranks().end()) {}

void PathSearch::done(int worker) { done_.insert(worker); }

void PathSearch::left(int worker) {
  here_.erase(worker);
  done_.erase(worker);
}

std::vector<int> PathSearch::next_group() {
  const bool found = finds_new_link();
  if (done_.empty() || (!found && done_.size() < here_.size())) return {};
  std::vector<int> group(done_.begin(), done_.end());
  for (const int a : group) {
    for (const int b : path_search::among(graph_.out(a), group)) used_.emplace(std::min(a, b), std::max(a, b));
  }
  done_.clear();
  begin_epoch_if_connected();
  return group;
}

bool PathSearch::finds_new_link() {
  for (const int a : done_) {
    for (const int b : graph_.out(a)) {
      if (b > a && done_.count(b) > 0 && used_.count({a, b}) == 0) return true;
    }
  }
  return false;
}

void PathSearch::begin_epoch_if_connected() {
  std::vector<Edge> edges;
  for (const auto& [a, b] : used_) {
    if (here_.count(a) == 0 || here_.count(b) == 0) continue;
    edges.emplace_back(a, b);
    edges.emplace_back(b, a);
  }
  std::vector<int> gone;
  std::ranges::set_difference(graph_.ranks(), here_, std::back_inserter(gone));
  if (Topology("epoch", graph_.size(), edges).without(gone).strongly_connected()) used_.clear();
}

ActiveNeighbours active_neighbours(const Topology& graph, int rank, const std::vector<int>& active) {
  ActiveNeighbours found{.ranks = path_search::among(graph.in(rank), active), .weights = {}, .own = 1};
  for (const int peer : found.ranks) {
    const std::size_t theirs = path_search::among(graph.in(peer), active).size();
    found.weights.push_back(1.0 / static_cast<double>(1 + std::max(found.ranks.size(), theirs)));
    found.own -= found.weights.back();
  }
  return found;
}

}  // namespace hopbench::gossip
