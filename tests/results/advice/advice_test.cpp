// The arithmetic of advice: intervals, pairing, doubts, and when the present protocol stays.
#include "results/advice/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "tests/results/advice/advice_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

Advice advise_all(const std::vector<Candidate>& candidates, double sampling = 1) {
  return advise(candidates, {"allreduce", sampling});
}

TEST(Advice, RanksByRateAndRecommendsTheFastestWithoutDoubts) {
  Candidate unbounded = candidate("adpsgd", 300);
  unbounded.gap_bound = -1;
  const Advice advice =
      advise_all({candidate("allreduce", 100), candidate("hop", 200), unbounded, candidate("dpsgd", 150)});
  std::vector<std::string> order;
  for (const Ranked& one : advice.ranking) order.push_back(one.of.label);
  EXPECT_THAT(order, ElementsAre("adpsgd", "hop", "dpsgd", "allreduce"));
  EXPECT_EQ(advice.choice().of.label, "hop");
  EXPECT_NEAR(advice.choice().gain, 2, 1e-9);
  EXPECT_THAT(of_label(advice, "adpsgd").doubts, ElementsAre("no bound on staleness is known"));
  EXPECT_THAT(of_label(advice, "hop").doubts, IsEmpty());
}

TEST(Advice, PairsRepeatsSoThatCommonChanceIsInRatesAndNotInGains) {
  Candidate present = candidate("allreduce", 100), other = candidate("hop", 200);
  present.errors = other.errors = {0};
  const Ranked one = of_label(advise_all({present, other}), "hop");
  EXPECT_NEAR(one.gains.low, 2, 1e-9);
  EXPECT_NEAR(one.gains.high, 2, 1e-9);
  EXPECT_LT(one.rates.low, 190);
  EXPECT_GT(one.rates.high, 210);
}

TEST(Advice, CombinesErrorsOfBothSides) {
  std::vector<double> one_error, no_error{0};
  for (int i = 0; i < 20; ++i) one_error.push_back(-0.095 + 0.01 * i);
  Candidate present = candidate("allreduce", 100, {1}), other = candidate("hop", 200, {1});
  present.errors = no_error, other.errors = one_error;
  const Ranked single = of_label(advise_all({present, other}), "hop");
  EXPECT_NEAR(std::log(single.gains.high / 2), quantile(one_error, 0.95), 1e-9);
  present.errors = one_error;
  const Ranked both = of_label(advise_all({present, other}), "hop");
  EXPECT_GT(both.gains.high, single.gains.high);
  EXPECT_LT(std::log(both.gains.high / 2), 2 * quantile(one_error, 0.95)) << "both at their worst is less likely";
}

TEST(Advice, WidensByTheChanceOfTheRecording) {
  Candidate present = candidate("allreduce", 100, {1, 1, 1, 1}), other = candidate("hop", 200, {0.9, 1.1, 1, 1});
  present.errors = other.errors = {0};
  const Ranked once = of_label(advise_all({present, other}, 1), "hop");
  const Ranked fourfold = of_label(advise_all({present, other}, 4), "hop");
  EXPECT_NEAR(fourfold.chance, 2 * once.chance, 1e-12) << "four times the variance";
  EXPECT_NEAR(fourfold.gain, once.gain, 0.02);
}

TEST(Advice, TrustsFewRepeatsLess) {
  const auto width = [](const std::vector<double>& chance) {
    Candidate present = candidate("allreduce", 100, std::vector<double>(chance.size(), 1.0));
    Candidate other = candidate("hop", 200, chance);
    present.errors = other.errors = {0};
    const Ranked one = of_label(advise_all({present, other}), "hop");
    return std::log(one.gains.high / one.gains.low);
  };
  const double few = width({0.9, 1.1}), many = width({0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1});
  EXPECT_GT(few, 4 * many) << "the same spread, from two repeats and from twelve";
}

TEST(Advice, ShowsTheRatesOfItsTrials) {
  Candidate other = candidate("hop", 200, {1, 1, 1, 1});
  other.errors = {0.02, 0.03, 0.04};  // all on one side
  const Ranked one = of_label(advise_all({candidate("allreduce", 100, {1, 1, 1, 1}), other}), "hop");
  EXPECT_NEAR(one.rate, 200, 1e-9);
  EXPECT_LE(one.rates.low, one.rate);
  EXPECT_GT(one.rates.high, one.rate);
}

TEST(Advice, StaysWithThePresentProtocolUnlessTheGainIsCertain) {
  Candidate doubtful = candidate("dpsgd", 101.0);  // within the errors
  const Advice advice = advise_all({candidate("allreduce", 100), doubtful});
  EXPECT_FALSE(advice.best);
  EXPECT_EQ(advice.choice().of.label, "allreduce");
  AdviceReport report;
  report.advice = advice;
  EXPECT_THAT(advice_answer(report),
              HasSubstr("Stay with allreduce: no protocol that may be recommended is faster beyond doubt. "
                        "The nearest is dpsgd, 1.01x ["));
}

TEST(Advice, NamesTheChangesThatWouldMakeItWrong) {
  AdviceReport report;
  report.advice = advise_all({candidate("allreduce", 100), candidate("dpsgd", 200)});
  ASSERT_TRUE(report.advice.best);
  report.depends = {{"network at half the rate", 0.65, "allreduce"}, {"latency doubled", 1.9, "dpsgd"}};
  EXPECT_THAT(advice_answer(report), AllOf(HasSubstr("Use dpsgd: 2 times"),
                                           HasSubstr("But it would be slower than allreduce with: network at half the "
                                                     "rate (0.65x). Make sure of that first."),
                                           Not(HasSubstr("latency"))));
  report.depends.erase(report.depends.begin());
  EXPECT_THAT(advice_answer(report), AllOf(Not(HasSubstr("But")), Not(HasSubstr("experimental")),
                                           Not(HasSubstr("steady")), Not(HasSubstr("running ahead"))));
  Candidate guess = candidate("dpsgd", 200);
  guess.experimental = guess.unsteady = guess.leads = true;
  report.advice = advise_all({candidate("allreduce", 100), guess});
  EXPECT_THAT(advice_answer(report), AllOf(HasSubstr(" It is experimental: "), HasSubstr(" Its rate was not steady: "),
                                           HasSubstr(" Its fast workers may have been running ahead: ")));
  EXPECT_THAT(advice_grid(report.advice).notes,
              Contains(AllOf(HasSubstr("not steady in some repeats"), HasSubstr(": dpsgd"))));
}

TEST(Advice, SaysWhatItsProtocolsRestOn) {
  Candidate guess = candidate("dpsgd", 200);
  guess.rests_on = "not checked", guess.experimental = true;
  Candidate known = candidate("allreduce", 100);
  known.rests_on = "full-text";
  const Grid grid = advice_grid(advise_all({known, guess}));
  EXPECT_THAT(grid.notes, IsSupersetOf({"rests on: full-text: allreduce", "rests on: not checked: dpsgd"}));
  EXPECT_THAT(grid.notes, Contains(AllOf(HasSubstr("experimental"), HasSubstr(": dpsgd"))));
}

TEST(Advice, DoubtsWhatMayHarmLearning) {
  std::vector<Candidate> all{candidate("allreduce", 100)};
  for (int i = 0; i < 5; ++i) all.push_back(candidate("c" + std::to_string(i), 200 + i));
  all[1].lost = 0.051;
  all[2].unheard = 0.051;
  all[3].changes_batches = true;
  all[4].moves_samples = true;
  all[5].lost = all[5].unheard = 0.049;
  const Advice advice = advise_all(all);
  EXPECT_THAT(of_label(advice, "c0").doubts, ElementsAre("over 5 % of a worker's gradients are lost"));
  EXPECT_THAT(of_label(advice, "c1").doubts, ElementsAre("over 5 % of a worker's gradients reach no other worker"));
  EXPECT_THAT(of_label(advice, "c2").doubts, ElementsAre("batches change"));
  EXPECT_THAT(of_label(advice, "c3").doubts, ElementsAre("samples move between workers"));
  EXPECT_EQ(advice.choice().of.label, "c4");
}

TEST(Advice, SetsApartWhatFailedAndNeedsThePresentProtocol) {
  Candidate failed = candidate("prague", 100);
  failed.rates.clear();
  failed.failure = "a deadlock";
  const Advice advice = advise_all({candidate("allreduce", 100), failed});
  ASSERT_EQ(advice.failed.size(), 1u);
  EXPECT_EQ(advice.ranking.size(), 1u);
  failed.label = "allreduce";
  try {
    advise_all({failed});
    ADD_FAILURE() << "without the present protocol there is nothing to compare with";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the present protocol allreduce has no rate: a deadlock");
    EXPECT_EQ(error.code(), ExitCode::kTrialsFailed);
  }
}

}  // namespace
}  // namespace hopbench
