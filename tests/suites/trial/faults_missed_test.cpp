// Faults that never came, and why, in a trial's record.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backends/transport/wire.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

// AD-PSGD: rank 1, which only answers, is done after 1.8 s, the others after some 0.3 s.
constexpr const char* kApart = R"(schema = 1
[run]
world_size = 4
iterations = 30
repeats = 1
warmup_time = "0s"
evaluations = 0
[model]
name = "quadratic"
size = 64
batch = 4
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "adpsgd"
[[measure]]
what = "convergence"
[[scenario]]
name = "x"
compute = [{ kind = "constant", ranks = [1], factor = 6.0 }]
faults = [)";

TrialSpec apart(const std::string& faults, const char* credits = "") {
  std::string text = kApart + faults + "]\n";
  const std::string iterations = "iterations = 30";
  if (*credits != '\0') text.replace(text.find(iterations), iterations.size(), credits);
  return parse_suite(text, "apart.toml", {}).trials.at(0);
}

/// Returns the text about faults that never came; empty if all came.
std::string missed(const TrialRecord& record) {
  const auto& all = record.warnings;
  const auto is_it = [](const Warning& warning) { return warning.kind == WarningKind::kFaultNeverCame; };
  const auto at = std::find_if(all.begin(), all.end(), is_it);
  return at == all.end() ? "" : at->text;
}

std::string missed(const std::string& faults, const char* credits = "") {
  return missed(simulate_trial(apart(faults, credits)));
}

constexpr const char* kBetween = R"({ kind = "crash", ranks = [2], at = "1500ms" },
    { kind = "hang", ranks = [0, 1, 2], at = "1400ms", lasts = "5ms" }, { kind = "leave", ranks = [3], at = "1450ms" },
    { kind = "crash", ranks = [1], at = "9s" })";
constexpr const char* kBetweenTold =
    "crash of rank 2 at 1.5s, hang of rank 0, 2 at 1.4s, leave of rank 3 at 1.45s: the rank was done before; "
    "crash of rank 1 at 9s: the trial was over before";

TEST(FaultsThatNeverCame, AreOfARankThatIsDoneOrOfTheTrial) {
  EXPECT_EQ(missed(kBetween), kBetweenTold);
  EXPECT_EQ(missed(R"({ kind = "hang", ranks = [2], iteration = 30, lasts = "5ms" })"),
            "hang of rank 2 in iteration 30: the rank was done before");
}

TEST(FaultsThatNeverCame, AreSlowdownsAndLinkRulesToo) {
  TrialSpec spec = apart("");
  EXPECT_EQ(missed(simulate_trial(spec)), "");
  spec.scenario.compute.push_back(spec.scenario.compute.front());
  spec.scenario.compute.back().from = Time(std::chrono::minutes(1));
  spec.scenario.links.push_back({.a = 0, .bandwidth = 1e6, .from = Time(std::chrono::minutes(2))});
  EXPECT_EQ(missed(simulate_trial(spec)),
            "compute rule 2 from 60s: the trial was over before; link rule 1 from 120s: the trial was over before");
}

TEST(FaultsThatNeverCame, AreToldAlikeWithRealProcesses) {
  if (const std::string why = find_transport("shm").unavailable(); !why.empty()) GTEST_SKIP() << why;
  TrialSpec spec = apart(kBetween);
  spec.transport = "shm";
  const TrialRecord record = execute_trial(spec, {nullptr, {}, ""});
  ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
  EXPECT_EQ(missed(record), kBetweenTold);
}

TEST(FaultsThatNeverCame, ALeaveInTheLastIterationIsNone) {
  const RankRecord rank = simulate_trial(apart("")).ranks[3];
  const Time last_but_one = rank.marks.end()[-2].end;
  const std::string at =
      std::to_string(((last_but_one + (rank.finished - last_but_one) / 2).time_since_epoch()).count() / 1000) + "us";
  const std::string told = missed("{ kind = \"leave\", ranks = [3], at = \"" + at + "\" }");
  EXPECT_TRUE(told.starts_with("leave of rank 3 at ")) << told;
  EXPECT_TRUE(told.ends_with("s: the rank began no iteration after that")) << told;
}

TEST(FaultsThatNeverCame, AreHangsOfWhoIsLostBefore) {
  const std::string hang = R"({ kind = "hang", ranks = [2], at = "100ms", lasts = "5ms" })";
  const std::string early = R"({ kind = "hang", ranks = [2], at = "30ms", lasts = "5ms" })";
  for (const char* loss : {"crash", "leave"}) {
    const std::string lost = std::string("{ kind = \"") + loss + R"(", ranks = [2], at = "50ms" }, )";
    EXPECT_EQ(missed(lost + hang), "hang of rank 2 at 100ms: the rank was lost before") << loss;
    EXPECT_EQ(missed(lost + early), "") << loss;
  }
  const std::string leaves = R"({ kind = "leave", ranks = [2], iteration = 10 }, )";
  EXPECT_EQ(missed(leaves + R"({ kind = "hang", ranks = [2], iteration = 12, lasts = "5ms" })"),
            "hang of rank 2 in iteration 12: the rank was lost before");
  EXPECT_EQ(missed(leaves + R"({ kind = "hang", ranks = [2], iteration = 8, lasts = "5ms" })"), "");
}

// Rank 1 is the last, and the trial's time is of the others.
TEST(FaultsThatNeverCame, AreNotThoseBeforeTheLastWorkerIsLost) {
  EXPECT_EQ(missed(R"({ kind = "crash", ranks = [1], at = "1500ms" },
                      { kind = "cut", a = 1, at = "1200ms", lasts = "5ms" })"),
            "");
}

TEST(FaultsThatNeverCame, AJoinAfterTheLastSampleFindsNothingToDo) {
  const std::string join = R"({ kind = "join", ranks = [2], at = "9s" })";
  EXPECT_EQ(missed(join, "samples = 240"), "join of rank 2 at 9s: nothing was left to do");
  EXPECT_EQ(missed(join), "") << "it has iterations of its own";
}

}  // namespace
}  // namespace hopbench
