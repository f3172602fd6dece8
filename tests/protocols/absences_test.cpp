// Workers that are away for a while: what each kind of protocol does meanwhile, and with which state they go on. The
// sweep of invariants_test.cpp checks that every invariant holds, for any worker that is away at any time.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

Time moment(std::int64_t ms) { return Time{} + milliseconds(ms); }

Fault away(int rank, std::int64_t from_ms, std::int64_t for_ms) {
  return {.what = FaultKind::kLeave, .ranks = {rank}, .at = moment(from_ms), .lasts = milliseconds(for_ms)};
}

Cluster four(std::vector<Fault> faults, Iter iterations = 40) {
  Cluster cluster{.nodes = 4, .topology = "complete", .iterations = iterations, .faults = std::move(faults)};
  cluster.keep_events = true;
  return cluster;
}

/// The iteration that a worker entered first after a time.
Iter entered_after(const Cluster& cluster, int rank, Time when) {
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kEnter && event.rank == rank && event.time >= when) return event.iter;
  }
  return -1;
}

/// The last iteration that a worker had entered by a time.
Iter entered_by(const Cluster& cluster, int rank, Time when) {
  Iter last = -1;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kEnter && event.rank == rank && event.time <= when) last = event.iter;
  }
  return last;
}

std::vector<std::string> protocols_that(bool rejoin) {
  std::vector<std::string> names;
  for (const Protocol* protocol : protocols()) {
    if (goes_on_without(*protocol, KnobValues(protocol->knobs)) == rejoin) names.emplace_back(protocol->name);
  }
  return names;
}

TEST(Absences, AreWaitedForByAllOtherProtocolsAndChangeNoParameters) {
  const std::vector<std::string> names = protocols_that(false);
  ASSERT_GE(names.size(), 18u);
  int compared = 0;
  for (const std::string& name : names) {
    const Protocol& protocol = find_protocol(name);
    Cluster with = four({away(2, 55, 300), away(0, 150, 200)}), without = four({});
    with.run(name);
    without.run(name);
    EXPECT_EQ(with.broken(), "") << name;
    EXPECT_GT(with.end, without.end) << name;
    for (int w = 0; w < 4; ++w) EXPECT_GT(with.records[std::size_t(w)].iters, 0) << name;
    const bool takes_newer_weights = name == "r2sp";  // than those of its own turn
    if (takes_newer_weights || !same_everywhere(protocol, KnobValues(protocol.knobs))) continue;
    ++compared;
    EXPECT_EQ(with.params_hash(), without.params_hash()) << name;
  }
  EXPECT_GE(compared, 8);
}

TEST(Absences, StopALockStepForAsLongAsTheyLast) {
  Cluster with = four({away(2, 55, 300)}), without = four({});
  for (const char* name : {"allreduce", "ps_bsp", "dpsgd"}) {
    with.run(name);
    without.run(name);
    const Duration later = with.end - without.end;
    EXPECT_GE(later, milliseconds(290)) << name;
    EXPECT_LE(later, milliseconds(310)) << name;
  }
}

// All have the same parameters, so what comes back with those of another worker is what it was; the transfer is real.
TEST(Absences, AllReduceTakesTheParametersOfTheLowestWorker) {
  Cluster cluster = four({away(2, 55, 300)});
  cluster.run("allreduce", {{"algorithm", "ring"}});
  const auto is_state = [](const Event& event) {
    return event.what == EventKind::kTake && event.kind == static_cast<std::uint16_t>(kState);
  };
  const auto taken = std::find_if(cluster.events.begin(), cluster.events.end(), is_state);
  ASSERT_NE(taken, cluster.events.end());
  EXPECT_EQ(taken->rank, 2);
  EXPECT_EQ(taken->peer, 1) << "the lowest that it is connected with in a ring";
  EXPECT_EQ(std::count_if(cluster.events.begin(), cluster.events.end(), is_state), 1);
}

TEST(Absences, DoNotHoldUpThoseThatGoOn) {
  const std::vector<std::string> names = protocols_that(true);
  EXPECT_EQ(names.size(), 18u);
  for (const std::string& name : names) {
    Cluster cluster = four({away(2, 55, 250)});
    cluster.run(name);
    EXPECT_EQ(cluster.broken(), "") << name;
    EXPECT_EQ(cluster.checker("absence")->looked(), 1) << name;
    EXPECT_GE(entered_by(cluster, 0, moment(300)) - entered_by(cluster, 0, moment(65)), 15) << name;
  }
}

// The bound of SSP is of the workers that are there, and one that returns does not hold them back to where it was.
TEST(Absences, OfSspGoOnWithTheClockOfTheSlowest) {
  for (const char* name : {"ps_ssp", "dssp"}) {
    Cluster cluster = four({away(2, 55, 250)});
    cluster.slow = {{3, 1.5}};
    cluster.run(name);
    EXPECT_EQ(cluster.broken(), "") << name;
    const Iter slowest = entered_by(cluster, 3, moment(305)), first = entered_after(cluster, 2, moment(305));
    EXPECT_GE(first, slowest) << name;
    EXPECT_LE(first, slowest + 2) << name;
    EXPECT_EQ(cluster.records[2].iters_jumped, first - entered_by(cluster, 2, moment(60)) - 1) << name;
    EXPECT_EQ(cluster.records[2].iters + cluster.records[2].iters_jumped, 40) << name;
  }
}

TEST(Absences, BeforeTheFirstIterationAreJumpedToo) {
  Cluster cluster = four({away(2, 0, 200)});
  cluster.run("ps_ssp");
  const Iter first = entered_after(cluster, 2, moment(200));
  EXPECT_GE(first, 15);
  EXPECT_EQ(cluster.records[2].iters_jumped, first);
}

// Worker 0 returns while nobody is there, far behind. Those that return after it wait until it is within the bound.
TEST(Absences, OfSspWaitForOneThatReturnedFarBehind) {
  for (const auto& [name, knobs] : std::vector<std::pair<std::string, Knobs>>{
           {"ps_ssp", {{"staleness", 1}}}, {"dssp", {{"s_l", 0}, {"r_max", 1}, {"mode", "capped"}}}}) {
    Cluster cluster{.nodes = 3,
                    .topology = "complete",
                    .iterations = 40,
                    .faults = {away(0, 15, 200), away(1, 155, 100), away(2, 155, 120)},
                    .keep_events = true};
    cluster.run(name, knobs);
    EXPECT_EQ(cluster.broken(), "") << name;
    EXPECT_LE(cluster.lead_max(), 2) << name;
    EXPECT_LT(entered_by(cluster, 0, moment(250)), 8) << name << ": it went on from where it was";
    for (int w = 0; w < 3; ++w) EXPECT_EQ(cluster.records[std::size_t(w)].iters_jumped, 0) << name;
  }
}

TEST(Absences, OfAspAreCaughtUpWithAlone) {
  Cluster cluster = four({away(2, 55, 2000)});
  cluster.run("ps_asp");
  EXPECT_EQ(cluster.broken(), "");
  EXPECT_EQ(cluster.records[2].iters, 40) << "each worker has its own iterations to do";
  EXPECT_EQ(cluster.records[2].iters_jumped, 0);
  EXPECT_GT(cluster.records[2].finished, moment(2055));
}

TEST(Absences, AreInTheRecord) {
  Cluster cluster = four({away(2, 55, 250)});
  cluster.run("ps_asp");
  const RankRecord& record = cluster.records[2];
  EXPECT_EQ(record.lost, "");
  EXPECT_GE(record.waits.at("its return"), milliseconds(250));
  EXPECT_LE(record.waits.at("its return"), milliseconds(251));
  int absences = 0;
  for (std::size_t i = 1; i < record.marks.size(); ++i)
    absences += is_absence(record.marks[i - 1], record.marks[i]) ? 1 : 0;
  EXPECT_EQ(absences, 1);
  std::vector<std::string> faults;
  for (const Event& event : cluster.events) {
    if (event.what == EventKind::kFault) faults.emplace_back(event.text);
  }
  EXPECT_EQ(faults, (std::vector<std::string>{"away", "return"}));
}

// While a worker is away, no other worker averages its model with that worker's.
TEST(Absences, OfAdPsgdMissAllExchanges) {
  Cluster cluster = four({away(1, 55, 250), away(2, 100, 250)}, 60);
  cluster.run("adpsgd");
  EXPECT_EQ(cluster.broken(), "");
  for (const Event& event : cluster.events) {
    const bool of_one = event.rank == 1 && event.time > moment(75) && event.time < moment(305);
    if (of_one) {
      EXPECT_NE(event.what, EventKind::kReduced) << to_seconds(event.time);
    }
  }
}

TEST(Absences, BeforeTheFirstIterationAndOfAll) {
  for (const Protocol* protocol : protocols()) {
    Cluster cluster = four({away(0, 0, 50), away(1, 0, 60), away(2, 0, 70), away(3, 0, 80)}, 10);
    cluster.run(std::string(protocol->name));
    EXPECT_EQ(cluster.broken(), "") << protocol->name;
    EXPECT_GE(cluster.end, moment(80)) << protocol->name;
  }
}

TEST(Absences, ARestartStopsAllWorkers) {
  Cluster cluster =
      four({{.what = FaultKind::kRestart, .ranks = {0, 1, 2, 3}, .at = moment(155), .lasts = milliseconds(300)}});
  Cluster without = four({});
  for (const char* name : {"allreduce", "dpsgd"}) {
    cluster.run(name);
    without.run(name);
    EXPECT_EQ(cluster.params_hash(), without.params_hash()) << name;
    EXPECT_GE(cluster.end - without.end, milliseconds(285)) << name << ": the gradient under way is completed";
    EXPECT_LE(cluster.end - without.end, milliseconds(301)) << name;
  }
}

}  // namespace
}  // namespace hopbench
