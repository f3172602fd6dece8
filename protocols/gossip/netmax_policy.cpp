#include "protocols/gossip/netmax_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "protocols/gossip/laplacian.h"

namespace hopbench {
namespace {

constexpr int kPulls = 20, kPaces = 10;  // candidates that are tried

using Row = std::vector<double>;

int largest_degree(const Topology& graph) {
  std::size_t degree = 1;
  for (const int r : graph.ranks()) degree = std::max(degree, graph.in(r).size());
  return static_cast<int>(degree);
}

/// The choices of one worker: to pull from a neighbour, or from nobody, with a time for each.
struct Choices {
  std::vector<int> from;  // neighbours, and the worker itself last
  Row times;

  Choices(const Topology& graph, const PullTimes& known, int worker) : from(graph.in(worker)) {
    const auto i = static_cast<std::size_t>(worker);
    for (const int m : from) times.push_back(known.pulling[i][static_cast<std::size_t>(m)]);
    from.push_back(worker);
    times.push_back(known.alone[i]);
  }

  /// Returns the mean time of an iteration if each neighbour has the chance `least` and the rest goes to one choice.
  double mean_time(double least, std::size_t rest) const {
    double mean = times[rest] * (1 - least * static_cast<double>(from.size() - 1));
    for (std::size_t c = 0; c + 1 < from.size(); ++c) mean += least * times[c];
    return mean;
  }
  std::size_t fastest() const { return index(std::min_element(times.begin(), times.end())); }
  std::size_t slowest() const { return index(std::max_element(times.begin(), times.end())); }

  /// Returns chances of at least `least` for each neighbour, with a mean time near `pace` and as much pulling as that
  /// leaves room for.
  Row chances(double least, double pace) const {
    Row all(from.size(), least);
    all.back() = 0;
    const double rest = 1 - least * static_cast<double>(from.size() - 1);
    double spent = 0;
    for (std::size_t c = 0; c + 1 < from.size(); ++c) spent += least * times[c];
    const double wanted = rest > 0 ? (pace - spent) / rest : 0;  // mean time of what is left to choose
    const auto [low, high] = around(wanted);
    const double apart = times[high] - times[low];
    const double share = apart > 0 ? std::clamp((wanted - times[low]) / apart, 0.0, 1.0) : 1;
    all[low] += rest * (1 - share);
    all[high] += rest * share;
    return all;
  }

 private:
  std::size_t index(Row::const_iterator at) const { return static_cast<std::size_t>(at - times.begin()); }

  /// Returns two choices whose times have `wanted` between them, neighbours where possible.
  std::pair<std::size_t, std::size_t> around(double wanted) const {
    const auto end = times.end() - 1;  // without the worker itself
    std::size_t low = times.size() - 1, high = times.size() - 1;
    for (auto at = times.begin(); at != end; ++at) {
      const std::size_t c = index(at);
      if (*at <= wanted && (low == times.size() - 1 || *at > times[low])) low = c;
      if (*at >= wanted && (high == times.size() - 1 || *at < times[high])) high = c;
    }
    if (high == times.size() - 1) high = low;  // all neighbours are faster: the slowest of them
    return {low, high};
  }
};

std::vector<WeightedEdge> mixing_edges(const Topology& graph, const std::vector<Row>& chances, double pull) {
  std::vector<WeightedEdge> edges;
  for (const int i : graph.ranks()) {
    for (const int m : graph.in(i)) {
      if (m < i) continue;
      const double there = chances[static_cast<std::size_t>(i)][static_cast<std::size_t>(m)],
                   back = chances[static_cast<std::size_t>(m)][static_cast<std::size_t>(i)];
      const double weight = pull * (2 - pull / there - pull / back) / graph.size();
      edges.push_back({i, m, std::max(0.0, weight)});
    }
  }
  return edges;
}

/// Returns the time in which models come together by a factor of e, as predicted.
double predicted(const Topology& graph, const PullPolicy& policy, double pace) {
  Numbers x = some_direction(static_cast<std::size_t>(graph.size()));
  const double gap = fiedler_value(mixing_edges(graph, policy.chances, policy.pull), x, 300);
  return gap > 1e-12 ? pace / -std::log1p(-std::min(gap, 1 - 1e-12)) : std::numeric_limits<double>::infinity();
}

PullPolicy policy_with(const Topology& graph, const std::vector<Choices>& workers, double pull, double pace) {
  const auto n = static_cast<std::size_t>(graph.size());
  PullPolicy policy{.chances = std::vector<Row>(n, Row(n, 0.0)), .pull = pull};
  for (std::size_t i = 0; i < n; ++i) {
    const Row own = workers[i].chances(pull, pace);
    for (std::size_t c = 0; c < own.size(); ++c)
      policy.chances[i][static_cast<std::size_t>(workers[i].from[c])] = own[c];
  }
  return policy;
}

}  // namespace

PullPolicy uniform_policy(const Topology& graph) {
  const auto n = static_cast<std::size_t>(graph.size());
  PullPolicy policy{.chances = std::vector<Row>(n, Row(n, 0.0)), .pull = 0.5 / largest_degree(graph)};
  for (const int i : graph.ranks()) {
    for (const int m : graph.in(i))
      policy.chances[static_cast<std::size_t>(i)][static_cast<std::size_t>(m)] =
          1.0 / static_cast<double>(graph.in(i).size());
  }
  return policy;
}

PullPolicy best_policy(const Topology& graph, const PullTimes& times) {
  std::vector<Choices> workers;
  for (const int i : graph.ranks()) workers.emplace_back(graph, times, i);
  PullPolicy best = uniform_policy(graph);
  double best_time = std::numeric_limits<double>::infinity();
  for (int r = 1; r <= kPulls; ++r) {
    const double pull = static_cast<double>(r) / kPulls / largest_degree(graph);
    double least = 0, most = std::numeric_limits<double>::infinity();  // paces that all workers can have
    for (const Choices& each : workers) {
      least = std::max(least, each.mean_time(pull, each.fastest()));
      most = std::min(most, each.mean_time(pull, each.slowest()));
    }
    most = std::max(least, most);
    for (int p = 0; p <= kPaces; ++p) {
      const double pace = least + (most - least) * p / kPaces;
      PullPolicy policy = policy_with(graph, workers, pull, pace);
      const double time = predicted(graph, policy, pace);
      if (time < best_time) best_time = time, best = std::move(policy);
    }
  }
  return best;
}

}  // namespace hopbench
