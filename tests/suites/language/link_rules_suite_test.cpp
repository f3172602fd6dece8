// Links with memory in a suite, recordings and slow phases: read, refused, written out, hashed, and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "results/files/record_json.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLinkTop = R"(schema = 1
name = "l"
[run]
world_size = 2
iterations = 20
repeats = 2
warmup_time = "0s"
[model]
name = "timing_only"
size = 50_000
batch = 8
[compute]
pace = "10ms"
noise = 0
vector_rate = 0
[transport]
name = "sim"
[network]
bandwidth = "10MB/s"
[topology]
name = "complete"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "dpsgd"
[[scenario]]
name = "x"
)";
constexpr int kLinkTopLines = 27;

std::string with_text(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

class LinkRulesSuite : public testing::Test {
 protected:
  LinkRulesSuite() {
    folder_.write("link.csv", "time,bandwidth,latency\n0,1e6,0.001\n1,4e6,0.002\n2,1e6,0\n");
    folder_.write("factors.csv", "time,factor\n0,1\n5,4\n9,1\n");
    folder_.write("workers.csv", "rank,time,factor\n0,0,1\n0,1,3\n1,0,1\n");
  }
  Suite with_links(const std::string& links, const std::vector<std::string>& sets = {}) const {
    SuiteOptions overrides;
    overrides.sets = sets;
    return parse_suite(kLinkTop + ("links = [" + links + "]\n"), folder_ / "x.toml", overrides);
  }
  /// Returns the mistakes of a suite with this link, each of which names the link's line.
  std::string refused(const std::string& link, const std::vector<std::string>& sets = {}) const {
    try {
      with_links("{ " + link + " }", sets);
    } catch (const SuiteError& error) {
      std::string all;
      for (const Mistake& m : error.mistakes()) {
        EXPECT_EQ(m.line, kLinkTopLines + 1) << m.message;
        all += m.message + "\n";
      }
      return all;
    }
    return "";
  }
  Folder folder_;
};

constexpr const char* kRecorded =
    R"({ a = 1, kind = "trace", file = "link.csv", map = "block_bootstrap", slot = "500ms", from = "1s" })";
constexpr const char* kPhases =
    R"({ a = 0, b = 1, bandwidth = 5e6, kind = "markov", factor = 4, latency_factor = 2.5, )"
    R"(slow = "1s", normal = "3s" })";

TEST_F(LinkRulesSuite, AreRead) {
  const TrialSpec spec = with_links(kRecorded + std::string(", ") + kPhases).trials.at(0);
  ASSERT_EQ(spec.scenario.links.size(), 2u);
  const LinkRule &first = spec.scenario.links[0].rule, &second = spec.scenario.links[1].rule;
  EXPECT_EQ(first.what, LinkRuleKind::kTrace);
  EXPECT_EQ(first.replay.map, TraceMap::kBlockBootstrap);
  EXPECT_EQ(first.replay.slot, std::chrono::milliseconds(500));
  EXPECT_EQ(first.replay.trace->length(), std::chrono::seconds(2));
  EXPECT_EQ(spec.scenario.links[0].from, Time(std::chrono::seconds(1)));
  EXPECT_EQ(spec.scenario.traces, (std::vector<std::string>{folder_ / "link.csv"}));
  EXPECT_EQ(second.what, LinkRuleKind::kMarkov);
  EXPECT_EQ(second.factor, 4);
  EXPECT_EQ(second.latency_factor, 2.5);
  EXPECT_EQ(second.slow, std::chrono::seconds(1));
  EXPECT_EQ(second.normal, std::chrono::seconds(3));
  EXPECT_EQ(spec.scenario.links[1].bandwidth, 5e6);
}

TEST_F(LinkRulesSuite, RanksGetTheSameLinks) {
  const TrialSpec spec = with_links(kRecorded + std::string(", ") + kPhases).trials.at(0);
  const TrialSpec again = trial_from_json(to_json(spec));
  EXPECT_EQ(to_json(again), to_json(spec));
  EXPECT_EQ(again.hash(), spec.hash());
  for (int s = 0; s < 50; ++s) {
    for (std::size_t i = 0; i < 2; ++i) {
      const Time now{std::chrono::seconds(s)};
      const LinkState was = spec.scenario.links[i].rule.at(1, 0, int(i), now);
      const LinkState is = again.scenario.links[i].rule.at(1, 0, int(i), now);
      EXPECT_EQ(is.bandwidth, was.bandwidth);
      EXPECT_EQ(is.factor, was.factor);
      EXPECT_EQ(is.latency, was.latency);
      EXPECT_EQ(is.latency_factor, was.latency_factor);
      EXPECT_EQ(is.until, was.until);
    }
  }
  folder_.write("link.csv", "time,bandwidth\n0,1e6\n1,4e6\n");
  EXPECT_THROW(trial_from_json(to_json(spec)), Error);
}

TEST_F(LinkRulesSuite, HashesFollowTheContentAndEverySetting) {
  const auto hash = [&](const std::string& link) { return with_links(link).trials.at(0).hash(); };
  const std::string phases = "{ a = 0, kind = \"markov\", factor = 4, slow = \"1s\", normal = \"3s\"",
                    trace = "{ a = 0, kind = \"trace\", file = ";
  std::set<std::string> hashes;
  for (const std::string& link :
       {phases + " }", phases + ", latency_factor = 2 }", with_text(phases, "4", "5") + " }",
        with_text(phases, "1s", "2s") + " }", with_text(phases, "3s", "4s") + " }", trace + "\"link.csv\" }",
        trace + "\"link.csv\", end = \"hold\" }", trace + "\"factors.csv\" }",
        trace + "\"link.csv\", map = \"block_bootstrap\", slot = \"1s\" }",
        trace + "\"link.csv\", map = \"block_bootstrap\", slot = \"2s\" }"})
    EXPECT_TRUE(hashes.insert(hash(link)).second) << link;
  folder_.write("copy.csv", "# a copy\n" + text_of(folder_ / "link.csv"));
  EXPECT_EQ(hash(trace + "\"copy.csv\" }"), hash(trace + "\"link.csv\" }"));
}

// The text is that of trials which were made before links had rules.
TEST_F(LinkRulesSuite, OtherLinksAreTheSameText) {
  const std::string text = to_json(with_links(R"({ a = 1, bandwidth = 1e6 })").trials.at(0));
  EXPECT_THAT(text, HasSubstr(R"("scenario_links":[{"a":1,"b":-1,"bandwidth":1000000.0,"latency":-1}])"));
  EXPECT_THAT(with_links(R"({ a = 1, bandwidth = 1e6 })").resolved,
              Not(AnyOf(HasSubstr("latency_factor"), HasSubstr("digest"), HasSubstr("normal"))));
}

TEST_F(LinkRulesSuite, ASuiteThatIsWrittenOutRefusesAnotherRecording) {
  const std::string links = kRecorded + std::string(", ") + kPhases;
  const Suite suite = with_links(links), again = parse_suite(suite.resolved, "elsewhere/y.toml", {});
  EXPECT_EQ(again.resolved, suite.resolved);
  for (std::size_t i = 0; i < suite.trials.size(); ++i) EXPECT_EQ(to_json(again.trials[i]), to_json(suite.trials[i]));
  const std::string digest = suite.trials[0].scenario.links[0].rule.digest;
  EXPECT_THAT(suite.resolved, HasSubstr("digest = \"" + digest + "\""));
  folder_.write("link.csv", "time,bandwidth\n0,1e6\n1,4e6\n");
  const std::string now = with_links(links).trials[0].scenario.links[0].rule.digest;
  try {
    parse_suite(suite.resolved, "y.toml", {});
    FAIL() << "not refused";
  } catch (const SuiteError& error) {
    ASSERT_EQ(error.mistakes().size(), 1u);
    EXPECT_EQ(error.mistakes()[0].message,
              "the trace " + folder_ / "link.csv" + " has changed: its digest is " + now +
                  ", but this suite was written for " + digest +
                  ": put that file back, or take out 'digest' for trials with the file as it is now");
  }
}

TEST_F(LinkRulesSuite, ARecordingWithoutChangesIsALinkWithoutARule) {
  folder_.write("flat.csv", "time,bandwidth,latency\n0,1e6,0.004\n1,1e6,0.004\n");
  const auto ends = [&](const std::string& link, const std::string& queue) {
    const TrialRecord record = simulate_trial(with_links(link, {"network.queue=" + queue}).trials.at(0));
    std::vector<Time> times;
    for (const IterationMark& mark : record.ranks.at(0).marks) times.push_back(mark.end);
    return times;
  };
  for (const char* queue : {"fair", "fifo"}) {
    const std::vector<Time> times = ends(R"({ a = 1, bandwidth = 1e6, latency = "4ms" })", queue);
    EXPECT_GT(times.back(), Time(std::chrono::seconds(5))) << "200 kB each way in every iteration";
    EXPECT_EQ(ends(R"({ a = 1, kind = "trace", file = "flat.csv" })", queue), times) << queue;
    EXPECT_NE(ends(R"({ a = 1, kind = "trace", file = "link.csv" })", queue), times) << queue;
  }
}

TEST_F(LinkRulesSuite, TrialsAreTheSameAgainOnFibersAndThreads) {
  for (const std::string queue : {"fair", "fifo"}) {
    const Suite suite = with_links(kRecorded + std::string(", ") + kPhases, {"network.queue=" + queue});
    std::set<std::string> all;
    for (TrialSpec spec : suite.trials) {
      const std::string once = to_json(simulate_trial(spec));
      EXPECT_EQ(to_json(simulate_trial(spec)), once) << spec.id();
      spec.strands = StrandKind::kThreads;
      EXPECT_EQ(to_json(simulate_trial(spec)), once) << spec.id();
      all.insert(once);
    }
    EXPECT_EQ(all.size(), 4u) << "two variants in two repeats";
  }
}

TEST_F(LinkRulesSuite, MistakesAreNamed) {
  const std::string phases = "a = 0, kind = \"markov\", slow = \"1s\", normal = \"3s\"",
                    trace = "a = 0, kind = \"trace\", file = \"link.csv\"",
                    factors = "kind = \"trace\", file = \"factors.csv\"";
  EXPECT_EQ(refused(phases + ", factor = 2, from = \"1s\", until = \"2s\", latency = \"1ms\""), "");
  EXPECT_EQ(refused(trace + ", end = \"error\", from = \"1s\", until = \"2s\""), "");
  EXPECT_THAT(refused("a = 0, kind = \"markow\""), HasSubstr("did you mean 'markov'?"));
  EXPECT_EQ(refused("a = 0, bandwidth = 1e6, factor = 2"), "'factor' is only allowed with kind markov\n");
  EXPECT_EQ(refused("a = 0, kind = \"trace\""), "a trace link needs 'file'\n");
  EXPECT_EQ(refused("a = 0, kind = \"markov\", factor = 2, slow = \"1s\""), "a markov link needs 'normal'\n");
  EXPECT_EQ(refused(phases), "this link is never slow: give it a 'factor' or a 'latency_factor' above 1\n");
  EXPECT_EQ(refused(phases + ", factor = 1"),
            "this link is never slow: give it a 'factor' or a 'latency_factor' above 1\n");
  EXPECT_THAT(refused(phases + ", factor = 0.5"), HasSubstr("'factor' is 0.5, out of range: it must be at least 1"));
  EXPECT_THAT(refused("a = 0, kind = \"markov\", factor = 2, slow = \"1us\", normal = \"3s\""),
              HasSubstr("'slow' is 1us, out of range: it must be at least 1ms"));
  EXPECT_THAT(refused(phases + ", factor = 2, file = \"link.csv\""),
              HasSubstr("'file' is only allowed with kind trace; a markov link has slow, normal,"));
  EXPECT_THAT(refused(trace + ", slow = \"1s\""),
              HasSubstr("'slow' is only allowed with kind markov; a trace link has file,"));
  EXPECT_EQ(refused(trace + ", bandwidth = 1e6"), "the trace has the link's bandwidth: leave out 'bandwidth'\n");
  EXPECT_EQ(refused(trace + ", latency = \"1ms\""), "the trace has the link's latency: leave out 'latency'\n");
  EXPECT_THAT(refused(trace + ", slot = \"1s\""), HasSubstr("'slot' is only allowed with a map that draws blocks"));
  EXPECT_THAT(refused(trace + ", map = \"block_bootstrap\""), HasSubstr("need 'slot', their length"));
  EXPECT_THAT(refused(trace + ", map = \"block_bootstrap\", slot = \"3s\""), HasSubstr("which ends at 2s"));
  EXPECT_THAT(refused(trace + ", map = \"block_bootstrap\", slot = \"1s\", end = \"hold\""),
              HasSubstr("end = \"hold\" is only allowed with map = \"fixed\""));
  EXPECT_THAT(refused(trace + ", map = \"resample_ranks\""), HasSubstr("unknown map 'resample_ranks'"));
  EXPECT_THAT(refused("a = 0, kind = \"trace\", file = \"workers.csv\""), HasSubstr("this trace is of workers"));
  EXPECT_THAT(
      refused("a = 0, kind = \"trace\", file = \"none.csv\""),
      AllOf(HasSubstr("the trace 'none.csv' is neither beside the suite (" + folder_ / "none.csv" + ")"),
            HasSubstr("nor in the current folder (" + std::filesystem::current_path().string() + "/none.csv)")));
  const char* const undivided = "this link has no bandwidth to divide: give it the 'bandwidth' at its usual speed\n";
  EXPECT_EQ(refused("b = 1, " + phases + ", factor = 2"), undivided);
  EXPECT_EQ(refused("a = 0, b = 1, " + factors), undivided);
  EXPECT_EQ(refused("b = 1, " + phases + ", latency_factor = 2"), "");
  EXPECT_EQ(refused("a = 0, b = 1, bandwidth = 1e6, " + factors), "");
  EXPECT_EQ(refused("a = 0, " + factors), "");
  EXPECT_EQ(refused("a = 0, " + factors, {"network.bandwidth=0"}),
            "scenario 'x' divides the bandwidth of host 0's NIC, which is unlimited in measure 'rate': give this link "
            "the 'bandwidth' at its usual speed\n");
  EXPECT_EQ(refused("a = 0, bandwidth = 1e6, " + factors, {"network.bandwidth=0"}), "");
}

TEST_F(LinkRulesSuite, AreRefusedWhereLinksAre) {
  const std::string phases = "a = 0, kind = \"markov\", factor = 2, slow = \"1s\", normal = \"3s\"";
  EXPECT_THAT(refused(phases, {"network.instant=true"}), HasSubstr("changes links, but measure 'rate' has none"));
  const std::vector<std::string> real = {"transport.name=gloo", "model.name=quadratic", "model.size=64"};
  EXPECT_THAT(refused(phases, real), HasSubstr("has the machine's own: set network.emulate = true"));
  std::vector<std::string> emulated = real;
  emulated.emplace_back("network.emulate=true");
  EXPECT_EQ(refused(phases, emulated), "");
  EXPECT_EQ(refused("a = 0, kind = \"trace\", file = \"link.csv\", end = \"error\"", emulated),
            "end = \"error\" is only allowed in virtual time, and measure 'rate' has real processes: take \"wrap\" or "
            "\"hold\"\n");
}

TEST_F(LinkRulesSuite, ATrialFailsWhereARecordingWithAnErrorEnds) {
  const TrialSpec spec = with_links(R"({ a = 1, kind = "trace", file = "link.csv", end = "error" })").trials.at(0);
  try {
    simulate_trial(spec);
    FAIL() << "it has 6 MB each way to send, and the recording has room for 5 MB";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the trace of the scenario ends at 2 s, before the trial"));
  }
}

}  // namespace
}  // namespace hopbench
