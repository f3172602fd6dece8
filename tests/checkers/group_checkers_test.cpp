// The checkers of all-reduce and of averages within groups, each with a stream that keeps its invariant and with
// streams that break it.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

CheckedRun four(const std::string& protocol) { return {.protocol = protocol, .workers = 4}; }

using Events = std::vector<Event>;

Events joined(std::initializer_list<Events> parts) {
  Events all;
  for (const Events& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Event enter(int rank, Iter k) { return {.rank = rank, .what = EventKind::kEnter, .iter = k}; }

// A message of iteration k, sent and at once taken.
Events pass(int from, int to, Iter k) {
  return {{.rank = from, .what = EventKind::kSend, .iter = k, .peer = to, .kind = kParamsKind},
          {.rank = to, .what = EventKind::kTake, .iter = k, .peer = from, .kind = kParamsKind}};
}

Event averaged(int rank, Iter k, std::vector<int> group, std::vector<float> weights = {}) {
  if (weights.empty()) weights.assign(group.size(), 1.0f / float(group.size()));
  const std::vector<Iter> tags(group.size(), k);
  return {.rank = rank,
          .what = EventKind::kReduced,
          .iter = k,
          .senders = std::move(group),
          .tags = tags,
          .weights = std::move(weights)};
}

// All of each group average in round k.
Events round(Iter k, const std::vector<std::vector<int>>& groups) {
  Events all;
  for (const auto& group : groups) {
    for (const int rank : group) all.push_back(averaged(rank, k, group));
  }
  return all;
}

std::int64_t violations(const CheckerPtr& checker, const Events& events) {
  for (const Event& event : events) checker->on(event);
  checker->finish();
  return checker->violation_count();
}

const std::vector<std::vector<int>> kRows = {{0, 1}, {2, 3}}, kColumns = {{0, 3}, {1, 2}};

TEST(Heard, FollowsMessagesThroughOthers) {
  // 0 -> 1 -> 2: 2 has heard of 0 through 1.
  const Events through = joined({pass(0, 1, 0), pass(1, 2, 0), {averaged(2, 0, {0, 1, 2})}});
  EXPECT_EQ(violations(heard(four("ds_sync")), through), 0);
  const Events before = joined({pass(1, 2, 0), pass(0, 1, 0), {averaged(2, 0, {0, 1, 2})}});
  EXPECT_GT(violations(heard(four("ds_sync")), before), 0);
  const Events other_round = joined({pass(0, 1, 0), {averaged(1, 1, {0, 1})}});
  EXPECT_GT(violations(heard(four("ds_sync")), other_round), 0);
  const Events unsaid = joined({pass(0, 1, 0), {averaged(1, 0, {1})}});
  EXPECT_GT(violations(heard(four("ds_sync")), unsaid), 0);
}

TEST(Heard, KnowsThatAServerHasNoModelOfItsOwn) {
  CheckedRun run = four("ds_sync");
  run.servers = 1;
  const Events both = joined({pass(0, 4, 0), pass(1, 4, 0), pass(4, 0, 0), {averaged(0, 0, {0, 1})}});
  EXPECT_EQ(violations(heard(run), both), 0);
  const Events early = joined({pass(0, 4, 0), pass(4, 0, 0), pass(1, 4, 0), {averaged(0, 0, {0, 1})}});
  EXPECT_GT(violations(heard(run), early), 0);
}

TEST(Heard, HoldsForGradientsThatAreApplied) {
  const Event applied{.rank = 1, .what = EventKind::kApplied, .iter = 2, .peer = 0};
  EXPECT_EQ(violations(heard(four("allreduce")), joined({pass(0, 1, 2), {applied}})), 0);
  EXPECT_GT(violations(heard(four("allreduce")), joined({pass(0, 1, 1), {applied}})), 0);
}

TEST(RoundMatrix, IsOfGroupsThatDivideTheWorkers) {
  const CheckedRun run = four("ds_sync");
  EXPECT_EQ(violations(round_matrix(run, 0, 1), joined({round(0, kRows), round(1, kColumns)})), 0);
  EXPECT_EQ(violations(round_matrix(run, 3, 4), joined({round(3, kRows), round(7, kColumns)})), 0);
  const Events one_sided = {averaged(0, 0, {0, 1}), averaged(1, 0, {1}), averaged(2, 0, {2, 3}),
                            averaged(3, 0, {2, 3})};
  EXPECT_GT(violations(round_matrix(run, 0, 1), one_sided), 0);
  const Events two_groups = {averaged(0, 0, {0, 1}), averaged(1, 0, {0, 1, 2}), averaged(2, 0, {1, 2}),
                             averaged(3, 0, {3})};
  EXPECT_GT(violations(round_matrix(run, 0, 1), two_groups), 0);
  // Symmetric and doubly stochastic, but only half way to the mean: not idempotent.
  const Events half_way = {averaged(0, 0, {0, 1}, {0.75f, 0.25f}), averaged(1, 0, {0, 1}, {0.25f, 0.75f}),
                           averaged(2, 0, {2, 3}), averaged(3, 0, {2, 3})};
  EXPECT_EQ(violations(round_matrix(run, 0, 1), half_way), 1);
}

TEST(RoundMatrix, MissesRoundsAndWorkers) {
  const CheckedRun run = four("ds_sync");
  EXPECT_GT(violations(round_matrix(run, 0, 1), joined({round(0, kRows), round(2, kRows)})), 0);
  EXPECT_GT(violations(round_matrix(run, 0, 1), {averaged(0, 0, {0, 1}), averaged(1, 0, {0, 1})}), 0);
  EXPECT_GT(violations(round_matrix(run, 0, 1), joined({round(0, kRows), round(0, kRows)})), 0);
}

TEST(RoundsDue, CountsAveragesAtEveryEntry) {
  const CheckedRun run = four("local_sgd");
  const Events good = {enter(0, 0), enter(0, 1), averaged(0, 1, {0}), enter(0, 2), enter(0, 3)};
  EXPECT_EQ(violations(rounds_due(run, 2, 0), good), 0);
  EXPECT_GT(violations(rounds_due(run, 2, 0), {enter(0, 0), enter(0, 1), enter(0, 2)}), 0);
  EXPECT_GT(violations(rounds_due(run, 2, 0), {enter(0, 0), averaged(0, 0, {0}), enter(0, 1)}), 0);
  const Events late = {enter(0, 0), enter(0, 1), averaged(0, 0, {0}), enter(0, 2)};
  EXPECT_EQ(violations(rounds_due(run, 1, 1), late), 0);
  EXPECT_GT(violations(rounds_due(run, 1, 0), late), 0);
  const Event finished{.rank = 0, .what = EventKind::kFinished, .iter = 1};
  EXPECT_GT(violations(rounds_due(run, 2, 0), {enter(0, 0), enter(0, 1), finished}), 0);
}

TEST(RoundsConnect, NeedsAShuffle) {
  const CheckedRun run = four("ds_sync");
  EXPECT_EQ(violations(rounds_connect(run), joined({round(0, kRows), round(1, kColumns), round(2, kRows)})), 0);
  EXPECT_EQ(violations(rounds_connect(run), joined({round(0, kRows), round(1, kRows)})), 1);
}

TEST(MakeCheckers, GivesAveragesWithinGroupsTheirs) {
  using Names = std::vector<std::string>;
  CheckedRun grid = four("ds_sync");
  grid.servers = 2;
  EXPECT_EQ(names(grid), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "heard", "mean_kept",
                                "round_matrix", "rounds_due", "rounds_connect", "lead_bound"}));
  EXPECT_EQ(names(four("lasgd")),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "heard", "mean_kept", "round_matrix"}));
}

}  // namespace
}  // namespace hopbench::checkers
