// The bound rows of a table against a protocol that reaches them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "results/arithmetic/steady.h"
#include "suites/language/suite.h"
#include "suites/trial/bounds.h"
#include "suites/trial/completion.h"
#include "suites/trial/execute.h"
#include "suites/trial/plan.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

constexpr const char* kTwoVariants = R"(schema = 1
name = "bounds"
[run]
world_size = 4
iterations = 60
repeats = 20
[model]
name = "timing_only"
size = 64
batch = 32
[compute]
backend = "reference"
pace = "5ms"
noise = 0
[transport]
name = "sim"
[network]
instant = true
[[protocol]]
name = "ps_asp"
[[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = "1/n", factor = 6.0 }]
)";

/// One of each kind of slowdown, by iteration and by time.
const char* const kSlowdowns[] = {
    R"({ kind = "bernoulli", probability = "1/n", factor = 6.0 })",
    R"({ kind = "bernoulli", probability = 0.3, factor = 6.0, per = "time", slot = "40ms" })",
    R"({ kind = "constant", ranks = [0], factor = 4.0 })",
    R"({ kind = "constant", ranks = [0], factor = 4.0, from = "100ms", until = "300ms" })",
    R"({ kind = "exponential", scale = 1.0 })",
    R"({ kind = "log_normal", shape = 1.0 })",
    R"({ kind = "pareto", shape = 1.5 })",
};

std::string with_slowdown(const std::string& protocol, const std::string& rule) {
  std::string text = kTwoVariants;
  text.replace(text.find("ps_asp"), 6, protocol);
  return text.substr(0, text.find("[[scenario]]")) + "[[scenario]]\nname = \"slow\"\ncompute = [" + rule + "]\n";
}

// ASP over an instant network never idles, so its own window holds nothing more. Without a steady window a rate is over
// the whole trial, in which workers that have finished do idle.
TEST(Bounds, IdealIsTheRateOfAWorkerThatNeverWaits) {
  int steady = 0;
  for (const char* rule : kSlowdowns) {
    for (const TrialSpec& spec : parse_suite(with_slowdown("ps_asp", rule), "bounds.toml", {}).trials) {
      const TrialRecord record = simulate_trial(spec);
      ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
      if (record.warnings == std::vector<Warning>{WarningKind::kNoSteadyWindow}) continue;
      ++steady;
      EXPECT_NEAR(record.samples_per_s / record.window_ideal_samples_per_s, 1.0, 1e-6) << rule << spec.id();
    }
  }
  EXPECT_GE(steady, 130);  // of 140
}

// The bound is made of the same draws as the gradients, noise included.
TEST(Bounds, IdealHasTheNoiseOfTheGradients) {
  const auto trials = [](const char* noise) {
    const std::vector<std::string> sets{std::string("compute.noise=") + noise, "run.repeats=3"};
    return parse_suite(with_slowdown("ps_asp", kSlowdowns[0]), "bounds.toml",
                       {.sets = sets, .profile = "", .seed = {}, .repeats = {}})
        .trials;
  };
  const std::vector<TrialSpec> with = trials("0.1"), without = trials("0");
  for (std::size_t i = 0; i < with.size(); ++i) {
    const TrialRecord record = simulate_trial(with[i]), exact = simulate_trial(without[i]);
    EXPECT_NEAR(record.samples_per_s / record.window_ideal_samples_per_s, 1.0, 1e-6);
    EXPECT_NE(record.window_ideal_samples_per_s, exact.window_ideal_samples_per_s);
    EXPECT_NE(record.slowest_rank_samples_per_s, exact.slowest_rank_samples_per_s);
  }
}

double median_ideal(const std::string& protocol, const std::string& rule) {
  std::vector<double> ideals;
  const std::vector<std::string> longer{"run.iterations=600", "run.repeats=5"};  // more draws: their mean decides
  for (const TrialSpec& spec : parse_suite(with_slowdown(protocol, rule), "bounds.toml",
                                           {.sets = longer, .profile = "", .seed = {}, .repeats = {}})
                                   .trials) {
    ideals.push_back(simulate_trial(spec).window_ideal_samples_per_s);
  }
  return median(ideals);
}

// The idle time of others is filled with what ASP's workers do there.
TEST(Bounds, IdealOfWaitingProtocolsIsTheRateOfAsp) {
  for (const char* rule : kSlowdowns) {
    const double asp = median_ideal("ps_asp", rule);
    for (const char* protocol : {"allreduce", "dpsgd"})
      EXPECT_NEAR(median_ideal(protocol, rule) / asp, 1.0, 0.02) << rule;
  }
}

// Protocols that move samples off a slow worker, or jump, passed the bound of fixed batches by up to 7.9 times.
TEST(Bounds, NoProtocolIsFasterThanIdeal) {
  const std::string file = source_dir() + "/suites/all_protocols.toml";
  int reached = 0;
  for (const char* iterations : {"run.iterations=5", "run.iterations=20"}) {
    for (const TrialSpec& spec :
         load_suite(file, {.sets = {iterations}, .profile = "", .seed = {}, .repeats = {}}).trials) {
      const TrialRecord record = simulate_trial(spec);
      ASSERT_EQ(record.status, TrialStatus::kOk) << spec.id() << record.failure.text;
      ASSERT_GT(record.window_ideal_samples_per_s, 0);
      EXPECT_LE(record.samples_per_s, record.window_ideal_samples_per_s * (1 + 1e-6)) << spec.id();
      reached += record.samples_per_s > 0.9 * record.window_ideal_samples_per_s ? 1 : 0;
    }
  }
  EXPECT_GE(reached, 20);
}

// Costs are whole nanoseconds: parts of a gradient may be shorter than their share of it.
TEST(Bounds, RoundedCostsAreNoDefect) {
  const std::string random = R"({ kind = "log_normal", shape = 1.0, per = "time", slot = "3ns" })";
  for (const std::string& rule : {std::string(R"({ kind = "constant", factor = 1.0 })"), random}) {
    for (const char* pace : {"1ms", "10us", "1us", "7ns"}) {
      for (const char* protocol : {"flexrr", "ps_asp", "lb_bsp"}) {
        const std::vector<std::string> sets{std::string("compute.pace=") + pace, "model.batch=3", "run.repeats=1",
                                            "run.warmup_time=0s", "run.iterations=5"};
        const SuiteOptions options{.sets = sets, .profile = "", .seed = {}, .repeats = {}};
        for (const TrialSpec& spec : parse_suite(with_slowdown(protocol, rule), "b.toml", options).trials) {
          const TrialRecord record = simulate_trial(spec);
          EXPECT_EQ(record.status, TrialStatus::kOk) << pace << protocol << rule << record.failure.text;
        }
      }
    }
  }
}

/// A finished ASP trial, its record changed by `change`, held against its bound again.
TrialRecord checked_again(const std::function<void(TrialRecord&)>& change, bool virtual_time) {
  const TrialSpec spec =
      parse_suite(with_slowdown("ps_asp", R"({ kind = "constant", factor = 2.0 })"), "bounds.toml", {}).trials.front();
  TrialRecord record = simulate_trial(spec);
  change(record);
  const Plan plan = make_plan(spec);
  const Window window = fill_rates(record, spec.warmup, spec.warmup_time, plan.workers);
  record.window_ideal_samples_per_s = window_bounds(record, spec, plan, window).ideal;
  check_ideal(record, virtual_time);
  return record;
}

void count_twice(TrialRecord& record) {
  for (IterationMark& mark : record.ranks[1].marks) mark.samples *= 2;
}

TEST(Bounds, AGradientThatTookNoTimeFailsATrialOfVirtualTime) {
  const TrialRecord record = checked_again(count_twice, true);
  EXPECT_EQ(record.status, TrialStatus::kFailed);
  EXPECT_THAT(record.failure.text, testing::HasSubstr("more than its devices could compute"));
  EXPECT_EQ(checked_again([](TrialRecord&) {}, true).status, TrialStatus::kOk);
}

TEST(Bounds, AGradientThatTookNoTimeIsAMarkOfARealTrial) {
  const TrialRecord record = checked_again(count_twice, false);
  EXPECT_EQ(record.status, TrialStatus::kOk);
  ASSERT_EQ(record.warnings.size(), 1u);
  EXPECT_EQ(record.warnings[0].kind, WarningKind::kAboveIdeal);
}

TEST(Bounds, TwoGradientsAtOnceAreMoreThanADeviceCan) {
  const auto overlapping = [](TrialRecord& record) {
    for (IterationMark& mark : record.ranks[2].marks) mark.compute *= 2;
  };
  EXPECT_EQ(checked_again(overlapping, true).status, TrialStatus::kFailed);
}

// Four workers, one of them twice and one three times slower, do 1, 1, 1/2 and 1/3 of 32 samples in 5 ms.
TEST(Bounds, SlowestAndSlowestLeftOut) {
  std::string text = kTwoVariants;
  text = text.substr(0, text.find("[[scenario]]")) + R"([[scenario]]
name = "two slow"
compute = [{ kind = "constant", ranks = [1], factor = 2.0 }, { kind = "constant", ranks = [3], factor = 3.0 }]
)";
  const Suite suite = parse_suite(text, "bounds.toml", {});
  const TrialRecord record = simulate_trial(suite.trials.front());
  const double each = 32 / 5e-3;
  EXPECT_NEAR(record.slowest_rank_samples_per_s, 4 * each / 3, 1e-6 * each);
  EXPECT_NEAR(record.without_slowest_samples_per_s, 3 * each / 2, 1e-6 * each);
}

// A slowdown that begins late meets the trial, which waits, and not the bounds of a schedule that does not.
TEST(Bounds, SlowestIsOfTheSameWindowAndDraws) {
  const std::vector<std::string> waits{"network.instant=false", "network.latency=20ms", "run.warmup_time=0s"};
  for (const char* rule : {R"({ kind = "constant", factor = 10, ranks = [0], from = "200ms" })",
                           R"({ kind = "markov", factor = 10, slow = "300ms", normal = "300ms" })",
                           R"({ kind = "exponential", scale = 2.0 })"}) {
    for (const char* iterations : {"run.iterations=10", "run.iterations=60"}) {
      std::vector<std::string> sets = waits;
      sets.emplace_back(iterations);
      for (const TrialSpec& spec : parse_suite(with_slowdown("allreduce", rule), "bounds.toml",
                                               {.sets = sets, .profile = "", .seed = {}, .repeats = {}})
                                       .trials) {
        const TrialRecord record = simulate_trial(spec);
        EXPECT_GT(record.slowest_rank_samples_per_s, 0);
        EXPECT_LE(record.slowest_rank_samples_per_s, record.window_ideal_samples_per_s) << rule << spec.id();
        EXPECT_LE(record.without_slowest_samples_per_s, record.window_ideal_samples_per_s) << rule << spec.id();
      }
    }
  }
}

// Gradients that SpecSync throws away took time in which its workers could have computed: the bound is ASP's.
TEST(Bounds, IdealHasTheTimeOfGradientsThatWereCut) {
  const char* rule = R"({ kind = "log_normal", shape = 0.4 })";
  const std::string often = "specsync\"\nwindow = 0.9\nrate = 0.3\nservers = 1\nlabel = \"often";
  const double asp = median_ideal("ps_asp", rule);
  EXPECT_NEAR(median_ideal(often, rule) / asp, 1.0, 0.02);
  const TrialSpec spec = parse_suite(with_slowdown(often, rule), "bounds.toml", {}).trials.front();
  const TrialRecord record = simulate_trial(spec);
  EXPECT_LT(record.samples_heard_per_s, 0.95 * record.window_ideal_samples_per_s);
}

// Every protocol that promises how far a worker gets ahead keeps to it, and some get as far as they may: a bound that
// nobody comes near is checked by nobody.
TEST(Bounds, NoGapIsLargerThanTheProtocolPromises) {
  const std::string file = source_dir() + "/suites/all_protocols.toml";
  int bounded = 0, tight = 0;
  for (TrialSpec spec :
       load_suite(file, {.sets = {"run.iterations=20"}, .profile = "", .seed = {}, .repeats = {}}).trials) {
    if (spec.scenario_name != "one 4x slower") continue;
    const TrialRecord record = simulate_trial(spec);
    ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
    if (record.gap_bound < 0) continue;
    ++bounded;
    std::int64_t gap = 0;
    for (const RankRecord& rank : record.ranks) gap = std::max(gap, rank.gap_max);
    EXPECT_LE(gap, record.gap_bound) << spec.id();
    tight += gap == record.gap_bound ? 1 : 0;
  }
  EXPECT_GE(bounded, 15);
  EXPECT_GE(tight, 8);
}

}  // namespace
}  // namespace hopbench
