// Clusters in which Hop's decisions come up, and what their event logs are asked.
#pragma once

#include <algorithm>

#include "tests/cluster.h"

namespace hopbench::hop_events {

inline const Knobs kBackup = {{"backup", 1}, {"max_ig", 2}};
inline const Knobs kJumps = {{"backup", 1}, {"max_ig", 5}, {"max_jump", 3}};
inline const Knobs kStaleJumps = {{"staleness", 3}, {"max_ig", 5}, {"max_jump", 3}};

/// One slow rank, some luck, messages that take a while; everything is recorded.
inline Cluster uneven(const std::string& topology = "ring_based") {
  Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .topology = topology, .iterations = 40};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.1});
  cluster.network.latency = std::chrono::milliseconds(3);
  cluster.network.jitter = 1.0;
  cluster.keep_events = true;
  return cluster;
}

/// The same on a directed graph in which everybody sends to two and hears of two others, with two slow ranks.
inline Cluster directed() {
  Cluster cluster = uneven();
  cluster.slow = {{3, 4.0}, {4, 5.0}};
  for (int i = 0; i < 8; ++i) {
    cluster.edges.emplace_back(i, (i + 1) % 8);
    cluster.edges.emplace_back(i, (i + 3) % 8);
  }
  return cluster;
}

inline bool of(const Event& event, EventKind what, Kind kind = Kind{}) {
  return event.what == what && event.kind == static_cast<std::uint16_t>(kind);
}

/// Events until the first rank finished: from then on who has left owes nothing.
inline std::vector<Event> before_the_end(const Cluster& cluster) {
  const auto end = std::find_if(cluster.events.begin(), cluster.events.end(),
                                [](const Event& e) { return e.what == EventKind::kFinished; });
  return {cluster.events.begin(), end};
}

inline std::vector<Event> of_rank(const std::vector<Event>& events, int rank) {
  std::vector<Event> own;
  std::copy_if(events.begin(), events.end(), std::back_inserter(own), [&](const Event& e) { return e.rank == rank; });
  return own;
}

inline std::int64_t count(const std::vector<Event>& events, EventKind what, Kind kind = Kind{}) {
  return std::count_if(events.begin(), events.end(), [&](const Event& e) { return of(e, what, kind); });
}

}  // namespace hopbench::hop_events
