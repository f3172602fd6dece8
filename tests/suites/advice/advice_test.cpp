// The arithmetic of advice: intervals, pairing, classes, and when the present protocol stays.
#include "suites/advice/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "tests/suites/advice/advice_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

Advice advise_all(const std::vector<Candidate>& candidates, double sampling = 1) {
  return advise(candidates, {"allreduce", sampling});
}

/// Returns a candidate of that class.
Candidate of_class(int kind, const std::string& label, double rate) {
  Candidate one = candidate(label, rate);
  one.changes = kind;
  return one;
}

TEST(Advice, RanksByRateAndRecommendsTheFastestOfClassOne) {
  const Advice advice = advise_all({candidate("allreduce", 100), of_class(2, "hop", 200), of_class(3, "adpsgd", 300),
                                    candidate("lb_bsp", 140), candidate("dpsgd", 150)});
  std::vector<std::string> order;
  for (const Ranked& one : advice.ranking) order.push_back(one.of.label);
  EXPECT_THAT(order, ElementsAre("adpsgd", "hop", "dpsgd", "lb_bsp", "allreduce"));
  EXPECT_EQ(advice.nearest().of.label, "dpsgd");
  EXPECT_NEAR(advice.nearest().gain, 1.5, 1e-9);
  ASSERT_TRUE(advice.best && advice.beside);
  EXPECT_EQ(advice.ranking[*advice.beside].of.label, "hop");
  AdviceReport report;
  report.advice = advice;
  EXPECT_THAT(advice_answer(report),
              AllOf(HasSubstr("Use dpsgd: 1.5 times"), HasSubstr("Its updates are those of all-reduce up to rounding."),
                    HasSubstr(" Of class 2, hop is the fastest: 2 times the samples/s of allreduce, from 1.96 to 2.04 "
                              "with 90 %. It uses every gradient, but not in the updates of all-reduce, and a worker "
                              "may be 3 iterations ahead: check that your model converges with it first."),
                    Not(HasSubstr("adpsgd"))));
}

TEST(Advice, NamesTheBestOfClassTwoWhereNothingOfClassOneGains) {
  AdviceReport report;
  report.advice = advise_all({candidate("allreduce", 100), of_class(2, "hop", 200), candidate("lb_bsp", 90)});
  EXPECT_FALSE(report.advice.best);
  EXPECT_EQ(report.advice.nearest().of.label, "hop");
  report.depends = {{"latency doubled", 0.9, "allreduce"}};
  EXPECT_THAT(advice_answer(report),
              AllOf(HasSubstr("Stay with allreduce, unless you can check convergence: "),
                    HasSubstr("Of class 2, hop is the fastest: 2 times"), HasSubstr("check that your model converges"),
                    HasSubstr("But it would be slower than allreduce with: latency doubled (0.9x).")));
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
  AdviceReport report;
  report.advice = advice;
  EXPECT_THAT(advice_answer(report),
              HasSubstr("Stay with allreduce: no protocol of class 1 or 2 is faster beyond doubt. "
                        "The nearest is dpsgd, 1.01x ["));
  report.advice = advise_all({candidate("allreduce", 100), candidate("dpsgd", 50)});
  EXPECT_THAT(advice_answer(report), Not(HasSubstr("nearest"))) << "it is slower beyond doubt";
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
  EXPECT_THAT(advice_answer(report),
              AllOf(Not(HasSubstr("But")), Not(HasSubstr("experimental")), Not(HasSubstr("steady"))));
  Candidate guess = candidate("dpsgd", 200);
  guess.experimental = guess.unsteady = true;
  report.advice = advise_all({candidate("allreduce", 100), guess});
  EXPECT_THAT(advice_answer(report),
              AllOf(HasSubstr(" It is experimental: "), HasSubstr(" Its rate was not steady: ")));
  guess.leads = true;
  report.advice = advise_all({candidate("allreduce", 100), guess});
  EXPECT_FALSE(report.advice.best) << "its rate may be that of a lead";
  EXPECT_THAT(notes_of(advice_table(report.advice)),
              Contains(AllOf(HasSubstr("not steady in some repeats"), HasSubstr(": dpsgd"))));
}

TEST(Advice, SaysWhatItsProtocolsRestOn) {
  Candidate guess = candidate("dpsgd", 200);
  guess.rests_on = "not checked", guess.experimental = true;
  Candidate known = candidate("allreduce", 100);
  known.rests_on = "full-text";
  const Table table = advice_table(advise_all({known, guess}));
  EXPECT_THAT(notes_of(table), IsSupersetOf({"rests on: full-text: allreduce", "rests on: not checked: dpsgd"}));
  EXPECT_THAT(notes_of(table), Contains(AllOf(HasSubstr("experimental"), HasSubstr(": dpsgd"))));
}

TEST(Advice, PutsIntoClassThreeWhatWasSeenToLoseWork) {
  std::vector<Candidate> all{candidate("allreduce", 100), of_class(2, "c0", 200), candidate("c1", 201),
                             of_class(2, "c2", 202)};
  all[1].lost = 0.001;
  all[2].unheard = 0.051;
  all[3].unheard = 0.049;
  const Advice advice = advise_all(all);
  EXPECT_EQ(of_label(advice, "c0").changes, 3);
  EXPECT_EQ(of_label(advice, "c1").changes, 3);
  EXPECT_EQ(of_label(advice, "c2").changes, 2);
  EXPECT_FALSE(advice.best);
  EXPECT_EQ(advice.nearest().of.label, "c2");
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
