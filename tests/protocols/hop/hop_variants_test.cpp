// Hop's variants against theory and against the replay of their event logs; and what might go wrong with them.
#include <gtest/gtest.h>

#include "tests/protocols/hop/hop_events.h"
#include "tests/replay/replay.h"

namespace hopbench {
namespace {

using namespace hop_events;  // NOLINT: the language of these tests

// --- Iteration times with one slow worker, in units of a fast one's, on a free network ------------------------------

/// Returns the iteration times of the fastest and the slowest worker, over the later of their iterations.
std::pair<double, double> iteration_times(const Knobs& knobs, double slowdown) {
  Cluster cluster{.nodes = 16, .slow = {{5, slowdown}}, .iterations = 240, .instant_network = true};
  cluster.workload.size = 2;
  cluster.run("hop", knobs);
  EXPECT_EQ(cluster.broken(), "");
  std::vector<double> times;
  for (const RankRecord& record : cluster.records) {
    const auto after = [&](Iter k) {  // the end of the first iteration from k on that was run
      const auto ran = [&](const IterationMark& mark) { return mark.iter >= k && mark.samples > 0; };
      return *std::find_if(record.marks.begin(), record.marks.end(), ran);
    };
    const IterationMark first = after(80), last = after(180);
    times.push_back(to_seconds(last.end - first.end) / 0.010 / double(last.iter - first.iter));
  }
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return {*least, *most};
}

void expect_iteration_time(const Knobs& knobs, double slowdown, double theory) {
  const auto [fastest, slowest] = iteration_times(knobs, slowdown);
  EXPECT_NEAR(fastest, theory, 0.05 * theory);
  EXPECT_NEAR(slowest, theory, 0.05 * theory);
}

TEST(HopRate, OfWhatBoundsTheGapIsTheSlowestWorkers) {
  const Knobs bounded[] = {{},
                           {{"form", std::string("serial")}},
                           {{"gap_control", std::string("queues")}},
                           {{"gap_control", std::string("notify_ack")}},
                           {{"backup", 1}},
                           {{"backup", 1}, {"check_receiver", true}},
                           {{"staleness", 5}},
                           {{"staleness", 5}, {"gap_control", std::string("queues")}}};
  for (const Knobs& knobs : bounded) expect_iteration_time(knobs, 4.0, 4.0);
}

TEST(HopRate, OfSkippingIsTheSlowdownByTheJump) {
  for (const int jump : {2, 3, 4, 10}) {
    const double theory = std::max(1.0, 4.0 / jump);
    expect_iteration_time({{"backup", 1}, {"max_ig", jump}, {"max_jump", jump}}, 4.0, theory);
    expect_iteration_time({{"staleness", jump}, {"max_ig", jump}, {"max_jump", jump}}, 4.0, theory);
  }
  expect_iteration_time({{"backup", 1}, {"max_ig", 4}, {"max_jump", 4}}, 6.0, 1.5);
}

TEST(HopRate, OfSkippingIsCutByTheTokens) {
  // Nobody is more than max_ig ahead, so no jump is longer: 4 / 2 and not 4 / 10.
  expect_iteration_time({{"backup", 1}, {"max_ig", 2}, {"max_jump", 10}}, 4.0, 2.0);
}

TEST(HopRate, OfBackupWithoutTokensIsEachWorkersOwn) {
  const auto [fastest, slowest] = iteration_times({{"backup", 1}, {"gap_control", std::string("queues")}}, 4.0);
  EXPECT_NEAR(fastest, 1.0, 0.05);
  EXPECT_NEAR(slowest, 4.0, 0.2);
}

// --- Checking the receiver before sending ----------------------------------------------------------------------------

TEST(HopCheckReceiver, SendsLessAndChangesNothingElse) {
  const Knobs checked[] = {{{"backup", 1}, {"max_ig", 5}},
                           {{"backup", 1}, {"max_ig", 5}, {"form", std::string("serial")}},
                           {{"backup", 1}, {"max_ig", 5}, {"max_jump", 3}}};
  for (const Knobs& plain : checked) {
    for (Cluster always : {uneven(), directed()}) {
      always.instant_network = true;
      Cluster checking = always;
      always.run("hop", plain);
      Knobs knobs = plain;
      knobs["check_receiver"] = true;
      checking.run("hop", knobs);
      EXPECT_EQ(checking.broken(), "");
      EXPECT_EQ(checking.params_hash(), always.params_hash());
      EXPECT_EQ(checking.end, always.end);
      EXPECT_LT(checking.total(&RankRecord::messages_sent), always.total(&RankRecord::messages_sent));
      EXPECT_EQ(replayed(checking, knobs), "");
    }
  }
}

TEST(HopCheckReceiver, LeavesOutOnlyWhatWouldHaveBeenDropped) {
  Cluster cluster = uneven();
  cluster.run("hop", {{"backup", 1}, {"max_ig", 5}, {"check_receiver", true}});
  Cluster always = uneven();
  always.run("hop", {{"backup", 1}, {"max_ig", 5}});
  // Its knowledge is late: some updates are still sent and dropped.
  EXPECT_GT(count(cluster.events, EventKind::kDrop, kParams), 0);
  EXPECT_LT(count(cluster.events, EventKind::kDrop, kParams), count(always.events, EventKind::kDrop, kParams));
}

TEST(HopCheckReceiver, HasNothingToLeaveOutWhereEveryUpdateIsNeeded) {
  for (const Knobs& knobs : {Knobs{}, Knobs{{"staleness", 3}}}) {
    Cluster always = uneven(), checking = uneven();
    always.run("hop", knobs);
    Knobs checked = knobs;
    checked["check_receiver"] = true;
    checking.run("hop", checked);
    EXPECT_EQ(checking.total(&RankRecord::messages_sent), always.total(&RankRecord::messages_sent));
    EXPECT_EQ(checking.params_hash(), always.params_hash());
  }
}

TEST(HopCheckReceiver, AsksTheTokens) {
  Cluster cluster;
  EXPECT_THROW(cluster.run("hop", {{"check_receiver", true}, {"gap_control", std::string("queues")}}), Error);
}

// --- The numbers, in every form --------------------------------------------------------------------------------------

TEST(HopReplay, GivesTheModelsOfEveryVariantInEveryForm) {
  const Knobs variants[] = {{},
                            {{"gap_control", std::string("notify_ack")}},
                            {{"backup", 1}},
                            {{"staleness", 2}, {"gap_control", std::string("queues")}}};
  for (Knobs knobs : variants) {
    for (const char* form : {"parallel", "serial"}) {
      knobs["form"] = std::string(form);
      for (Cluster cluster : {uneven(), uneven("star"), directed()}) {
        if (cluster.topology == "star" && knobs.count("backup") != 0) continue;  // refused: a point has one neighbour
        cluster.optimizer.momentum = 0.5f;
        cluster.run("hop", knobs);
        EXPECT_EQ(cluster.broken(), "");
        EXPECT_EQ(replayed(cluster, knobs), "") << form;
      }
    }
  }
}

TEST(HopReplay, SeesAWrongNumber) {
  Cluster cluster = uneven();
  cluster.run("hop", kBackup);
  EXPECT_EQ(replayed(cluster, kBackup), "");
  EXPECT_NE(replayed(cluster, {{"backup", 1}, {"form", std::string("serial")}}), "");  // other sums than were made
  cluster.reports[2][7].x = cluster.reports[2][6].x;
  EXPECT_NE(replayed(cluster, kBackup), "");
}

// --- What might go wrong ---------------------------------------------------------------------------------------------

// Directed graphs, everybody's luck different, jumps everywhere: nobody waits for what never comes.
TEST(HopAdversary, NobodyWaitsForEverWhereManyJump) {
  std::int64_t jumped = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Cluster cluster = directed();
    cluster.slow = {{1, 3.0}, {int(seed % 8), 5.0}, {int(seed / 8 % 8), 7.0}};
    cluster.compute[0] = {.what = SlowdownKind::kPareto, .shape = 1.1};
    cluster.network.latency = std::chrono::milliseconds(seed % 3 * 12);
    cluster.seed = cluster.shuffle = seed;
    if (seed % 2 == 0) cluster.credits = 150;
    Knobs knobs = {
        {"max_ig", std::int64_t(2 + seed % 5)}, {"max_jump", 6}, {"skip_trigger", 1 + std::int64_t(seed % 2)}};
    knobs[seed % 3 == 0 ? "staleness" : "backup"] = std::int64_t(seed % 3 == 0 ? 6 : 1);
    knobs["check_receiver"] = seed % 5 == 0;
    cluster.run("hop", knobs);
    EXPECT_EQ(cluster.broken(), "") << "seed " << seed;
    EXPECT_EQ(replayed(cluster, knobs), "") << "seed " << seed;
    jumped += cluster.total(&RankRecord::iters_jumped);
  }
  EXPECT_GT(jumped, 500);
}

// Announcements of jumps that nobody waited for do not pile up.
TEST(HopAdversary, AMailboxDoesNotGrowWithTheRun) {
  for (const Cluster& small : {uneven(), directed()}) {
    for (const Knobs& knobs : {kJumps, kStaleJumps}) {
      std::int64_t most[] = {0, 0};
      for (const int longer : {0, 1}) {
        Cluster cluster = small;
        cluster.compute.clear();
        cluster.network.jitter = 0;
        cluster.keep_events = false;
        cluster.iterations = longer != 0 ? 600 : 150;
        cluster.run("hop", knobs);
        for (const RankRecord& record : cluster.records) most[longer] = std::max(most[longer], record.queue_max);
      }
      EXPECT_EQ(most[1], most[0]);
    }
  }
}

// With one worker, or none to skip for, everything is plain SGD.
TEST(HopAdversary, AloneOrInPairsItRuns) {
  for (const Knobs& knobs :
       {Knobs{}, Knobs{{"staleness", 2}, {"max_jump", 2}}, Knobs{{"gap_control", std::string("notify_ack")}}}) {
    Cluster alone{.nodes = 1, .topology = "ring", .iterations = 5};
    alone.run("hop", knobs);
    EXPECT_EQ(alone.reports[0].back().k, 5);
    Cluster pair{.nodes = 2, .slow = {{1, 5.0}}, .topology = "ring", .iterations = 20, .keep_events = true};
    pair.run("hop", knobs);
    EXPECT_EQ(pair.broken(), "");
    EXPECT_EQ(replayed(pair, knobs), "");
  }
}

}  // namespace
}  // namespace hopbench
