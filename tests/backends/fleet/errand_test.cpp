// Errands: single processes that agents start and supervise by themselves.
#include <map>

#include "tests/backends/fleet/fleet_fixture.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

LaunchResult result_of(bool ok) {
  LaunchResult result;
  result.ok = ok;
  result.wall_s = 0.1;
  result.ranks.resize(1);
  result.ranks[0].result = ok ? std::string("a\n\0\xff", 4) : "";
  if (!ok) result.failure = {FailureKind::kKilled, 0, "rank 0 was killed\nby \xff"};
  return result;
}

TEST(ErrandText, IsReadAsItWasWritten) {
  Errand errand{.job = "a\nb", .place = {2, 5}};
  errand.rendezvous_timeout = milliseconds(1), errand.stall_timeout = milliseconds(2);
  errand.trial_timeout = milliseconds(3);
  Errand read;
  ASSERT_TRUE(from_text(to_text(errand), read));
  EXPECT_EQ(read.job, "a\nb");
  EXPECT_EQ(read.place, (LocalPlace{2, 5}));
  EXPECT_EQ(read.rendezvous_timeout, milliseconds(1));
  EXPECT_EQ(read.stall_timeout, milliseconds(2));
  EXPECT_EQ(read.trial_timeout, milliseconds(3));
  for (const char* wrong : {"", "\n", "{}\n", "[]\n", "{\"number\":1}\n", "x\ny"})
    EXPECT_FALSE(from_text(wrong, read)) << wrong;
  errand.place = {5, 5};
  EXPECT_FALSE(from_text(to_text(errand), read)) << "places count from 0";
}

TEST(ErrandText, OfAResultIsReadAsItWasWritten) {
  LaunchResult read;
  ASSERT_TRUE(result_from_text(result_to_text(result_of(true)), read));
  EXPECT_TRUE(read.ok);
  EXPECT_EQ(read.wall_s, 0.1);
  EXPECT_EQ(read.ranks.at(0).result, std::string("a\n\0\xff", 4));
  EXPECT_FALSE(read.complaint);
  LaunchResult failed = result_of(false);
  ASSERT_TRUE(result_from_text(result_to_text(failed), read));
  EXPECT_FALSE(read.ok);
  EXPECT_EQ(read.failure.kind, FailureKind::kKilled);
  EXPECT_EQ(read.failure.text, failed.failure.text);
  failed.complaint = Failure{FailureKind::kError, -1, "disk"};
  failed.interrupted = true;
  ASSERT_TRUE(result_from_text(result_to_text(failed), read));
  EXPECT_TRUE(read.interrupted);
  ASSERT_TRUE(read.complaint);
  EXPECT_EQ(read.complaint->text, "disk");
  EXPECT_EQ(read.failure.text, failed.failure.text);
  for (const char* wrong :
       {"", "{}\n", "x", "{\"ok\":true,\"interrupted\":false,\"wall_s\":1,\"failure\":9,\"complaint\":0}\nx"})
    EXPECT_FALSE(result_from_text(wrong, read)) << wrong;
}

class ErrandsOfAFleet : public FleetTest {
 protected:
  void begin(int process, std::int64_t number, const std::string& play,
             Duration limit = std::chrono::seconds(20)) const {
    Errand errand{.job = play};
    errand.rendezvous_timeout = errand.stall_timeout = std::chrono::seconds(20);
    errand.trial_timeout = limit;
    fleet_->begin_errand(process, number, errand);
  }
  /// Returns the results of that many errands, by number. Fewer if they do not come in time.
  std::map<std::int64_t, EndedErrand> results(std::size_t number) const {
    std::map<std::int64_t, EndedErrand> all;
    for (int i = 0; i < 2000 && all.size() < number; ++i) {
      for (EndedErrand& ended : fleet_->await_errands(milliseconds(10))) all[ended.number] = std::move(ended);
    }
    EXPECT_EQ(all.size(), number);
    return all;
  }
};

TEST_F(ErrandsOfAFleet, ComeBackWithTheirResults) {
  gather(3);
  for (std::int64_t number = 1; number <= 8; ++number) begin(int(number % 2) + 1, number, "big");
  for (auto& [number, ended] : results(8)) {
    EXPECT_TRUE(ended.result.ok) << ended.result.failure.text;
    EXPECT_EQ(ended.process, int(number % 2) + 1);
    EXPECT_EQ(ended.result.ranks.at(0).result, std::string(5'000'000, 'a'));
    EXPECT_GT(ended.result.wall_s, 0);
  }
  EXPECT_TRUE(eventually([] { return ranks_alive() == 0; }));
  EXPECT_TRUE(run(trial("start")).ok) << "trials of several ranks go on as before";
  begin(1, 9, "start");
  EXPECT_TRUE(results(1).at(9).result.ok);
}

TEST_F(ErrandsOfAFleet, AreUnderWayAtOnce) {
  gather(2);
  for (const std::int64_t number : {1, 2, 3}) begin(1, number, "polite");
  EXPECT_TRUE(eventually([] { return ranks_alive() == 3; }));
  fleet_->interrupt_errands();
  for (auto& [number, ended] : results(3)) EXPECT_TRUE(ended.result.interrupted) << number;
  begin(1, 4, "start");
  EXPECT_TRUE(results(1).at(4).result.ok) << "the interrupt was for the others";
}

TEST_F(ErrandsOfAFleet, ArePreparedOneAtATime) {
  gather(2);
  for (const std::int64_t number : {1, 2, 3}) begin(1, number, "variable");
  for (auto& [number, ended] : results(3)) {
    EXPECT_EQ(ended.result.ranks.at(0).result, "HB_TEST_VARIABLE=prepared for variable, beside 0\n") << number;
  }
}

TEST_F(ErrandsOfAFleet, FailAsTheyWouldHere) {
  gather(2);
  begin(1, 1, "fail 0");
  begin(1, 2, "kill 0");
  begin(1, 3, "beat", milliseconds(300));
  fleet_->begin_errand(1, 4, {.job = "start", .place = {1, 1}});
  const auto all = results(4);
  ASSERT_TRUE(all.at(1).result.complaint);
  EXPECT_EQ(all.at(1).result.complaint->text, "the data set is missing");
  EXPECT_EQ(all.at(2).result.failure.text,
            "rank 0 was killed by signal 9 (SIGKILL) while waiting in iteration 5: a token");
  EXPECT_EQ(all.at(3).result.failure.kind, FailureKind::kTimeLimit);
  EXPECT_THAT(all.at(4).result.failure.text, HasSubstr("did not understand"));
}

TEST_F(ErrandsOfAFleet, AreLostWithTheirAgentAlone) {
  gather(3);
  begin(1, 1, "beat");
  begin(2, 2, "polite");
  EXPECT_TRUE(eventually([] { return ranks_alive() == 2; }));
  kill(agents_[0]->pid(), SIGKILL);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(fleet_->await_errands(milliseconds(10)).empty());
    return !fleet_->why_lost(1).empty();
  }));
  EXPECT_THAT(fleet_->why_lost(1), HasSubstr("its connection has ended"));
  EXPECT_TRUE(eventually([] { return ranks_alive() == 1; })) << "its process dies with it";
  EXPECT_EQ(fleet_->why_lost(2), "");
  begin(1, 3, "start");
  fleet_->interrupt_errands();
  EXPECT_EQ(results(1).begin()->first, 2);
}

TEST_F(ErrandsOfAFleet, DieWithTheRun) {
  gather(2);
  begin(1, 1, "deaf");
  EXPECT_TRUE(eventually([] { return ranks_alive() == 1; }));
  fleet_->set_exit_code(5);
  fleet_.reset();
  EXPECT_EQ(agents_[0]->wait(), 5);
  EXPECT_EQ(ranks_alive(), 0u);
}

}  // namespace
}  // namespace hopbench
