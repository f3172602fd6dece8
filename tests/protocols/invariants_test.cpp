// The sweep: many small clusters, each drawn from its seed (ranks, topology, scenario, knobs, network, order of
// events), with every checker that applies attached.
//
//   HB_SEEDS=2000 tests/invariants_test    a long one
//   HB_SEED=17 tests/invariants_test       one again
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "results/arithmetic/steady.h"
#include "tests/cluster.h"
#include "tests/protocols/draw_knobs.h"

namespace hopbench {
namespace {

struct Draw {
  Cluster cluster{};
  Knobs knobs{};
};

// A directed cycle and some chords: strongly connected.
std::vector<Edge> directed_edges(Random& random, int n) {
  std::vector<Edge> edges;
  for (int i = 0; i < n; ++i) edges.emplace_back(i, (i + 1) % n);
  for (int i = 0; i < n; ++i) {
    const int to = int(random.below(std::uint64_t(n)));
    if (to != i && to != (i + 1) % n) edges.emplace_back(i, to);
  }
  return edges;
}

void draw_world(Random& random, Cluster& cluster) {
  cluster.nodes = 4 + int(random.below(13));
  const int n = cluster.nodes;
  std::vector<std::string> shapes = {"ring", "complete", "star", "directed"};
  if (n % 2 == 0) shapes.push_back("ring_based");
  if (n % 4 == 0 && n >= 8) shapes.push_back("double_ring");
  cluster.topology = shapes[random.below(shapes.size())];
  if (cluster.topology == "directed") cluster.edges = directed_edges(random, n);
  cluster.iterations = 5 + Iter(random.below(20));
  const auto someone = [&] { return int(random.below(std::uint64_t(n))); };
  if (random.chance(0.5)) cluster.slow[someone()] = 1.0 + 7.0 * random.uniform();
  if (random.chance(0.2)) cluster.slow[someone()] = 30.0;  // as good as standing still
  if (random.chance(0.5)) {
    cluster.compute.push_back({.what = SlowdownKind::kBernoulli, .factor = 6.0, .probability = 1.0 / n});
  }
  if (random.chance(0.3)) cluster.compute.push_back({.what = SlowdownKind::kExponential, .scale = 0.5});
  cluster.network.latency = std::chrono::microseconds(1 + random.below(20000));
  cluster.network.bandwidth = random.chance(0.3) ? 2e4 : 125e6;
  cluster.network.jitter = random.chance(0.5) ? random.uniform() : 0.0;
  if (random.chance(0.3)) {
    cluster.network.overhead = std::chrono::microseconds(random.below(300));
    cluster.network.processors = int(random.below(3));
  }
  cluster.instant_network = random.chance(0.1);
  cluster.costs.vector_bytes_per_s = random.chance(0.5) ? 1e5 : 0.0;
  cluster.shuffle = random.chance(0.7) ? 1 + random.below(1'000'000) : 0;
}

/// NICs and pairs that are thin, or far away, for a time.
void draw_changing_links(Random& random, Cluster& cluster) {
  while (random.chance(0.5)) {
    NetworkSpec::Link link;
    link.a = int(random.below(std::uint64_t(cluster.nodes)));
    if (random.chance(0.3)) link.b = (link.a + 1) % cluster.nodes;
    link.bandwidth = random.chance(0.7) ? 1e3 + random.uniform() * 1e5 : 0;
    if (random.chance(0.5)) link.latency = std::chrono::microseconds(random.below(50'000));
    link.from = Time(std::chrono::milliseconds(random.below(300)));
    link.until = random.chance(0.7) ? link.from + std::chrono::milliseconds(1 + random.below(300)) : kNever;
    link.one_way = random.chance(0.3);
    cluster.network.links.push_back(link);
  }
}

/// A byte takes processor time too: of two messages the larger one is handled for longer.
void draw_overhead_rate(Random& random, Cluster& cluster) {
  if (!random.chance(0.3)) return;
  cluster.network.overhead_rate = 1e3 + random.uniform() * 1e5;
  cluster.network.processors = int(random.below(4));
}

/// The knobs that a draw stands for.
KnobValues values_of(const std::string& protocol, const Draw& drawn) {
  const Protocol& found = find_protocol(protocol);
  KnobValues values(found.knobs);
  for (const auto& [name, value] : drawn.knobs) values.set(found.knobs, name, value);
  return values;
}

Draw draw(const std::string& protocol, std::uint64_t seed) {
  Random random({.seed = seed, .purpose = Purpose::kTest});
  Draw drawn;
  drawn.cluster.seed = seed;
  drawn.cluster.workload.size = 4;
  drawn.cluster.workload.batch = 2;
  draw_world(random, drawn.cluster);
  Random of_links({.seed = seed, .purpose = Purpose::kTest, .rank = 1});
  draw_changing_links(of_links, drawn.cluster);
  draw_overhead_rate(of_links, drawn.cluster);
  drawn.knobs = draw_knobs(protocol, random, drawn.cluster);
  const Protocol& found = find_protocol(protocol);
  const KnobValues values = values_of(protocol, drawn);
  if (found.refuse != nullptr && !found.refuse({values, drawn.cluster.graph(), drawn.cluster.nodes}).empty()) {
    drawn.cluster.edges.clear();
    drawn.cluster.topology = random.chance(0.5) ? "ring" : "complete";
  }
  if (!in_lockstep(found, values) && random.chance(0.4))
    drawn.cluster.credits = (10 + std::int64_t(random.below(11))) * drawn.cluster.nodes;
  return drawn;
}

std::string text(const Draw& drawn) {
  std::string all = std::to_string(drawn.cluster.nodes) + " ranks, " + drawn.cluster.topology;
  for (const auto& [name, value] : drawn.knobs) all += ", " + name + " = " + to_string(value);
  return all;
}

std::uint64_t variable(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Protocol* protocol : protocols()) all.emplace_back(protocol->name);
  return all;
}

// Returns the protocols that are not in lock step, which credits stop.
std::vector<std::string> free_names() {
  std::vector<std::string> all = names();
  std::erase_if(all, [](const std::string& name) {
    const Protocol& protocol = find_protocol(name);
    return in_lockstep(protocol, KnobValues(protocol.knobs));
  });
  return all;
}

/// One or two workers die, at the very time of an event of theirs or a moment later: before their first iteration, in
/// the middle of an exchange, near the end. Sometimes a third one ends early, in order.
void draw_losses(const std::string& protocol, Random& random, Draw& drawn) {
  Cluster whole = drawn.cluster;
  whole.keep_events = true;
  whole.run(protocol, drawn.knobs);
  const auto someone = [&] { return int(random.below(std::uint64_t(whole.nodes))); };
  for (std::uint64_t n = random.below(2); n < 2; ++n) {
    const int victim = someone();
    std::vector<Time> times = {Time{}};
    for (const Event& event : whole.events) {
      if (event.rank == victim) times.push_back(event.time);
    }
    const auto later = std::chrono::nanoseconds(random.chance(0.5) ? random.below(2) : random.below(20'000'000));
    drawn.cluster.killed[victim] = times[random.below(times.size())] + later;
  }
  const bool bears = continues(find_protocol(protocol), values_of(protocol, drawn));
  if (bears && random.chance(0.3))
    drawn.cluster.leaves[someone()] = Iter(random.below(std::uint64_t(whole.iterations)));
}

/// Hop may stop: where a worker that was not killed has lost more in-neighbours than its backups bear.
bool hop_may_stop(const Draw& drawn, const KnobValues& values) {
  const Topology graph = drawn.cluster.graph();
  const auto killed = [&](int r) { return drawn.cluster.killed.count(r) != 0; };
  for (int r = 0; r < graph.size(); ++r) {
    if (std::count_if(graph.in(r).begin(), graph.in(r).end(), killed) > values.integer("backup")) return true;
  }
  return false;
}

/// Returns the mistakes of a run that loses workers; empty: none.
std::string trouble_of(const std::string& protocol, Draw& drawn) {
  const KnobValues values = values_of(protocol, drawn);
  try {
    drawn.cluster.run(protocol, drawn.knobs);
    return continues(find_protocol(protocol), values) ? drawn.cluster.broken() : "";
  } catch (const Error& error) {
    const std::string what = error.what();
    const auto says = [&](const char* text) { return what.find(text) != std::string::npos; };
    if (protocol == "hop" && hop_may_stop(drawn, values) && says("in-neighbours")) return "";
    return !continues(find_protocol(protocol), values) && says(" died while ") ? "" : what;
  }
}

class Invariants : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registered, Invariants, testing::ValuesIn(names()),
                         [](const auto& param) { return param.param; });

TEST_P(Invariants, HoldInEveryDrawnCluster) {
  const std::uint64_t only = variable("HB_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : variable("HB_SEEDS", 200);
  std::map<std::string, std::int64_t> looked;
  std::int64_t jumped = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Draw drawn = draw(GetParam(), seed);
    std::string trouble;
    try {
      drawn.cluster.run(GetParam(), drawn.knobs);
      trouble = drawn.cluster.broken();
    } catch (const Error& error) {
      trouble = error.what();
    }
    if (trouble.empty()) {
      jumped += drawn.cluster.total(&RankRecord::iters_jumped);
      for (const auto& checker : drawn.cluster.checks->list()) looked[checker->name()] += checker->looked();
      continue;
    }
    FAIL() << GetParam() << " with seed " << seed << " (" << text(drawn) << "):\n"
           << trouble << "\nrepeat: HB_SEED=" << seed
           << " tests/invariants_test --gtest_filter=Registered/Invariants.HoldInEveryDrawnCluster/" << GetParam();
  }
  if (last - first < 100) return;
  // A sweep that never comes near an invariant would show nothing.
  looked.erase("weights_sum");  // not every protocol averages
  for (const auto& [checker, times] : looked) EXPECT_GT(times, 100) << checker;
  if (GetParam() == "hop") {
    EXPECT_EQ(looked.size(), 15u);
    EXPECT_GT(jumped, 100);
  }
}

// Workers die and leave. Protocols that continue do, and every checker holds over the survivors; the others say who
// died.
TEST_P(Invariants, HoldOverTheSurvivors) {
  const std::uint64_t only = variable("HB_SEED", 0);
  const Protocol& protocol = find_protocol(GetParam());
  const std::uint64_t enough = protocol.on_loss != nullptr ? 100 : 20;
  const std::uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : variable("HB_SEEDS", enough);
  std::int64_t died = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Draw drawn = draw(GetParam(), seed);
    Random random({.seed = seed, .purpose = Purpose::kTest, .rank = 2});
    draw_losses(GetParam(), random, drawn);
    const std::string trouble = trouble_of(GetParam(), drawn);
    died += std::int64_t(drawn.cluster.dead.size());
    std::string lost;
    for (const auto& [rank, when] : drawn.cluster.killed)
      lost += ", " + std::to_string(rank) + " dies at " + std::to_string(to_seconds(when));
    for (const auto& [rank, iterations] : drawn.cluster.leaves)
      lost += ", " + std::to_string(rank) + " leaves after " + std::to_string(iterations);
    ASSERT_EQ(trouble, "") << GetParam() << " with seed " << seed << " (" << text(drawn) << lost
                           << ")\nrepeat: HB_SEED=" << seed
                           << " tests/invariants_test --gtest_filter=Registered/Invariants.HoldOverTheSurvivors/"
                           << GetParam();
  }
  if (last - first >= 10) {
    EXPECT_GT(died, std::int64_t(last - first) / 2);
  }
}

/// One to three absences, each at the very time of an event of that worker, or a moment later, and of any length.
void draw_absences(const std::string& protocol, Random& random, Draw& drawn) {
  Cluster whole = drawn.cluster;
  whole.keep_events = true;
  whole.run(protocol, drawn.knobs);
  for (std::uint64_t n = random.below(3); n < 3; ++n) {
    const int someone = int(random.below(std::uint64_t(whole.nodes)));
    std::vector<Time> times = {Time{}};
    for (const Event& event : whole.events) {
      if (event.rank == someone) times.push_back(event.time);
    }
    Fault fault{.what = FaultKind::kLeave, .ranks = {someone}};
    fault.at = times[random.below(times.size())] + std::chrono::nanoseconds(random.below(2));
    fault.lasts = std::chrono::nanoseconds(1 + random.below(random.chance(0.5) ? 1'000'000 : 400'000'000));
    drawn.cluster.faults.push_back(fault);
  }
}

/// Returns where the gaps of the results exceed the protocol's bound; empty: nowhere.
std::string gaps_of(const std::string& protocol, const Draw& drawn) {
  const Protocol& found = find_protocol(protocol);
  const KnobValues values = values_of(protocol, drawn);
  if (found.gap_bound == nullptr) return "";
  const Cluster& cluster = drawn.cluster;
  const auto bound = found.gap_bound({values, cluster.graph(), cluster.nodes, {}, 0, cluster.workload.batch});
  TrialRecord record;
  record.ranks = cluster.records;
  fill_gaps(record, cluster.nodes);
  for (const RankRecord& rank : record.ranks) {
    if (bound && rank.gap_max > *bound)
      return "rank " + std::to_string(rank.rank) + " has the gap " + std::to_string(rank.gap_max) + ", the bound is " +
             std::to_string(*bound);
  }
  return "";
}

// Workers are away for a while. All end, in every protocol, every checker holds, and so do the bounds of the results.
TEST_P(Invariants, HoldWithAbsences) {
  const std::uint64_t only = variable("HB_SEED", 0);
  const std::uint64_t enough = find_protocol(GetParam()).rejoins != nullptr ? 150 : 20;
  const std::uint64_t first = only != 0 ? only : 1, last = only != 0 ? only : variable("HB_SEEDS", enough);
  std::int64_t returns = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Draw drawn = draw(GetParam(), seed);
    Random random({.seed = seed, .purpose = Purpose::kTest, .rank = 3});
    drawn.cluster.network.latency = std::chrono::microseconds(100 + random.below(9900));
    draw_absences(GetParam(), random, drawn);
    std::string trouble, away;
    try {
      drawn.cluster.run(GetParam(), drawn.knobs);
      trouble = drawn.cluster.broken() + gaps_of(GetParam(), drawn);
    } catch (const Error& error) {
      trouble = error.what();
    }
    for (const Fault& fault : drawn.cluster.faults)
      away += ", " + std::to_string(fault.ranks[0]) + " is away at " + std::to_string(to_seconds(fault.at)) + " for " +
              std::to_string(to_seconds(fault.lasts));
    ASSERT_EQ(trouble, "") << GetParam() << " with seed " << seed << " (" << text(drawn) << away
                           << ")\nrepeat: HB_SEED=" << seed
                           << " tests/invariants_test --gtest_filter=Registered/Invariants.HoldWithAbsences/"
                           << GetParam();
    returns += drawn.cluster.checker("absence")->looked();
  }
  if (last - first >= 10) {
    EXPECT_GT(returns, std::int64_t(last - first) / 2);
  }
}

// Some workers get no credit: they enter no iteration, and nobody waits for them.
class FreeInvariants : public Invariants {};
INSTANTIATE_TEST_SUITE_P(Registered, FreeInvariants, testing::ValuesIn(free_names()),
                         [](const auto& param) { return param.param; });

TEST_P(FreeInvariants, HoldWithFewerCreditsThanWorkers) {
  for (const std::int64_t credits : {1, 3, 5}) {
    Cluster cluster{.nodes = 6, .slow = {{1, 4.0}}, .topology = "ring"};
    cluster.credits = credits;
    cluster.run(GetParam());
    EXPECT_EQ(cluster.broken(), "") << credits << " credits";
    EXPECT_GE(cluster.total(&RankRecord::gradients), 1) << credits << " credits";
  }
}

}  // namespace
}  // namespace hopbench
