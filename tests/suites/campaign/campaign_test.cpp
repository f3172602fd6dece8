// Campaigns without a process: what runs a trial is the test's own.
#include "suites/campaign/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "backends/base/error.h"
#include "suites/campaign/answer_trials.h"
#include "suites/language/suite.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

Suite suite_of(const std::string& transport, int repeats) {
  SuiteOptions options;
  options.repeats = repeats;
  return parse_suite(
      "schema = 1\n[run]\nworld_size = 2\niterations = 5\n[model]\nname = \"quadratic\"\nsize = 64\n[transport]\nname "
      "= \"" +
          transport + "\"\n[compute]\npace = \"10ms\"\n[[protocol]]\nname = \"allreduce\"\n",
      "t.toml", options);
}

/// Runs no trial, but says what a trial would have recorded.
class FakeTrials {
 public:
  CampaignSetting setting(int jobs) {
    CampaignSetting setting{.jobs = jobs, .interrupts = &interrupts};
    setting.execute = [this](const TrialSpec& spec, const ExecuteOptions&) { return run(spec); };
    return setting;
  }
  std::atomic<int> interrupts{0};
  std::size_t interrupt_at = 1000;  // number of the trial during which the user interrupts
  int disturbances = 0;             // the first ones are disturbed
  std::size_t at_once = 0;          // the most trials that were under way
  std::vector<std::string> begun;

 private:
  TrialRecord run(const TrialSpec& spec) {
    TrialRecord record;
    record.id = spec.id(), record.hash = spec.hash();
    {
      const std::lock_guard lock(mutex_);
      begun.push_back(record.id);
      at_once = std::max(at_once, ++under_way_);
      if (begun.size() == interrupt_at) ++interrupts;
      if (interrupts > 0) record.status = TrialStatus::kInterrupted;
      if (disturbances-- > 0) record.warnings.emplace_back(WarningKind::kContended, "another program");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(spec.repeat == 0 ? 20 : 1));  // the first one ends last
    const std::lock_guard lock(mutex_);
    --under_way_;
    return record;
  }
  std::mutex mutex_;
  std::size_t under_way_ = 0;
};

std::vector<std::string> ids_of(const std::vector<TrialSpec>& trials) {
  std::vector<std::string> ids;
  for (const TrialSpec& spec : trials) ids.push_back(spec.id());
  return ids;
}
std::vector<std::string> ids_of(const std::vector<TrialRow>& rows) {
  std::vector<std::string> ids;
  for (const TrialRow& row : rows) ids.push_back(row.record.id);
  return ids;
}

TEST(Campaign, RowsComeInTheOrderOfThePlanForAnyNumberOfJobs) {
  const Suite suite = suite_of("sim", 6);
  for (const int jobs : {1, 3}) {
    FakeTrials fake;
    EXPECT_EQ(ids_of(run_all(suite.trials, fake.setting(jobs))), ids_of(suite.trials)) << jobs;
    EXPECT_LE(fake.at_once, std::size_t(jobs));
  }
}

TEST(Campaign, ATrialInRealProcessesIsAlone) {
  FakeTrials fake;
  run_all(suite_of("gloo", 4).trials, fake.setting(3));
  EXPECT_EQ(fake.at_once, 1u);
}

TEST(Campaign, MeasuresADisturbedTrialAgainAndSaysSo) {
  FakeTrials fake;
  fake.disturbances = 1;
  const std::vector<TrialRow> rows = run_all(suite_of("gloo", 2).trials, fake.setting(1));
  EXPECT_EQ(fake.begun.size(), 3u);
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(rows[0].record.warnings.size(), 1u);
  EXPECT_EQ(rows[0].record.warnings[0].kind, WarningKind::kMeasuredAgain);
}

TEST(Campaign, BeginsNoTrialAfterAnInterrupt) {
  FakeTrials fake;
  fake.interrupt_at = 2;
  EXPECT_THROW(run_all(suite_of("sim", 6).trials, fake.setting(1)), Error);
  EXPECT_EQ(fake.begun.size(), 2u);
}

class AnswersFromTrials : public testing::Test {
 protected:
  /// Returns the rows of all trials, or nothing if the user interrupted.
  std::vector<TrialRow> rows(const Suite& suite, FakeTrials& fake, const std::string& resume) const {
    AnswerTrials trials({suite, folder_ / "kept", resume, {"hopbench", "tune", "t.toml"}}, fake.setting(1));
    try {
      return trials.rows_of(suite.trials);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kInterrupted);
      return {};
    }
  }
  Folder folder_;
};

TEST_F(AnswersFromTrials, KeepWhatIsDoneAndGoOnWithIt) {
  const Suite suite = suite_of("sim", 6);
  FakeTrials first, second;
  first.interrupt_at = 3;
  testing::internal::CaptureStderr();
  EXPECT_TRUE(rows(suite, first, "").empty());
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("interrupted: 2 trials are kept; go on with: hopbench tune t.toml --resume " + folder_ / "kept"));
  EXPECT_EQ(RunFolder::open(folder_ / "kept").rows().size(), 2u);
  EXPECT_EQ(ids_of(rows(suite, second, folder_ / "kept")), ids_of(suite.trials));
  EXPECT_EQ(second.begun.size(), 4u) << "two are there already";
}

TEST_F(AnswersFromTrials, KeepNothingBeforeTheFirstTrialIsDone) {
  FakeTrials fake;
  fake.interrupt_at = 1;
  EXPECT_TRUE(rows(suite_of("sim", 6), fake, "").empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "kept"));
}

TEST_F(AnswersFromTrials, RefuseTheTrialsOfOtherOptions) {
  FakeTrials first, second;
  first.interrupt_at = 3;
  testing::internal::CaptureStderr();
  rows(suite_of("sim", 6), first, "");
  testing::internal::GetCapturedStderr();
  EXPECT_THROW(AnswerTrials({suite_of("sim", 5), "", folder_ / "kept", {}}, second.setting(1)), Error);
}

}  // namespace
}  // namespace hopbench
