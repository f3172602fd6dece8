#include "suites/trial/trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "protocols/node/protocol.h"

namespace hopbench {
namespace {

// Every field has a value of its own, none its default.
NetworkSpec sample_network() {
  return {.latency = std::chrono::microseconds(7),
          .bandwidth = 1e9 / 3,
          .packet_bytes = 9,
          .local_latency = std::chrono::nanoseconds(3),
          .local_bandwidth = 2e9,
          .overhead = Duration(6),
          .overhead_rate = 3e9,
          .processors = 3,
          .jitter = 0.5,
          .queue = NetworkSpec::Queue::kFifo,
          .goodput = 0.75,
          .burst = 1.5,
          .rendezvous_bytes = 11,
          .host_of = {0, 0, 1},
          .servers_apart = false,
          .rack_of = {0, 1},
          .uplink = 7.5,
          .links = {{0, 2, 5, Duration(4), Time(Duration(1)), Time(Duration(2)), true, true}}};
}

TrialSpec sample() {
  const Protocol& hop = find_protocol("hop");
  TrialSpec spec;
  spec.suite = "s";
  spec.measure = "rate \"x\"";
  spec.scenario_name = "random";
  spec.protocol = "hop";
  spec.label = "hop b\xC3\xA4";
  spec.what = MeasureKind::kConvergence;
  spec.order = 7;
  spec.row_order = 2;
  spec.workload = {.model = "quadratic",
                   .dataset = "quadratic",
                   .dataset_path = "/d",
                   .batch = 3,
                   .split = {SplitKind::kShards, 0.25, 4, 7},
                   .augment = Augment::kPadCropFlip,
                   .backend = "reference",
                   .threads = 2,
                   .workers = 5,
                   .seed = ~std::uint64_t{0},
                   .repeat = 6,
                   .size = 77,
                   .evaluation_samples = 88};
  spec.knobs = KnobValues(hop.knobs);
  spec.knobs.set(hop.knobs, "backup", std::int64_t{1});
  spec.knobs.set(hop.knobs, "form", std::string("serial"));
  spec.optimizer = {.kind = OptimizerKind::kAdamW,
                    .lr = 0.1f,
                    .momentum = 0.9f,
                    .weight_decay = 1e-4f,
                    .nesterov = true,
                    .beta2 = 0.95f,
                    .steps = {{10.5, 0.1f}, {20, 0.01f}}};
  spec.loss = 0.25;
  spec.topology = "edges";
  spec.edges = {{0, 1}, {1, 0}};
  ComputeRule rule{SlowdownKind::kPareto, {1, 2}, 2.5, 1.0 / 3, 0.7, 1.5};
  rule.per = ComputeRule::Per::kTime;
  rule.slot = std::chrono::milliseconds(20);
  rule.correlated = ComputeRule::Correlated::kAll;
  rule.from = Time(std::chrono::seconds(1));
  spec.scenario = {"random", {rule, {}}, {{1, -1, 7, Duration(8), Time(Duration(9))}}};
  spec.scenario.faults = {{FaultKind::kHang, {1}, Time(Duration(5)), 3, Duration(6), 2, 4}};
  spec.transport = "sim";
  spec.network = sample_network();
  spec.instant_network = true;
  spec.emulate = true;
  spec.stop = {StopSpec::Kind::kSamples, 12345678901};
  spec.pace = false;
  spec.costs = {.gradient = std::chrono::milliseconds(40), .vector_bytes_per_s = 1e10};
  spec.step_p99 = std::chrono::milliseconds(11);
  spec.seed = 99;
  spec.repeat = 6;
  spec.warmup = 13;
  spec.warmup_time = std::chrono::seconds(3);
  spec.evaluations = 4;
  spec.target_loss = 0.1;
  spec.target_hold = 5;
  spec.interface = "eth0";
  spec.rendezvous_timeout = spec.stall_timeout = spec.trial_timeout = std::chrono::seconds(1);
  spec.strands = StrandKind::kThreads;
  spec.sim_threads = 2;
  spec.shuffle = 3;
  spec.events = EventDetail::kNone;
  return spec;
}

TEST(Trial, ComesBackWholeFromItsJson) {
  const TrialSpec spec = sample(), again = trial_from_json(to_json(spec));
  EXPECT_EQ(to_json(again), to_json(spec));
  EXPECT_EQ(again.hash(), spec.hash());
  EXPECT_EQ(again.workload.seed, ~std::uint64_t{0});
  EXPECT_EQ(again.optimizer.lr, 0.1f);
  EXPECT_EQ(again.optimizer.steps, spec.optimizer.steps);
  EXPECT_EQ(again.scenario.compute[0].until, kNever);
  EXPECT_EQ(again.scenario.compute[0].probability, 1.0 / 3);
  EXPECT_EQ(again.network.links[0].latency, Duration(4));
  EXPECT_EQ(again.network.links[0].until, Time(Duration(2)));
  EXPECT_TRUE(again.network.links[0].one_way);
  ASSERT_EQ(again.scenario.links.size(), 1u);
  EXPECT_EQ(again.scenario.links[0].from, Time(Duration(9)));
  EXPECT_EQ(again.scenario.links[0].until, kNever);
  ASSERT_EQ(again.scenario.faults.size(), 1u);
  EXPECT_EQ(again.scenario.faults[0].what, FaultKind::kHang);
  EXPECT_EQ(again.scenario.faults[0].lasts, Duration(6));
  EXPECT_EQ(again.scenario.faults[0].b, 4);
  EXPECT_TRUE(again.network.links[0].cut);
  EXPECT_TRUE(again.emulate);
  EXPECT_EQ(again.knobs.text("form"), "serial");
  EXPECT_EQ(again.strands, StrandKind::kThreads);
  EXPECT_EQ(again.stop.amount, 12345678901);
  EXPECT_EQ(again.trial_timeout, std::chrono::seconds(1));
  EXPECT_EQ(again.events, EventDetail::kNone);
  // The sample differs from the default in everything, so a field that is left out would show.
  TrialSpec plain;
  plain.protocol = "hop";
  plain.knobs = KnobValues(find_protocol("hop").knobs);
  EXPECT_EQ(to_json(trial_from_json(to_json(plain))), to_json(plain));
}

TEST(Trial, IsNamedByWhatAReaderWouldSay) { EXPECT_EQ(sample().id(), "s/rate \"x\"/random/hop b\xC3\xA4/99/6"); }

TEST(TrialHash, IsTheSameOnEveryMachineAndEachTime) {
  EXPECT_EQ(sample().hash(), sample().hash());
  EXPECT_EQ(sample().hash().size(), 16u);
  EXPECT_EQ(sample().hash().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(TrialHash, ChangesWithAnythingThatMakesTheTrialAnother) {
  const std::vector<std::function<void(TrialSpec&)>> changes = {
      [](TrialSpec& t) { t.knobs.set(find_protocol("hop").knobs, "max_ig", std::int64_t{6}); },
      [](TrialSpec& t) { t.label = "other"; },
      [](TrialSpec& t) { t.seed = 2; },
      [](TrialSpec& t) { t.workload.repeat = 2; },
      [](TrialSpec& t) { t.workload.split.alpha = 0.26; },
      [](TrialSpec& t) { t.workload.split.feature = 8; },
      [](TrialSpec& t) { t.optimizer.lr = 0.2f; },
      [](TrialSpec& t) { t.optimizer.steps.pop_back(); },
      [](TrialSpec& t) { t.edges.pop_back(); },
      [](TrialSpec& t) { t.scenario.compute[0].ranks = {1}; },
      [](TrialSpec& t) { t.scenario.compute.pop_back(); },
      [](TrialSpec& t) {
        t.network.host_of = {0, 1, 1};
      },
      [](TrialSpec& t) { t.network.links[0].bandwidth = 6; },
      [](TrialSpec& t) { t.network.links[0].one_way = false; },
      [](TrialSpec& t) { t.scenario.links[0].until = Time(Duration(99)); },
      [](TrialSpec& t) { t.scenario.links.clear(); },
      [](TrialSpec& t) { t.scenario.faults[0].ranks = {2}; },
      [](TrialSpec& t) { t.scenario.faults[0].iteration = 4; },
      [](TrialSpec& t) { t.scenario.faults.clear(); },
      [](TrialSpec& t) { t.network.links[0].cut = false; },
      [](TrialSpec& t) { t.emulate = false; },
      [](TrialSpec& t) { t.stop.amount = 1; },
      [](TrialSpec& t) { t.costs.gradient = Duration(1); },
      [](TrialSpec& t) { t.pace = true; },
      [](TrialSpec& t) { t.warmup = 14; },
      [](TrialSpec& t) { t.target_hold = 6; },
      [](TrialSpec& t) { t.shuffle = 4; },
      [](TrialSpec& t) { t.network.overhead = Duration(7); },
      [](TrialSpec& t) { t.network.overhead_rate = 1e9; },
      [](TrialSpec& t) { t.network.processors = 2; },
      [](TrialSpec& t) { t.workload.without = {1}; },
      [](TrialSpec& t) { t.monitor.noise = 0.1; },
      [](TrialSpec& t) { t.monitor.delay = 3; },
      [](TrialSpec& t) { t.target_model = TargetModel::kWorstRank; },
      [](TrialSpec& t) { t.scenario.compute[0].of = ComputeRule::Of::kAll; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TrialSpec other = sample();
    changes[i](other);
    EXPECT_NE(other.hash(), sample().hash()) << "change " << i;
  }
}

TEST(TrialHash, DoesNotChangeWithLimitsAndPlaceInTheRun) {
  TrialSpec other = sample();
  other.rendezvous_timeout = other.stall_timeout = other.trial_timeout = Duration(5);
  other.strands = StrandKind::kFibers;
  other.sim_threads = 8;
  other.events = EventDetail::kAll;
  other.order = 8;
  other.row_order = 3;
  other.step_p99 = Duration(9);
  EXPECT_EQ(other.hash(), sample().hash());
}

TEST(Trial, IsNotReadFromWhatIsNoTrial) {
  for (const char* text : {"", "{", "{}", "[1]", "{\"suite\": 3}"}) {
    try {
      trial_from_json(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
    }
  }
}

// The JSON library would take 1e30 as some integer, and 2^40 as one of its lower bits.
TEST(Trial, IsNotReadFromNumbersThatItsFieldsCannotHold) {
  const std::string good = to_json(sample());
  const std::pair<const char*, const char*> changes[] = {{R"("batch":3)", R"("batch":1e30)"},
                                                         {R"("batch":3)", R"("batch":3.5)"},
                                                         {R"("batch":3)", R"("batch":1099511627776)"},
                                                         {R"("edges":[[0,1])", R"("edges":[[0,1e30])"},
                                                         {R"("host_of":[0,0,1])", R"("host_of":[0,0,1e30])"},
                                                         {R"("lasts":6)", R"("lasts":1e30)"}};
  for (const auto& [old, wrong] : changes) {
    std::string text = good;
    const std::size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old << " in " << text;
    text.replace(at, std::string(old).size(), wrong);
    try {
      trial_from_json(text);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      const std::string field = std::string(old).substr(1, std::string(old).find(':') - 2);
      EXPECT_NE(std::string(error.what()).find("'" + field + "': "), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace hopbench
