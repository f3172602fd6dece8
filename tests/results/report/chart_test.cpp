// The language of charts, and the checker that the report's tests use.
#include "results/report/chart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/results/report/page_checker.h"

namespace hopbench {
namespace {

TEST(CheckMarkup, FindsWhatIsWrong) {
  EXPECT_EQ(check_markup("<p class=\"a\">a &amp; b</p>"), "");
  EXPECT_NE(check_markup("<p>a & b</p>"), "");
  EXPECT_NE(check_markup("<p><b></p></b>"), "");
  EXPECT_NE(check_markup("<p class=a>x</p>"), "");
  EXPECT_NE(check_markup("<p>"), "");
  EXPECT_NE(check_markup("<script>if (a < b) {}"), "");
  EXPECT_EQ(check_markup("<script>if (a < b && c) {}</script>"), "");
}

TEST(Chart, TicksAreRound) {
  const chart::Axis axis = chart::make_axis("", 0, 2824);
  EXPECT_EQ(axis.ticks, (std::vector<double>{0, 1000, 2000, 3000}));
  EXPECT_EQ(axis.tick_text(1000), "1000");
  const chart::Axis small = chart::make_axis("", 0.31, 0.47);
  EXPECT_NEAR(small.low, 0.3, 1e-12);
  EXPECT_EQ(small.tick_text(small.ticks[1]), "0.35");
  EXPECT_EQ(chart::make_axis("", 3, 3).ticks.size() > 1, true);
  const chart::Axis log = chart::make_log_axis("", 0.01, 550);
  EXPECT_EQ(log.tick_text(log.ticks.front()), "0.01");
  EXPECT_NEAR(log.at(550), 1, 1e-12);
}

TEST(Chart, MarkupIsCleanUtf8) {
  EXPECT_EQ(chart::markup("a<b>&\"'\n\xC2\xB5"), "a&lt;b&gt;&amp;&quot;&#39; \xC2\xB5");
  EXPECT_EQ(chart::markup("\xC0\xAF\x02"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(chart::shortened("\xC2\xB5\xC2\xB5\xC2\xB5", 3), "\xC2\xB5\xC2\xB5\xC2\xB5");
  EXPECT_EQ(chart::shortened("\xC2\xB5\xC2\xB5\xC2\xB5", 2), "\xC2\xB5\xE2\x80\xA6");
}

}  // namespace
}  // namespace hopbench
