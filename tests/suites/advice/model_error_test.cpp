// The file of model errors: what it gives where errors were measured, and where not.
#include "suites/advice/model_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/base/error.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = "family,from,to,cells,least,q05,q25,q50,q75,q95,most\n";

class ModelErrorFile : public testing::Test {
 protected:
  ModelErrors read(const std::string& rows) {
    folder_.write("errors.csv", kHead + rows);
    return ModelErrors::read(folder_ / "errors.csv");
  }
  std::string why(const std::string& text) {
    folder_.write("errors.csv", text);
    try {
      ModelErrors::read(folder_ / "errors.csv");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  Folder folder_;
};

TEST_F(ModelErrorFile, GivesPointsOfTheMeasuredQuantiles) {
  const ModelErrors errors = read("gossip,0,0.1,40,-0.10,-0.05,-0.02,0,0.02,0.05,0.10\n");
  const LikelyErrors likely = errors.of("gossip", 0.05);
  EXPECT_FALSE(likely.outside);
  ASSERT_EQ(likely.logs.size(), 20u);
  EXPECT_TRUE(std::is_sorted(likely.logs.begin(), likely.logs.end()));
  EXPECT_NEAR(likely.logs.front(), -0.075, 1e-12) << "half way from the least to the 5 % quantile";
  EXPECT_NEAR(likely.logs[9] + likely.logs[10], 0, 1e-12);
}

TEST_F(ModelErrorFile, DoublesTheErrorsOfAllWhereNoneWereMeasured) {
  const ModelErrors errors = read(
      "gossip,0,0.1,40,-0.10,-0.05,-0.02,0,0.02,0.05,0.10\n"
      "hop,0,0.1,9,-0.10,-0.05,-0.02,0,0.02,0.05,0.10\n"
      "all,0,10,80,-0.30,-0.2,-0.1,0.01,0.1,0.2,0.3\n");
  for (const auto& [family, ratio] : {std::pair("gossip", 0.1), {"hop", 0.05}, {"groups", 0.05}, {"gossip", 50.0}}) {
    const LikelyErrors likely = errors.of(family, ratio);
    EXPECT_TRUE(likely.outside) << family << " at " << ratio;
    EXPECT_NEAR(likely.logs.front(), 0.009 + 2 * (-0.25 - 0.009), 1e-12) << family << ": around the median";
  }
}

TEST_F(ModelErrorFile, AssumesTenPercentWhereNothingWasMeasuredAtAll) {
  const LikelyErrors likely = read("").of("gossip", 0.05);
  EXPECT_TRUE(likely.outside);
  EXPECT_TRUE(likely.assumed);
  EXPECT_NEAR(likely.logs.front(), -0.095, 1e-12);
  EXPECT_NEAR(likely.logs.back(), 0.095, 1e-12);
}

TEST_F(ModelErrorFile, IsRefusedWithThePlaceIfItIsNoSuchFile) {
  EXPECT_THAT(why(""), HasSubstr("errors.csv: is empty: the header is missing"));
  EXPECT_THAT(why(std::string(kHead) + "hopp,0,1,20,0,0,0,0,0,0,0\n"), HasSubstr("'hopp' is neither a family"));
  EXPECT_THAT(why("family,from\n"), HasSubstr("errors.csv:1: the header must be family,from,to,cells"));
  EXPECT_THAT(why(std::string(kHead) + "hop,0,1,20,0,0,0\n"), HasSubstr("errors.csv:2: 7 cells, not 11"));
  EXPECT_THAT(why(std::string(kHead) + "hop,0,1,20,0,0,0,x,0,0,0\n"), HasSubstr("'x' is not a number"));
  EXPECT_THAT(why(std::string(kHead) + "hop,0,1,20,0,0,0,nan,0,0,0\n"), HasSubstr("'nan' is not a number"));
  EXPECT_THAT(why(std::string(kHead) + "hop,0,1,20,0,0,0,-1,0,0,0\n"), HasSubstr("the quantiles must ascend"));
  for (const char* far : {"-1e308,0,0,0,0,0,0", "0,0,0,0,0,0,1e308", "0,0,0,0,0,0,inf"})
    EXPECT_THAT(why(std::string(kHead) + "hop,0,1,20," + far + "\n"), HasSubstr("must lie between -10 and 10")) << far;
  EXPECT_THAT(why(std::string(kHead) + "hop,1,1,20,0,0,0,0,0,0,0\n"), HasSubstr("'to' must be above 'from'"));
}

TEST(ModelErrorShipped, CanBeRead) { ModelErrors::read(source_dir() + "/suites/advice/model_error.csv"); }

}  // namespace
}  // namespace hopbench
