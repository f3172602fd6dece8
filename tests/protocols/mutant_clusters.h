// The clusters in which mutants run (tests/protocols/mutants_test.cpp): each shows some planted bugs.
#pragma once

#include <chrono>
#include <utility>

#include "tests/cluster.h"

namespace hopbench {

// One slow rank and some luck: every rule is put to the test.
inline Cluster uneven() {
  Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .topology = "ring", .iterations = 30};
  cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 4.0, .probability = 0.2});
  cluster.costs.vector_bytes_per_s = 1e6;
  return cluster;
}

inline Cluster last_is_slow() { return {.nodes = 8, .slow = {{7, 6.0}}, .topology = "ring", .iterations = 30}; }
inline Cluster with_momentum() {
  Cluster cluster = uneven();
  cluster.optimizer.momentum = 0.9f;
  cluster.keep_events = true;
  return cluster;
}

// The slow rank leaves first, far behind the others.
inline Cluster on_credits() {
  Cluster cluster = uneven();
  cluster.credits = 120;
  return cluster;
}

inline Cluster on_two_hosts() {
  Cluster cluster = uneven();
  cluster.network.host_of = {0, 0, 0, 0, 1, 1, 1, 1, 2};  // and a server
  return cluster;
}

// Enough divisions to see who is never drawn.
inline Cluster long_on_two_hosts() {
  Cluster cluster = on_two_hosts();
  cluster.iterations = 300;
  return cluster;
}

// Messages overtake each other: of the same instant a decision may come before the push that it is about.
inline Cluster with_jitter() {
  Cluster cluster = uneven();
  cluster.network.jitter = 3.0;
  return cluster;
}

// Batches that can be divided.
inline Cluster in_samples() {
  Cluster cluster = uneven();
  cluster.workload.batch = 20;
  return cluster;
}

// Another rank becomes slow on the way.
inline Cluster in_samples_with_drift() {
  Cluster cluster = in_samples();
  cluster.iterations = 300;
  cluster.compute = {{.ranks = {5}, .factor = 8.0, .from = Time(std::chrono::milliseconds(1500))}};
  return cluster;
}

inline Cluster on_a_star() {
  Cluster cluster = uneven();
  cluster.topology = "star";
  return cluster;
}

// One is so slow that it pays not to wait for it.
inline Cluster with_a_straggler() { return {.nodes = 6, .slow = {{2, 8.0}}, .topology = "ring", .iterations = 40}; }
inline Cluster kept_with_a_straggler() {
  Cluster cluster = with_a_straggler();
  cluster.keep_events = true;
  return cluster;
}

inline Cluster kept() {
  Cluster cluster = uneven();
  cluster.keep_events = true;
  return cluster;
}

// W has no eigenvalue near -1/3.
inline Cluster on_a_complete_graph() {
  Cluster cluster = kept();
  cluster.topology = "complete";
  return cluster;
}

inline Cluster for_long() {
  Cluster cluster = uneven();
  cluster.iterations = 300;
  return cluster;
}

inline Cluster kept_in_samples() {
  Cluster cluster = in_samples();
  cluster.keep_events = true;
  return cluster;
}

inline Cluster kept_on_hosts() {
  Cluster cluster = kept();
  cluster.network.host_of = {0, 0, 0, 1, 1, 1, 2, 2, 0, 1, 2, 0};  // and servers
  return cluster;
}

inline Cluster kept_on_far_hosts() {
  Cluster cluster = kept_on_hosts();
  cluster.network.latency = std::chrono::milliseconds(40);
  return cluster;
}

// Half of them, the slow one too, and one while it waits for a group.
inline Cluster with_deaths() {
  Cluster cluster = uneven();
  for (const auto& [rank, when] : {std::pair{1, 97}, {2, 116}, {3, 166}, {5, 186}})
    cluster.killed[rank] = Time(std::chrono::milliseconds(when));
  return cluster;
}

inline Cluster with_deaths_on_two_hosts() {
  Cluster cluster = with_deaths();
  cluster.network.host_of = on_two_hosts().network.host_of;
  return cluster;
}

// An average takes so long that a request and the death of who made it are there when it is over.
inline Cluster with_slow_averages() {
  Cluster cluster = uneven();
  cluster.costs.vector_bytes_per_s = 2e3;
  cluster.killed[4] = Time(std::chrono::milliseconds(400));
  return cluster;
}

// Two workers are away, one of them twice.
inline Cluster with_absences() {
  Cluster cluster{.nodes = 8, .topology = "ring", .iterations = 80};
  for (const auto& [rank, ms] : {std::pair{1, 90}, {2, 120}, {1, 400}}) {
    cluster.faults.push_back({.what = FaultKind::kLeave,
                              .ranks = {rank},
                              .at = Time(std::chrono::milliseconds(ms)),
                              .lasts = std::chrono::milliseconds(200)});
  }
  return cluster;
}

}  // namespace hopbench
