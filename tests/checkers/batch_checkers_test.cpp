// The checkers of protocols whose batches differ: each is shown a stream that keeps its invariant and ones that break
// it.
#include <gtest/gtest.h>

#include "tests/checkers/event_stream.h"

namespace hopbench::checkers {
namespace {

CheckedRun balanced(int workers) {
  CheckedRun run{.protocol = "lb_bsp", .workers = workers};
  run.knobs["warmup_steps"] = std::int64_t{2};
  run.knobs["memory_limit"] = 1.5;
  run.knobs["window"] = std::int64_t{2};
  run.knobs["step"] = 0.25;
  return run;
}

/// Everything returns the stream itself, so that a case reads as one chain of events.
class BatchStream {
 public:
  explicit BatchStream(CheckerPtr checker) : checker_(std::move(checker)) {}

  BatchStream& gradient(int rank, Iter k, std::int64_t samples) {
    checker_->on({.rank = rank, .what = EventKind::kGradient, .iter = k, .count = samples});
    return *this;
  }
  /// All workers' gradients of an iteration.
  BatchStream& computed(Iter k, const std::vector<std::int64_t>& batches) {
    for (std::size_t i = 0; i < batches.size(); ++i) gradient(int(i), k, batches[i]);
    return *this;
  }
  BatchStream& reduced(int rank, Iter k, std::vector<int> who, std::vector<Iter> tags, std::vector<float> weights) {
    checker_->on({.rank = rank,
                  .what = EventKind::kReduced,
                  .iter = k,
                  .senders = std::move(who),
                  .tags = std::move(tags),
                  .weights = std::move(weights)});
    return *this;
  }
  bool ok() {
    checker_->finish();
    return checker_->ok();
  }
  std::int64_t looked() const { return checker_->looked(); }

 private:
  CheckerPtr checker_;
};

TEST(BatchSum, StaysWhatItIsInTheFirstIteration) {
  const auto begun = [] {
    BatchStream stream(batch_sum(balanced(2)));
    stream.computed(0, {8, 8}).computed(1, {8, 8});
    return stream;
  };
  BatchStream good = begun();
  EXPECT_TRUE(good.computed(2, {12, 4}).ok());
  EXPECT_EQ(good.looked(), 3);
  EXPECT_FALSE(begun().computed(2, {12, 3}).ok());
  EXPECT_FALSE(begun().computed(2, {13, 3}).ok()) << "the memory limit is 12";
  EXPECT_FALSE(begun().computed(2, {12, 5}).ok());
  EXPECT_FALSE(begun().computed(2, {8, 8}).computed(3, {16, 0}).ok());
  EXPECT_FALSE(begun().gradient(0, 2, 8).gradient(0, 2, 8).gradient(1, 2, 8).ok()) << "two of one worker";
  EXPECT_FALSE(begun().gradient(0, 2, 8).ok()) << "none of the other";
  EXPECT_FALSE(BatchStream(batch_sum(balanced(2))).computed(0, {8, 8}).computed(1, {9, 7}).ok()) << "still the warm-up";
}

TEST(BatchSum, KnowsTheBoundsOfDynamicBatching) {
  CheckedRun run{.protocol = "dynamic_batching", .workers = 2};
  run.knobs["min_batch"] = 0.5;
  run.knobs["max_batch"] = 2.0;
  const auto begun = [&] {
    BatchStream stream(batch_sum(run));
    stream.computed(0, {8, 8});
    return stream;
  };
  EXPECT_TRUE(begun().computed(1, {12, 4}).ok());
  EXPECT_FALSE(begun().computed(1, {13, 3}).ok());
}

TEST(BatchSum, KnowsWhatEachIsAMultipleOf) {
  CheckedRun run{.protocol = "dynamic_batching", .workers = 2};
  run.knobs["multiple"] = 4;
  const auto begun = [&] {
    BatchStream stream(batch_sum(run));
    stream.computed(0, {8, 8});
    return stream;
  };
  EXPECT_TRUE(begun().computed(1, {12, 4}).ok());
  EXPECT_FALSE(begun().computed(1, {10, 6}).ok());
}

TEST(BatchWeights, AreTheSharesOfTheSamples) {
  CheckedRun run = balanced(2);
  run.servers = 1;
  const auto begun = [&](Iter k) {
    BatchStream stream(batch_weights(run));
    stream.computed(k, {12, 4});
    return stream;
  };
  EXPECT_TRUE(begun(0).reduced(2, 0, {0, 1}, {0, 0}, {0.75f, 0.25f}).ok());
  EXPECT_FALSE(begun(0).reduced(2, 0, {0, 1}, {0, 0}, {0.5f, 0.5f}).ok());
  EXPECT_FALSE(begun(0).reduced(2, 0, {0}, {0}, {0.75f}).ok()) << "one is missing";
  EXPECT_FALSE(begun(1).reduced(2, 1, {0, 1}, {1, 0}, {0.75f, 0.25f}).ok()) << "one is old";
}

// Workers of the times given, in ms, compute the batches of iteration k, told them all at once.
class Timed {
 public:
  explicit Timed(int workers, double growth = 1, double reopen = 0)
      : checker_(pair_search(searching(workers, growth, reopen))) {}
  Timed& computed(const std::vector<std::int64_t>& batches, const std::vector<int>& ms) {
    for (std::size_t w = 0; w < batches.size(); ++w) {
      const EventKind what = k_ == 0 ? EventKind::kEnter : EventKind::kTake;
      checker_->on({.time = now_, .rank = int(w), .what = what, .iter = k_, .kind = kReplyKind});
    }
    for (std::size_t w = 0; w < batches.size(); ++w) {
      const Time done = now_ + std::chrono::milliseconds(ms[w]);
      checker_->on({.time = done, .rank = int(w), .what = EventKind::kGradient, .iter = k_, .count = batches[w]});
    }
    now_ += std::chrono::seconds(1);
    ++k_;
    return *this;
  }
  bool ok() const { return checker_->ok(); }

 private:
  static CheckedRun searching(int workers, double growth, double reopen) {
    CheckedRun run = balanced(workers);
    run.batch = 8;
    run.knobs["window"] = std::int64_t{1};
    run.knobs["warmup_steps"] = std::int64_t{0};
    run.knobs["window_growth"] = growth;
    run.knobs["halve_on_rise"] = false;
    run.knobs["reopen"] = reopen;
    return run;
  }
  CheckerPtr checker_;
  Time now_{};
  Iter k_ = 0;
};

TEST(PairSearch, MovesFromTheStragglerToTheLeader) {
  EXPECT_TRUE(Timed(3).computed({8, 8, 8}, {20, 10, 30}).computed({8, 10, 6}, {20, 20, 20}).ok());
  EXPECT_FALSE(Timed(3).computed({8, 8, 8}, {20, 10, 30}).computed({8, 6, 10}, {20, 20, 20}).ok()) << "backwards";
  EXPECT_FALSE(Timed(3).computed({8, 8, 8}, {20, 10, 30}).computed({10, 8, 6}, {20, 20, 20}).ok()) << "not the leader";
  EXPECT_FALSE(Timed(3).computed({8, 8, 8}, {20, 10, 30}).computed({8, 8, 8}, {20, 20, 20}).ok()) << "nothing";
}

TEST(PairSearch, HalvesAndGrowsWhereTwoChangePlaces) {
  const auto turned = [](double growth) {
    Timed stream(2, growth);
    stream.computed({8, 8}, {10, 20}).computed({10, 6}, {20, 10});
    return stream;
  };
  EXPECT_TRUE(turned(1).computed({9, 7}, {20, 10}).computed({8, 8}, {20, 10}).ok());
  EXPECT_FALSE(turned(1).computed({8, 8}, {20, 10}).ok()) << "the step is as long";
  EXPECT_TRUE(turned(2).computed({9, 7}, {20, 10}).computed({9, 7}, {20, 10}).computed({8, 8}, {20, 10}).ok());
  EXPECT_FALSE(turned(2).computed({9, 7}, {20, 10}).computed({8, 8}, {20, 10}).ok()) << "the window is as long";
}

TEST(PairSearch, BeginsAnewWhereAWorkerBecameSlower) {
  const auto turned = [](std::vector<int> times) {  // the window is 2 by now, and the step 1
    Timed stream(3, 2, 0.1);
    stream.computed({8, 8, 8}, {10, 20, 15}).computed({10, 6, 8}, {20, 10, 15}).computed({9, 7, 8}, times);
    return stream;
  };
  EXPECT_TRUE(turned({15, 15, 40}).computed({9, 7, 8}, {10, 15, 20}).computed({11, 7, 6}, {10, 10, 10}).ok())
      << "a window of one and the first step again";
  EXPECT_FALSE(turned({15, 15, 40}).computed({9, 7, 8}, {10, 15, 20}).computed({10, 7, 7}, {10, 10, 10}).ok())
      << "half of it";
  EXPECT_FALSE(turned({15, 15, 40}).computed({10, 7, 7}, {10, 10, 10}).ok()) << "at once";
  EXPECT_TRUE(turned({15, 40, 15}).computed({9, 7, 8}, {15, 40, 15}).computed({10, 6, 8}, {10, 10, 10}).ok())
      << "the one that got samples last";
  EXPECT_TRUE(turned({15, 20, 15}).computed({9, 7, 8}, {15, 40, 15}).computed({9, 7, 8}, {10, 40, 15}).ok())
      << "it became slower since then";
}

TEST(PairMoves, AreOneAWindowBetweenTwoWorkers) {
  const auto begun = [] {
    BatchStream stream(pair_moves(balanced(3)));
    stream.computed(0, {8, 8, 8}).computed(1, {8, 8, 8});
    return stream;
  };
  EXPECT_TRUE(begun().computed(2, {10, 8, 6}).computed(3, {10, 8, 6}).computed(4, {9, 8, 7}).ok());
  EXPECT_FALSE(begun().computed(2, {10, 8, 6}).computed(3, {9, 8, 7}).ok()) << "within a window";
  EXPECT_FALSE(begun().computed(2, {9, 9, 6}).ok()) << "among three";
  EXPECT_FALSE(begun().computed(2, {11, 8, 5}).ok()) << "more than a step";
  EXPECT_FALSE(begun().computed(2, {9, 8, 6}).ok()) << "some are lost";
}

TEST(MakeCheckers, ChoosesThoseOfBatches) {
  const auto names = [](const CheckedRun& run) {
    std::vector<std::string> all;
    for (const CheckerPtr& checker : make_checkers(run)) all.push_back(checker->name());
    return all;
  };
  using Names = std::vector<std::string>;
  CheckedRun run = balanced(4);
  EXPECT_EQ(names(run),
            (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "lead_bound", "batch_sum"}));
  run.knobs["form"] = std::string("gpu");
  run.servers = 2;
  EXPECT_EQ(names(run), (Names{"delivery", "enter_order", "gradient_counts", "weights_sum", "push_applied",
                               "lead_bound", "batch_sum", "pair_moves", "pair_search", "bsp_round", "batch_weights"}));
}

}  // namespace
}  // namespace hopbench::checkers
