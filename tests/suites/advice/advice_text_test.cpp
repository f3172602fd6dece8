// The reports of an advice: text, Markdown, JSON and HTML say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "results/tables/drawing.h"
#include "suites/advice/advice.h"
#include "tests/suites/advice/advice_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

AdviceReport sample_report() {
  Candidate unbounded = candidate("adpsgd", 300);
  unbounded.gap_bound = -1;
  unbounded.changes = 3;
  unbounded.outside = true;
  AdviceReport report;
  report.advice = advise(std::vector{candidate("allreduce", 100), candidate("hop", 200), unbounded}, {"allreduce", 1});
  report.title = "job <1>.toml, scenario recorded";
  report.facts = {"4 workers"};
  report.left_out = {"prague: too few workers"};
  report.depends = {{"network at half the rate", 1.5, "adpsgd"}};
  report.to_measure = {{"record more steps of the job", 0.042}};
  report.unknown = {"the network"};
  report.test = "hopbench run a/suite.toml";
  return report;
}

TEST(AdviceText, AnswersAndSaysWhatItRestsOn) {
  const std::string text = advice_text(sample_report(), false);
  EXPECT_THAT(text,
              HasSubstr("Use hop: 2 times the samples/s of allreduce, from 1.96 to 2.04 with 90 %. Its updates "));
  EXPECT_THAT(text, HasSubstr("network at half the rate: gain 1.5x instead of 2x; fastest of those tried: adpsgd"));
  EXPECT_THAT(text, HasSubstr("record more steps of the job (4.2 % of the gain)"));
  EXPECT_THAT(text, AllOf(HasSubstr("Not possible here:\n  prague: too few workers"),
                          HasSubstr("What the file does not tell:\n  the network")));
  EXPECT_THAT(text, HasSubstr("class: 1 makes the updates of all-reduce up to rounding; 2 "));
  EXPECT_THAT(text, HasSubstr("protocols are taken for adpsgd"));
  EXPECT_THAT(text, Not(HasSubstr("Failed")));
}

TEST(AdviceText, MarksTheRowsOfTheTable) {
  const Table table = advice_table(sample_report().advice);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(table.rows[0].front().text + ": " + table.rows[0].back().text, "adpsgd: ");
  EXPECT_EQ(table.rows[0][table.rows[0].size() - 2], "3");
  EXPECT_EQ(table.rows[1].front().text + ": " + table.rows[1].back().text, "hop: recommended");
  EXPECT_EQ(table.rows[2].front().text + ": " + table.rows[2].back().text, "allreduce: present");
}

TEST(AdviceText, IsTheSameInJson) {
  const auto json = nlohmann::json::parse(advice_json(sample_report()));
  EXPECT_EQ(json["recommended"], "hop");
  EXPECT_EQ(json["ranking"].size(), 3u);
  EXPECT_NEAR(json["ranking"][1]["gain"].get<double>(), 2, 1e-9);
  EXPECT_EQ(json["ranking"][0]["class"], 3);
  EXPECT_TRUE(json["best_of_class_2"].is_null());
  AdviceReport stay = sample_report();
  stay.advice.best.reset();
  EXPECT_TRUE(nlohmann::json::parse(advice_json(stay))["recommended"].is_null());
}

TEST(AdviceText, IsAPageWhoseNamesAreEscaped) {
  const std::string page = advice_html(sample_report(), "a test");
  EXPECT_THAT(page, AllOf(HasSubstr("job &lt;1&gt;.toml"), Not(HasSubstr("job <1>"))));
  EXPECT_THAT(page,
              AllOf(HasSubstr("Use hop: 2 times"), HasSubstr("<svg"), HasSubstr("What the gain of hop depends on")));
  EXPECT_THAT(advice_markdown(sample_report()), HasSubstr("**Use hop: 2 times the samples/s of allreduce"));
  AdviceReport hostile = sample_report();
  for (Ranked& one : hostile.advice.ranking) one.of.label = "<img src=x>";
  EXPECT_THAT(advice_markdown(hostile), HasSubstr("## What the gain of \\<img src=x> depends"));
}

TEST(AdviceText, NamesTheModelThatLearnedInEachLine) {
  AdviceReport report = sample_report();
  report.target_loss = 0.5;
  report.stand_in = "mlp";
  constexpr double kUnreached = std::numeric_limits<double>::infinity();
  report.learning = {{"allreduce", 0.1, false, {4, 5, 6}, {40, 50, 60}, ""},
                     {"hop", 0.05, true, {2, 2.5, 3}, {80, 90, 100}, ""},
                     {"adpsgd", 0.1, false, {kUnreached, kUnreached, 1}, {kUnreached, kUnreached, 10}, ""}};
  const Table table = learning_table(report);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(texts_of(table)[1], testing::ElementsAre("hop", "mlp", "2.5", "90", "2x", "0.05 (edge)"));
  EXPECT_THAT(texts_of(table)[3], testing::ElementsAre("adpsgd", "mlp", "not reached", "", "", "0.1"));
  EXPECT_THAT(advice_text(report, false), HasSubstr("learning does not transfer by itself"));
  const auto json = nlohmann::json::parse(advice_json(report));
  EXPECT_TRUE(json["learning"][2]["time_to_target_s"][0].is_null());
}

}  // namespace
}  // namespace hopbench
