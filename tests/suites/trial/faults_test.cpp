// Faults of a scenario: at exact times in virtual time, and the same with real processes. The test binary is its own
// rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backends/transport/wire.h"
#include "protocols/node/extra.h"
#include "protocols/node/protocol.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/backends/transport/transport_names.h"
#include "tests/folder.h"

namespace hopbench {

const Protocol& periodic_average_protocol();

/// In place of the library's: the example, once as a protocol that goes on without who is lost and once as one that
/// does not.
std::vector<const Protocol*> extra_protocols() {
  static const auto like_the_example = [](const char* name, OnLoss (*on_loss)(const KnobValues&)) {
    Protocol protocol = periodic_average_protocol();
    protocol.name = name;
    protocol.on_loss = on_loss;
    return protocol;
  };
  static const Protocol sturdy = like_the_example("sturdy", always<OnLoss::kContinues>);
  static const Protocol fragile = like_the_example("fragile", nullptr);
  return {&sturdy, &fragile};
}

namespace {

// Four workers, 30 iterations of 10 ms, averaging with everybody in each; nothing else takes time.
constexpr const char* kTop = R"(schema = 1
[run]
world_size = 4
iterations = 30
repeats = 1
warmup_time = "0s"
evaluations = 0
remeasure = 0
[model]
name = "quadratic"
size = 64
batch = 4
[compute]
backend = "reference"
pace = "10ms"
vector_rate = 0
[topology]
name = "complete"
[network]
latency = "0us"
bandwidth = 0
)";

TrialSpec trial_with(const std::string& faults, const std::string& protocol = "sturdy") {
  const std::string text = kTop + std::string("emulate = true\n[[protocol]]\nname = \"") + protocol +
                           (protocol == "sturdy" || protocol == "fragile" ? "\"\nperiod = 1" : "\"") +
                           (protocol == "hop" ? "\nbackup = 1" : "") + "\n[[scenario]]\nname = \"x\"\nfaults = [" +
                           faults + "]\n[[measure]]\nwhat = \"convergence\"\n";
  TrialSpec spec = parse_suite(text, "faults.toml", {}).trials.at(0);
  spec.emulate = false;
  spec.transport = "sim";
  return spec;
}

TrialRecord simulated(const std::string& faults, const std::string& protocol = "sturdy") {
  return simulate_trial(trial_with(faults, protocol));
}

/// The text of a warning of the record; empty if it has none of that kind.
std::string warned(const TrialRecord& record, WarningKind kind) {
  for (const Warning& warning : record.warnings) {
    if (warning.kind == kind) return warning.text.empty() ? "yes" : warning.text;
  }
  return "";
}

Duration hung(const RankRecord& record) {
  const auto wait = record.waits.find("the end of its hang");
  return wait == record.waits.end() ? Duration{} : wait->second;
}

Time at_ms(std::int64_t ms) { return Time{} + std::chrono::milliseconds(ms); }

std::string simulated_failure(const std::string& faults, const std::string& protocol = "fragile") {
  try {
    simulate_trial(trial_with(faults, protocol));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_lost(const TrialRecord& record, const std::string& how, std::int64_t ms) {
  EXPECT_EQ(record.ranks_lost, 1);
  EXPECT_DOUBLE_EQ(record.first_lost_s, double(ms) / 1e3);
  EXPECT_EQ(record.ranks[3].lost, how);
  EXPECT_EQ(record.ranks[3].finished, at_ms(ms));
  for (int r = 0; r < 3; ++r) EXPECT_EQ(record.ranks[std::size_t(r)].lost, "");
}

TEST(Faults, AreNoneWithoutAny) {
  const TrialRecord record = simulated("");
  EXPECT_EQ(record.ranks_lost, 0);
  EXPECT_EQ(record.first_lost_s, -1);
  EXPECT_DOUBLE_EQ(record.time_s, 0.3);
}

TEST(Faults, ACrashAtATimeIsAtThatTime) {
  const TrialRecord record = simulated(R"({ kind = "crash", ranks = [3], at = "255ms" })");
  expect_lost(record, "crash", 255);
  EXPECT_DOUBLE_EQ(record.time_s, 0.3) << "nobody waits for the dead";
  EXPECT_EQ(record.ranks[0].iters, 30);
}

TEST(Faults, ACrashAtAnIterationIsBeforeItsGradient) {
  const TrialRecord record = simulated(R"({ kind = "crash", ranks = [3], iteration = 20 })");
  expect_lost(record, "crash", 200);
  EXPECT_DOUBLE_EQ(record.time_s, 0.3);
}

// With real processes all else has died with it.
TEST(Faults, OfACrashTheRecordKeepsWhenItWas) {
  const RankRecord dead = simulated(R"({ kind = "crash", ranks = [3], at = "255ms" })").ranks[3];
  EXPECT_EQ(dead.rank, 3);
  EXPECT_EQ(dead.host, 3);
  EXPECT_EQ(dead.iters + dead.gradients + dead.samples + dead.messages_sent, 0);
  EXPECT_TRUE(dead.marks.empty());
}

TEST(Faults, AnAbsenceThatNeverCameIsToldAndOneThatCameIsNot) {
  for (const char* protocol : {"ps_asp", "allreduce"}) {
    const TrialRecord came = simulated(R"({ kind = "leave", ranks = [3], at = "95ms", lasts = "50ms" })", protocol);
    EXPECT_EQ(warned(came, WarningKind::kFaultNeverCame), "") << protocol;
    const TrialRecord late = simulated(R"({ kind = "leave", ranks = [3], at = "95s", lasts = "50ms" })", protocol);
    EXPECT_NE(warned(late, WarningKind::kFaultNeverCame).find("leave of rank 3 at 95s"), std::string::npos) << protocol;
  }
}

// The gap is to the slowest worker that is there.
TEST(Faults, AnAbsenceMakesNoGap) {
  const TrialRecord record = simulated(R"({ kind = "leave", ranks = [3], at = "95ms", lasts = "150ms" })", "ps_ssp");
  ASSERT_EQ(record.status, TrialStatus::kOk);
  for (int r = 0; r < 3; ++r) EXPECT_LE(record.ranks[std::size_t(r)].gap_max, record.gap_bound) << r;
  EXPECT_GT(record.ranks[3].iters_jumped, 8);
}

// Crashed at 95 ms, 35 ms after the last checkpoint; replaced after 40 ms. So all is 75 ms later, and nothing else
// changes.
TEST(Faults, ARestartRepeatsTheWorkSinceTheCheckpoint) {
  const std::string crash = R"({ kind = "crash", ranks = [3], at = "95ms", restart = "40ms", checkpoint = "60ms" })";
  const TrialRecord with = simulated(crash, "allreduce"), without = simulated("", "allreduce");
  EXPECT_EQ(with.params_hash, without.params_hash);
  EXPECT_EQ(with.ranks_lost, 0);
  EXPECT_NEAR(with.time_s - without.time_s, 0.070, 1e-3) << "the gradient under way was completed meanwhile";
  const TrialRecord away = simulated(crash, "ps_asp");
  EXPECT_EQ(away.ranks_lost, 0);
  EXPECT_EQ(away.ranks[3].waits.at("its return"), std::chrono::milliseconds(40)) << "the others go on";
}

TEST(Faults, LeaveNoBoundOfTheWholeGraph) {
  const auto bound = [](const std::string& faults) {
    const std::string text =
        kTop + std::string("[transport]\nname = \"sim\"\n[[protocol]]\nname = \"hop\"\nbackup = 1\n[[scenario]]\n") +
        "name = \"x\"\nfaults = [" + faults + "]\n[[measure]]\nwhat = \"convergence\"\n";
    return simulate_trial(parse_suite(text, "faults.toml", {}).trials.at(0)).gap_bound;
  };
  EXPECT_GT(bound(""), 0);
  EXPECT_EQ(bound(R"({ kind = "crash", ranks = [3], iteration = 20 })"), -1);
  EXPECT_EQ(bound(R"({ kind = "leave", ranks = [3], iteration = 20 })"), -1);
}

TEST(Faults, ACrashAfterTheEndIsNone) {
  EXPECT_EQ(simulated(R"({ kind = "crash", ranks = [3], at = "301ms" })").ranks_lost, 0);
  EXPECT_EQ(simulated(R"({ kind = "crash", ranks = [3], iteration = 30 })").ranks_lost, 0);
  EXPECT_EQ(simulated(R"({ kind = "leave", ranks = [3], iteration = 30 })").ranks_lost, 0);
}

TEST(Faults, AWorkerLeavesWhereItWouldBeginAnIteration) {
  for (const char* fault :
       {R"({ kind = "leave", ranks = [3], iteration = 20 })", R"({ kind = "leave", ranks = [3], at = "195ms" })"}) {
    const TrialRecord record = simulated(fault);
    expect_lost(record, "leave", 200);
    EXPECT_EQ(record.ranks[3].iters, 20);
    EXPECT_DOUBLE_EQ(record.time_s, 0.3);
  }
}

TEST(Faults, RatesLossesAndBoundsAreOfThoseWhoStay) {
  const TrialRecord record = simulated(R"({ kind = "leave", ranks = [3], iteration = 2 })");
  EXPECT_NEAR(record.samples_per_s, 3 * 4 / 0.01, 1e-6);
  EXPECT_NEAR(record.window_ideal_samples_per_s, 3 * 4 / 0.01, 1e-6);
  const CurvePoint& end = record.curve.at(0);
  EXPECT_EQ(end.model, "mean");
  EXPECT_EQ(end.consensus_distance, 0) << "the leaver's old model is not in the mean";
  EXPECT_EQ(end.iteration, 30);
  EXPECT_EQ(end.samples, (3 * 30 + 2) * 4) << "what it has learnt counts";
  EXPECT_EQ(record.params_hash, simulated(R"({ kind = "crash", ranks = [3], iteration = 2 })").params_hash);
  EXPECT_NE(record.params_hash, simulated("").params_hash);
}

TEST(Faults, WhoJoinsLateIsWaitedFor) {
  const TrialRecord record = simulated(R"({ kind = "join", ranks = [3], at = "55ms" })");
  EXPECT_DOUBLE_EQ(record.time_s, 0.355);
  EXPECT_EQ(record.ranks_lost, 0);
  EXPECT_EQ(record.ranks[3].iters, 30);
  EXPECT_EQ(record.params_hash, simulated("").params_hash);
}

// Its gradient goes on meanwhile.
TEST(Faults, WhoHangsDoesNothing) {
  const TrialRecord at = simulated(R"({ kind = "hang", ranks = [3], at = "55ms", lasts = "70ms" })");
  EXPECT_DOUBLE_EQ(at.time_s, 0.365);
  EXPECT_DOUBLE_EQ(simulated(R"({ kind = "hang", ranks = [3], iteration = 5, lasts = "70ms" })").time_s, 0.37);
  EXPECT_EQ(at.params_hash, simulated("").params_hash);
}

TEST(Faults, AHangIsWaitingNotComputing) {
  for (const char* protocol : {"sturdy", "allreduce"}) {
    const TrialRecord at = simulated(R"({ kind = "hang", ranks = [3], at = "205ms", lasts = "100ms" })", protocol);
    EXPECT_EQ(at.ranks[3].compute, std::chrono::milliseconds(300)) << protocol;
    EXPECT_EQ(hung(at.ranks[3]), std::chrono::milliseconds(95)) << protocol << ": its gradient is over at 210 ms";
    const TrialRecord in = simulated(R"({ kind = "hang", ranks = [3], iteration = 20, lasts = "100ms" })", protocol);
    EXPECT_EQ(in.ranks[3].compute, std::chrono::milliseconds(300)) << protocol;
    EXPECT_EQ(hung(in.ranks[3]), std::chrono::milliseconds(100)) << protocol;
    EXPECT_EQ(hung(in.ranks[0]), Duration{}) << protocol << ": the others wait for its message";
  }
}

// A rank that hung is not slow: its batches stay as large as they were.
TEST(Faults, AHangDoesNotLookLikeASlowRank) {
  for (const char* protocol : {"lb_bsp", "dynamic_batching"}) {
    const std::int64_t samples = simulated("", protocol).ranks[3].samples;
    for (const char* when : {R"(at = "55ms")", "iteration = 5"}) {
      const std::string fault = R"({ kind = "hang", ranks = [3], lasts = "100ms", )" + std::string(when) + " }";
      EXPECT_EQ(simulated(fault, protocol).ranks[3].samples, samples) << protocol << " " << when;
    }
  }
}

TEST(Faults, WhatIsCutWaits) {
  for (const char* place : {"a = 0, b = 1", "a = 3", "a = 3, b = -1"}) {
    const TrialRecord record =
        simulated(R"({ kind = "cut", )" + std::string(place) + R"(, at = "55ms", lasts = "100ms" })");
    EXPECT_DOUBLE_EQ(record.time_s, 0.395) << place;
    EXPECT_EQ(record.params_hash, simulated("").params_hash);
  }
}

constexpr const char* kTwoCrashes = R"({ kind = "crash", ranks = [1, 2], at = "105ms" })";
constexpr const char* kTwoDead = " cannot go on, as the scenario says: of its 3 in-neighbours rank 1, 2 died, and ";

TEST(Faults, StopAProtocolThatDoesNotGoOn) {
  const std::string end = ", as the scenario says: fragile stops when a worker is lost";
  EXPECT_EQ(simulated_failure(R"({ kind = "crash", ranks = [3], iteration = 20 })"),
            "rank 3 was killed in iteration 20" + end);
  EXPECT_EQ(simulated_failure(R"({ kind = "crash", ranks = [3], at = "255ms" })"),
            "rank 3 was killed in iteration 25" + end);
  EXPECT_EQ(simulated_failure(R"({ kind = "leave", ranks = [3], iteration = 20 })"),
            "rank 3 left in iteration 20" + end);
  EXPECT_EQ(simulated_failure(R"({ kind = "hang", ranks = [3], iteration = 20, lasts = "5ms" })"), "");
  EXPECT_EQ(simulated_failure(R"({ kind = "join", ranks = [3], at = "5ms" })"), "");
  EXPECT_NE(simulated_failure(kTwoCrashes, "hop").find(kTwoDead), std::string::npos);
}

/// Returns the warning about faults that never came; empty if all came.
std::string told(const TrialRecord& record) {
  const auto is_it = [](const Warning& warning) { return warning.kind == WarningKind::kFaultNeverCame; };
  const auto at = std::find_if(record.warnings.begin(), record.warnings.end(), is_it);
  return at == record.warnings.end() ? "" : at->text;
}

constexpr const char* kLate = R"({ kind = "crash", ranks = [3, 1], at = "100s" },
    { kind = "leave", ranks = [2], iteration = 30 }, { kind = "hang", ranks = [2], iteration = 30, lasts = "5ms" },
    { kind = "hang", ranks = [0], at = "90s", lasts = "5ms" }, { kind = "cut", a = 0, at = "80s", lasts = "5ms" })";
constexpr const char* kLateTold =
    "leave of rank 2 in iteration 30, hang of rank 2 in iteration 30: the rank was done before; "
    "crash of rank 1, 3 at 100s, hang of rank 0 at 90s, cut of host 0 at 80s: the trial was over before";

TEST(Faults, AreToldIfTheyNeverCome) {
  EXPECT_EQ(told(simulated(kLate)), kLateTold);
  const TrialRecord came = simulated(R"({ kind = "crash", ranks = [3], iteration = 29 },
      { kind = "join", ranks = [2], at = "5ms" }, { kind = "leave", ranks = [2], at = "20ms" },
      { kind = "hang", ranks = [1], iteration = 29, lasts = "5ms" },
      { kind = "hang", ranks = [0], at = "295ms", lasts = "5ms" },
      { kind = "cut", a = 2, at = "285ms", lasts = "5ms" })");
  EXPECT_EQ(told(came), "");
}

// --- Real processes

class RealFaults : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string why = find_transport(GetParam()).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }
  static TrialRecord real(const std::string& faults, const std::string& protocol = "sturdy", bool emulate = false,
                          const std::string& log = "") {
    TrialSpec spec = trial_with(faults, protocol);
    spec.transport = GetParam();
    spec.emulate = emulate;
    spec.trial_timeout = std::chrono::seconds(20);
    return execute_trial(spec, {nullptr, {}, log});
  }
  /// Expects that these faults do in real processes what they do in virtual time, this late at most.
  static void expect_as_simulated(const std::string& faults, bool emulate = false) {
    const TrialRecord promised = simulated(faults), record = real(faults, "sturdy", emulate);
    ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
    EXPECT_EQ(record.params_hash, promised.params_hash);
    EXPECT_EQ(record.ranks_lost, promised.ranks_lost);
    EXPECT_GE(record.time_s, promised.time_s - 0.001);
    EXPECT_LE(record.time_s, promised.time_s + 3) << "of a busy machine";
    for (std::size_t r = 0; r < 4; ++r) {
      EXPECT_EQ(record.ranks[r].lost, promised.ranks[r].lost);
      EXPECT_EQ(record.ranks[r].iters, promised.ranks[r].iters);
      EXPECT_EQ(record.ranks[r].samples, promised.ranks[r].samples);
      EXPECT_GE(record.ranks[r].finished + std::chrono::milliseconds(1), promised.ranks[r].finished);
    }
    EXPECT_EQ(record.curve.at(0).loss, promised.curve.at(0).loss);
    EXPECT_EQ(record.curve.at(0).samples, promised.curve.at(0).samples);
  }
};

TEST_P(RealFaults, ComeTrueAsInVirtualTime) {
  expect_as_simulated(R"({ kind = "crash", ranks = [3], iteration = 20 })");
  expect_as_simulated(R"({ kind = "leave", ranks = [3, 1], iteration = 20 })");
  expect_as_simulated(R"({ kind = "join", ranks = [3], at = "155ms" })");
  expect_as_simulated(R"({ kind = "hang", ranks = [3], at = "55ms", lasts = "200ms" })");
  expect_as_simulated(R"({ kind = "hang", ranks = [3], iteration = 5, lasts = "200ms" })");
  expect_as_simulated(R"({ kind = "cut", a = 3, at = "55ms", lasts = "200ms" })", true);
}

// Lock-step protocols end with the same bits as without the absence; the others end, on every transport.
TEST_P(RealFaults, AWorkerThatIsAwayReturns) {
  const std::string away = R"({ kind = "leave", ranks = [3], at = "95ms", lasts = "300ms" })";
  for (const char* protocol : {"allreduce", "ps_bsp", "lb_bsp"}) {
    const TrialRecord record = real(away, protocol), promised = simulated(away, protocol);
    ASSERT_EQ(record.status, TrialStatus::kOk) << protocol << ": " << record.failure.text;
    if (std::string(protocol) != "lb_bsp") {
      EXPECT_EQ(record.params_hash, simulated("", protocol).params_hash) << protocol;
      EXPECT_EQ(promised.params_hash, record.params_hash) << protocol;
    }
    EXPECT_GE(record.time_s, 0.59) << protocol;
    EXPECT_EQ(record.ranks_lost, 0) << protocol;
    EXPECT_EQ(record.ranks[3].iters, 30) << protocol;
  }
  for (const char* protocol : {"ps_asp", "ps_ssp", "dssp", "elastic_bsp", "ps_backup", "dbw", "adpsgd"}) {
    const TrialRecord record = real(away, protocol);
    ASSERT_EQ(record.status, TrialStatus::kOk) << protocol << ": " << record.failure.text;
    EXPECT_EQ(record.ranks_lost, 0) << protocol;
    EXPECT_EQ(record.ranks[3].iters + record.ranks[3].iters_jumped, 30) << protocol;
    EXPECT_GE(record.ranks[3].waits.at("its return"), std::chrono::milliseconds(290)) << protocol;
    EXPECT_EQ(warned(record, WarningKind::kFaultNeverCame), "") << protocol;
  }
}

TEST_P(RealFaults, AHangIsWaitingNotComputing) {
  for (const char* protocol : {"sturdy", "allreduce"}) {
    for (const char* when : {R"(at = "55ms")", "iteration = 5"}) {
      const std::string fault = R"({ kind = "hang", ranks = [3], lasts = "500ms", )" + std::string(when) + " }";
      const TrialRecord record = real(fault, protocol);
      ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
      EXPECT_LT(record.ranks[3].compute, std::chrono::milliseconds(700)) << protocol << " " << when;
      EXPECT_GT(hung(record.ranks[3]), std::chrono::milliseconds(400)) << protocol << " " << when;
    }
  }
}

// Quiet that the scenario asks for is no stall, however long.
TEST_P(RealFaults, AreNoStall) {
  for (const char* fault :
       {R"({ kind = "join", ranks = [3], at = "1500ms" })", R"({ kind = "cut", a = 3, at = "55ms", lasts = "1500ms" })",
        R"({ kind = "hang", ranks = [3], at = "55ms", lasts = "1500ms" })"}) {
    TrialSpec spec = trial_with(fault);
    spec.transport = GetParam();
    spec.emulate = true;
    spec.stall_timeout = std::chrono::milliseconds(500);
    spec.trial_timeout = std::chrono::seconds(20);
    const TrialRecord record = execute_trial(spec, {nullptr, {}, ""});
    EXPECT_EQ(record.status, TrialStatus::kOk) << fault << record.failure.text;
    EXPECT_GT(record.time_s, 1.4) << fault;
  }
}

TEST_P(RealFaults, ACrashAtATimeIsAtThatTime) {
  const TrialRecord record = real(R"({ kind = "crash", ranks = [3], at = "155ms" })");
  ASSERT_EQ(record.status, TrialStatus::kOk) << record.failure.text;
  expect_lost(record, "crash", 155);
  EXPECT_EQ(record.ranks[0].iters, 30);
}

TEST_P(RealFaults, StopAProtocolThatDoesNotGoOn) {
  const std::string end = ", as the scenario says: fragile stops when a worker is lost";
  const Failure left = real(R"({ kind = "leave", ranks = [3], iteration = 20 })", "fragile").failure;
  EXPECT_EQ(left.kind, FailureKind::kScenario);
  EXPECT_EQ(left.text, "rank 3 left in iteration 20" + end);
  const Failure crashed = real(R"({ kind = "crash", ranks = [3], iteration = 20 })", "fragile").failure;
  EXPECT_EQ(std::pair(crashed.kind, crashed.rank), std::pair(FailureKind::kScenario, 3));
  EXPECT_TRUE(crashed.text.starts_with("rank 3 was killed by signal 9 (SIGKILL) while ")) << crashed.text;
  EXPECT_TRUE(crashed.text.ends_with("in iteration 20" + end)) << crashed.text;
  EXPECT_NE(real(kTwoCrashes, "hop").failure.text.find(kTwoDead), std::string::npos);
}

TEST_P(RealFaults, AreToldIfTheyNeverCome) { EXPECT_EQ(told(real(kLate, "sturdy", true)), kLateTold); }

/// The lines about faults and deaths of the ranks.
std::vector<std::string> faults_in(const std::string& log) {
  std::ifstream file(log);
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);) {
    const bool fault = line.find(R"("what":"fault")") != std::string::npos;
    if (fault || line.find(R"("what":"gone")") != std::string::npos)
      found.push_back(line.substr(line.find(R"("rank")")));
  }
  return found;
}

TEST_P(RealFaults, AreInTheEventLogAsInVirtualTime) {
  const Folder folder;
  const std::string faults =
      R"({ kind = "crash", ranks = [3], iteration = 20 }, { kind = "leave", ranks = [2], iteration = 10 })";
  ASSERT_EQ(real(faults, "sturdy", false, folder.path() + "/real").status, TrialStatus::kOk);
  ASSERT_EQ(execute_trial(trial_with(faults), {nullptr, {}, folder.path() + "/sim"}).status, TrialStatus::kOk);
  for (const char* log : {"/real", "/sim"}) {
    const std::vector<std::string> found = faults_in(folder.path() + log);
    ASSERT_EQ(found.size(), 4u) << log << ": of two survivors each sees the dead, and two are lost";
    EXPECT_TRUE(found[0].starts_with(R"("rank":2,"what":"fault","iter":9,)")) << found[0];
    EXPECT_NE(found[0].find(R"("text":"leave")"), std::string::npos) << found[0];
    EXPECT_TRUE(found[1].starts_with(R"("rank":3,"what":"fault","iter":20,)")) << found[1];
    EXPECT_NE(found[1].find(R"("text":"crash")"), std::string::npos) << found[1];
  }
}

TEST(Faults, AGradientEndsWithItsCostWhateverHangs) {
  const Folder folder;
  const std::string fault = R"({ kind = "hang", ranks = [3], at = "205ms", lasts = "100ms" })";
  ASSERT_EQ(execute_trial(trial_with(fault), {nullptr, {}, folder.path() + "/log"}).status, TrialStatus::kOk);
  std::ifstream file(folder.path() + "/log");
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(log.find(R"({"t":210000000,"rank":3,"what":"gradient","iter":20,)"), std::string::npos);
  EXPECT_EQ(log.find(R"({"t":305000000,"rank":3,"what":"gradient")"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Over, RealFaults, testing::ValuesIn(single_transports()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace hopbench
