// Verdicts on a paper's claims, from rows written by hand.
#include "suites/claims/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/base/error.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

constexpr double kNot = std::numeric_limits<double>::infinity();  // reached

/// A row for each time, repeats 0, 1, ...
void add_times(std::vector<Outcome>& rows, const std::string& variant, const std::vector<double>& times) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    Outcome row;
    row.draw = {1, std::uint32_t(i)};
    row.cells = {{"trial", {variant + "/1/" + std::to_string(i)}},
                 {"measure", {"convergence"}},
                 {"scenario", {"homogeneous"}},
                 {"variant", {variant}},
                 {"status", {"ok"}},
                 {"seed", {"1"}},
                 {"repeat", {std::to_string(i)}},
                 {"clock", {"virtual"}},
                 {"model", {"lenet"}},
                 {"dataset", {"fashion_mnist"}},
                 {"tuned", {"0"}},
                 {"reading", {"x/X1"}},
                 {"time_to_target_s", times[i] == kNot ? CsvValue() : CsvValue{std::to_string(times[i]), times[i]}}};
    rows.push_back(row);
  }
}

std::vector<Outcome> rows_of(const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>& c = {}) {
  std::vector<Outcome> rows;
  add_times(rows, "a", a);
  add_times(rows, "b", b);
  add_times(rows, "c", c);
  return rows;
}

Claim claim_of(Claim::Kind kind, const std::vector<std::string>& variants, std::optional<double> at_least = {},
               std::optional<double> at_most = {}) {
  Claim claim;
  claim.id = "t";
  claim.metric = "time_to_target_s";
  claim.kind = kind;
  for (const std::string& variant : variants) claim.selections.push_back({"", "", variant});
  claim.at_least = at_least;
  claim.at_most = at_most;
  return claim;
}

Claim ratio(std::optional<double> at_least, std::optional<double> at_most = {}) {
  return claim_of(Claim::Kind::kRatio, {"a", "b"}, at_least, at_most);
}
Claim value(std::optional<double> at_least, std::optional<double> at_most = {}) {
  return claim_of(Claim::Kind::kValue, {"a"}, at_least, at_most);
}
Claim order(double tolerance = 0) {
  Claim claim = claim_of(Claim::Kind::kOrder, {"a", "b", "c"});
  claim.tolerance = tolerance;
  return claim;
}

ClaimVerdict verdict(const Claim& claim, const std::vector<Outcome>& rows) { return judge(claim, rows).verdict; }

TEST(RatioClaim, HoldsDiffersOrIsUndecidedByItsInterval) {
  const std::vector<Outcome> clear = rows_of({20, 21, 19}, {10, 10, 10});
  EXPECT_EQ(verdict(ratio(1.0), clear), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(ratio(1.0, 3.0), clear), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(ratio(1.0, 1.5), clear), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(ratio(3.0), clear), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(ratio(2.0), clear), ClaimVerdict::kUndecided);
  EXPECT_EQ(verdict(ratio(1.0), rows_of({20, 9, 13}, {10, 10, 10})), ClaimVerdict::kUndecided);
  const Finding finding = judge(ratio(1.0), clear);
  EXPECT_NEAR(*finding.number, 2, 0.01);
  ASSERT_TRUE(finding.interval);
  EXPECT_EQ(finding.n, 3);
  EXPECT_THAT(finding.text, testing::MatchesRegex("2\\.00x \\[1\\.[0-9]+, 2\\.[0-9]+\\], n = 3"));
}

TEST(RatioClaim, OfTwoPairsTheNumberDecides) {
  const Finding finding = judge(ratio(1.0), rows_of({20, 9}, {10, 10}));
  EXPECT_EQ(finding.verdict, ClaimVerdict::kHolds);
  EXPECT_FALSE(finding.interval);
  EXPECT_THAT(finding.text, HasSubstr("n = 2"));
}

TEST(RatioClaim, EqualPairsHaveAnIntervalWithoutWidth) {
  const std::vector<Outcome> same = rows_of({7, 8, 9}, {7, 8, 9});
  EXPECT_EQ(verdict(ratio(1.0), same), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(ratio(1.0, 1.0), same), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(ratio(1.01), same), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(ratio(1.1, 1.1), rows_of({1.1, 2.2, 3.3}, {1, 2, 3})), ClaimVerdict::kHolds) << "but for rounding";
}

TEST(RatioClaim, PairsDrawsAndNotRows) {
  std::vector<Outcome> rows = rows_of({20, 40, 80}, {40, 20, 10});
  std::swap(rows[3].draw, rows[5].draw);
  EXPECT_NEAR(*judge(ratio(1.0), rows).number, 2, 1e-9);
  rows[4].draw.repeat = 7;
  EXPECT_EQ(judge(ratio(1.0), rows).n, 2);
}

TEST(RatioClaim, NeverReachedIsLaterThanEverything) {
  const std::vector<Outcome> first = rows_of({kNot, kNot, kNot}, {5, 5, 5});
  EXPECT_EQ(verdict(ratio(1.5), first), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(ratio(1.5, 2.0), first), ClaimVerdict::kDiffers);
  EXPECT_THAT(judge(ratio(1.5), first).text, HasSubstr("never reached / 5.000"));
  const std::vector<Outcome> second = rows_of({5, 5, 5}, {kNot, kNot, kNot});
  EXPECT_EQ(verdict(ratio(1.0), second), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(ratio({}, 1.0), second), ClaimVerdict::kHolds);
  EXPECT_THAT(judge(ratio({}, 1.0), second).reason, HasSubstr("b: never reached"));
}

TEST(RatioClaim, DiffersWhereTheRowsSayNothing) {
  EXPECT_THAT(judge(ratio(1.0), rows_of({kNot, kNot}, {kNot, kNot})).reason, HasSubstr("neither reached"));
  const Finding now_and_then = judge(ratio(1.0), rows_of({9, kNot, 9}, {5, 5, 5}));
  EXPECT_EQ(now_and_then.verdict, ClaimVerdict::kDiffers);
  EXPECT_THAT(now_and_then.reason, HasSubstr("a: reached in 2 of 3 repeats only"));
  std::vector<Outcome> failed = rows_of({9, 9, 9}, {5, 5, 5});
  failed[0].cells["status"].text = "failed";
  EXPECT_EQ(judge(ratio(1.0), failed).verdict, ClaimVerdict::kHolds);
  EXPECT_EQ(judge(ratio(1.0), failed).n, 2);
  EXPECT_THAT(judge(ratio(1.0), failed).reason, HasSubstr("a: 1 of 3 trials failed"));
  for (int i : {1, 2}) failed[std::size_t(i)].cells["status"].text = "failed";
  EXPECT_EQ(judge(ratio(1.0), failed).verdict, ClaimVerdict::kDiffers);
  EXPECT_THAT(judge(ratio(1.0), failed).reason, HasSubstr("all trials failed"));
  EXPECT_TRUE(judge(ratio(1.0), failed).failed);
  EXPECT_FALSE(now_and_then.failed);
  EXPECT_THAT(judge(ratio(1.0), rows_of({0, 1, 1}, {1, 1, 1})).reason, HasSubstr("0 or below"));
}

TEST(Claims, RefuseWhatIsNotThere) {
  const std::vector<Outcome> rows = rows_of({1, 2, 3}, {1, 2, 3});
  Claim other = ratio(1.0);
  other.metric = "hapiness";
  EXPECT_THROW(judge(other, rows), Error);
  EXPECT_THROW(judge(claim_of(Claim::Kind::kRatio, {"a", "z"}, 1.0), rows), Error);
  EXPECT_THROW(judge(claim_of(Claim::Kind::kValue, {""}, 1.0), rows), Error) << "more than one";
}

TEST(ValueClaim, IsOfTheMedian) {
  EXPECT_EQ(verdict(value(9.0, 12.0), rows_of({10, 11, 10}, {})), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(value(11.5), rows_of({10, 11, 10}, {})), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(value(10.5), rows_of({10, 11, 10}, {})), ClaimVerdict::kUndecided) << "smallest to largest";
  EXPECT_EQ(verdict(value(10.5), rows_of({10, 11}, {})), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(value({}, 20.0), rows_of({kNot, kNot, kNot}, {})), ClaimVerdict::kDiffers);
  EXPECT_THAT(judge(value(9.0), rows_of({10, 11, 10}, {})).text, HasSubstr("10.00 [10.00, 11.00], n = 3"));
}

TEST(OrderClaim, HoldsWhereMediansAscend) {
  EXPECT_EQ(verdict(order(), rows_of({1, 1.1, 1}, {2, 2.1, 2}, {3, 3.1, 3})), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(order(), rows_of({1, 1.1, 1}, {3, 3.1, 3}, {2, 2.1, 2})), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(order(), rows_of({1, 1, 1}, {2, 3, 2}, {2, 2, 3})), ClaimVerdict::kUndecided);
  EXPECT_EQ(verdict(order(), rows_of({1, 1}, {2, 2}, {1.99, 1.99})), ClaimVerdict::kDiffers);
  EXPECT_EQ(verdict(order(0.02), rows_of({1, 1}, {2, 2}, {1.99, 1.99})), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(order(), rows_of({1, 1}, {2, 2}, {kNot, kNot})), ClaimVerdict::kHolds);
  EXPECT_EQ(verdict(order(), rows_of({kNot, kNot}, {2, 2}, {3, 3})), ClaimVerdict::kDiffers);
  const Finding finding = judge(order(), rows_of({1, 1}, {3, 3}, {2, 2}));
  EXPECT_THAT(finding.text, HasSubstr("a 1.000; b 3.000; c 2.000, n = 2"));
  EXPECT_THAT(finding.reason, HasSubstr("c after b: differs"));
}

TEST(Claims, CaptionSaysWhatAReaderMustKnow) {
  EXPECT_EQ(caption_of(rows_of({1, 2, 3}, {1, 2, 3})),
            "n = 3; seed 1; virtual time; mean model of lenet on fashion_mnist; untuned; readings x/X1");
}

TEST(Claims, TakeTheLargestOfRanks) {
  std::vector<Outcome> rows = rows_of({1, 2}, {});
  add_largest_of_ranks(rows,
                       "trial,scenario,variant,seed,repeat,rank,role,gap_max\na/1/0,homogeneous,a,1,0,0,worker,3\n"
                       "a/1/0,homogeneous,a,1,0,1,worker,16\na/1/1,homogeneous,a,1,1,0,worker,2\n");
  Claim gap = value(2.0, 16.0);
  gap.metric = "ranks.gap_max";
  const Finding finding = judge(gap, rows);
  EXPECT_EQ(finding.verdict, ClaimVerdict::kHolds);
  EXPECT_EQ(*finding.number, 9);
}

}  // namespace
}  // namespace hopbench
