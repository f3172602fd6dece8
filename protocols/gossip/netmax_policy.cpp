#include "protocols/gossip/netmax_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hopbench::gossip {
namespace netmax_policy {

constexpr int kPulls = 10, kPaces = 10;         // candidates that are tried
constexpr int kSweeps = 3, kSweptWorkers = 32;  // of small changes to the best of them, which cost O(edges n^3)
constexpr double kGain = 1.02;                  // of another policy, if it is taken
constexpr double kSame = 1e-9;  // relative: rates and times that differ by less are equal, whatever their last bits
constexpr double kUnits = 1e9;  // in 1: numbers of a policy are whole multiples

using Row = std::vector<double>;

double rounded(double number) { return std::round(number * kUnits) / kUnits; }
double sum(const Row& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

/// Returns `share` of the largest pull with which each neighbour can have twice the pull as its chance.
double pull_of(const Topology& graph, double share) {
  std::size_t degree = 1;
  for (const int r : graph.ranks()) degree = std::max(degree, graph.in(r).size());
  return std::floor(share * 0.5 / static_cast<double>(degree) * kUnits) / kUnits;
}

/// Returns shares of 1 that are as even as a mean of `wanted` allows. They are equal for the k smallest numbers or for
/// the k largest, or between those for k and for k + 1.
Row even_shares(const Row& ascending, double wanted) {
  const std::size_t count = ascending.size();
  Row shares(count, 1 / static_cast<double>(count));
  const bool small = wanted < sum(ascending) / static_cast<double>(count);
  const auto place = [&](std::size_t k) { return small ? k : count - 1 - k; };
  double all = ascending[place(0)], mean = all;
  for (std::size_t k = 1; k < count; ++k) {
    all += ascending[place(k)];
    const double size = static_cast<double>(k), next = all / (size + 1);
    if ((small ? next > wanted : next < wanted) && std::abs(next - mean) > kSame * mean) {
      const double part = std::clamp((wanted - mean) / (next - mean), 0.0, 1.0) / (size + 1);
      for (std::size_t c = 0; c < count; ++c) shares[place(c)] = c < k ? (1 - part) / size : c == k ? part : 0;
      return shares;
    }
    mean = next;
  }
  return shares;
}

/// The choices of one worker: to pull from a neighbour, or from nobody, with a time for each.
struct Choices {
  std::vector<int> from;  // neighbours, the fastest first, equal ones by rank; the worker itself last
  Row times;              // of the neighbours
  double alone;

  Choices(const Topology& graph, const PullTimes& known, int worker)
      : from(graph.in(worker)), alone(known.alone[static_cast<std::size_t>(worker)]) {
    const Row& pulling = known.pulling[static_cast<std::size_t>(worker)];
    const auto time = [&](int m) { return pulling[static_cast<std::size_t>(m)]; };
    std::sort(from.begin(), from.end(), [&](int a, int b) { return std::pair(time(a), a) < std::pair(time(b), b); });
    for (const int m : from) times.push_back(time(m));
    from.push_back(worker);
  }

  double spent(double least) const { return least * sum(times); }
  double left(double least) const { return std::max(0.0, 1 - least * static_cast<double>(times.size())); }
  double shortest(double least) const { return spent(least) + left(least) * std::min(alone, times.front()); }
  double longest(double least) const { return spent(least) + left(least) * times.back(); }

  /// Writes chances of at least `least` for each neighbour, with a mean time of `pace` or as near as can be. The worker
  /// pulls from nobody only if the fastest neighbour would take too long.
  void keep_pace(double least, double pace, Row& chances) const {
    const double rest = left(least), fastest = times.front();
    const double wanted = rest > 0 ? (pace - spent(least)) / rest : fastest;
    const double idle = alone < fastest ? std::clamp((fastest - wanted) / (fastest - alone), 0.0, 1.0) : 0;
    const Row shares = even_shares(times, wanted);
    for (std::size_t c = 0; c < shares.size(); ++c)
      chances[static_cast<std::size_t>(from[c])] = rounded(least + rest * (1 - idle) * shares[c]);
    chances[static_cast<std::size_t>(from.back())] = rounded(rest * idle);
  }

  /// Returns the policy in which this worker gives one choice half of what all others have above the least chance.
  PullPolicy more_from(int to, PullPolicy policy) const {
    Row& row = policy.chances[static_cast<std::size_t>(from.back())];
    for (const int m : from) {
      if (m == to) continue;
      double& chance = row[static_cast<std::size_t>(m)];
      const double moved = rounded((chance - (m == from.back() ? 0 : 2 * policy.pull)) / 2);
      chance = rounded(chance - moved);
      row[static_cast<std::size_t>(to)] = rounded(row[static_cast<std::size_t>(to)] + moved);
    }
    return policy;
  }
};

PullPolicy no_pulls(const Topology& graph, double pull) {
  const auto n = static_cast<std::size_t>(graph.size());
  return {.chances = std::vector<Row>(n, Row(n, 0.0)), .pull = pull};
}

}  // namespace netmax_policy

PullPolicy uniform_policy(const Topology& graph) {
  using namespace netmax_policy;
  PullPolicy policy = no_pulls(graph, pull_of(graph, 1));
  for (const int i : graph.ranks()) {
    const double chance = rounded(1 / static_cast<double>(graph.in(i).size()));
    for (const int m : graph.in(i)) policy.chances[std::size_t(i)][std::size_t(m)] = chance;
  }
  return policy;
}

PullPolicy best_policy(const Topology& graph, const PullTimes& times, const PullPolicy& now) {
  using namespace netmax_policy;
  if (graph.size() < 2) return now;
  std::vector<Choices> workers;
  for (const int i : graph.ranks()) workers.emplace_back(graph, times, i);
  PullPolicy found = uniform_policy(graph);
  double found_rate = consensus_rate(graph, times, found);
  const auto consider = [&](PullPolicy policy) {
    const double rate = consensus_rate(graph, times, policy);
    if (rate > found_rate * (1 + kSame)) found = std::move(policy), found_rate = rate;
  };
  consider(now);
  const auto [known, known_rate] = std::pair(found, found_rate);
  for (int r = 1; r <= kPulls; ++r) {
    const double pull = pull_of(graph, static_cast<double>(r) / kPulls), least = 2 * pull;
    double low = 0, high = std::numeric_limits<double>::infinity();  // paces that all workers can have
    for (const Choices& each : workers) {
      low = std::max(low, each.shortest(least));
      high = std::min(high, each.longest(least));
    }
    for (int p = 0; p <= kPaces; ++p) {
      PullPolicy policy = no_pulls(graph, pull);
      for (std::size_t i = 0; i < workers.size(); ++i)
        workers[i].keep_pace(least, low + (high - low) * p / kPaces, policy.chances[i]);
      consider(std::move(policy));
    }
  }
  for (int sweep = 0; sweep < (graph.size() <= kSweptWorkers ? kSweeps : 0); ++sweep) {
    for (const Choices& each : workers) {
      for (const int to : each.from) consider(each.more_from(to, found));
    }
  }
  return found_rate > kGain * known_rate ? found : known;
}

}  // namespace hopbench::gossip
