#include "suites/language/suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "protocols/node/topology.h"
#include "suites/language/keys.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

constexpr const char* kSuite = R"(schema = 1
name = "t"
[run]
world_size = 4
iterations = 30
repeats = 2
[model]
name = "quadratic"
batch = 8
[compute]
backend = "reference"
pace = "5ms"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"
label = "hop a"
backup = 1
[[scenario]]
name = "homogeneous"
[[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = "1/n", factor = 6.0 }]
)";

constexpr const char* kMeasures = R"([[measure]]
what = "rate"
iterations = 20
[[measure]]
what = "convergence"
transport = "sim"
scenarios = ["random"]
samples = 800
pace = "40ms"
target = { loss = 0.5, hold = 2 }
model.batch = 16
)";

SuiteOptions sets(std::vector<std::string> list, const std::string& profile = "") {
  SuiteOptions options;
  options.sets = std::move(list);
  options.profile = profile;
  return options;
}

Suite parse(const std::string& text, const SuiteOptions& options = {}) { return parse_suite(text, "t.toml", options); }

const TrialSpec& trial(const Suite& suite, std::string_view id) {
  const auto found =
      std::find_if(suite.trials.begin(), suite.trials.end(), [&](const TrialSpec& t) { return t.id() == id; });
  if (found == suite.trials.end()) throw std::runtime_error("no trial " + std::string(id));
  return *found;
}

std::vector<std::string> ids(const Suite& suite) {
  std::vector<std::string> list;
  for (const TrialSpec& t : suite.trials) list.push_back(t.id());
  return list;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  return text.replace(at, from.size(), to);
}

// All of a suite that decides what runs.
std::vector<std::string> hashes(const Suite& suite) {
  std::vector<std::string> list;
  for (const TrialSpec& t : suite.trials) list.push_back(t.id() + " " + t.hash());
  return list;
}

TEST(Suite, IsMultipliedOutWithVariantsTakingTurns) {
  const Suite suite = parse(std::string(kSuite) + kMeasures);
  ASSERT_EQ(suite.trials.size(), 2u * 2 * (2 + 1));  // variants x repeats x (scenarios of rate, of convergence)
  const std::vector<std::string> all = ids(suite);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  for (std::size_t i = 0; i < suite.trials.size(); ++i) {
    EXPECT_EQ(suite.trials[i].order, int(i));
    EXPECT_EQ(suite.trials[i].repeat, i / 6) << "the first repeat of all comes before the second";
    EXPECT_EQ(suite.trials[i].scenario_name, suite.trials[i / 2 * 2].scenario_name) << "both variants in turn";
  }
  EXPECT_EQ(suite.reference, "allreduce");
  EXPECT_EQ(suite.name, "t");
}

TEST(Suite, OrdersItsTrialsAsItIsTold) {
  std::string text = with(kSuite, "repeats = 2", "repeats = 8\norder = \"sequential\"");
  const Suite sequential = parse(text);
  EXPECT_EQ(ids(sequential)[0], "t/rate/homogeneous/allreduce/1/0");
  EXPECT_EQ(ids(sequential)[7], "t/rate/homogeneous/allreduce/1/7");
  const Suite interleaved = parse(text, sets({"order=interleaved"})), random = parse(text, sets({"order=random"}));
  EXPECT_NE(ids(interleaved), ids(sequential));
  EXPECT_NE(ids(interleaved), ids(random));
  EXPECT_EQ(ids(random), ids(parse(text, sets({"order=random"}))));
  // Seeded: over eight repeats each variant is first now and then.
  std::set<std::string> first;
  for (std::size_t i = 0; i < interleaved.trials.size(); i += 2) first.insert(interleaved.trials[i].label);
  EXPECT_EQ(first.size(), 2u);
}

TEST(Suite, GivesATrialWhatItsMeasureScenarioAndVariantSay) {
  const Suite suite = parse(std::string(kSuite) + kMeasures);
  const TrialSpec& rate = trial(suite, "t/rate/random/hop a/1/1");
  EXPECT_EQ(rate.transport, "auto");
  EXPECT_EQ(rate.stop.kind, StopSpec::Kind::kIterations);
  EXPECT_EQ(rate.stop.amount, 20);
  EXPECT_EQ(rate.knobs.integer("backup"), 1);
  EXPECT_EQ(rate.workload.workers, 4);
  EXPECT_EQ(rate.workload.batch, 8);
  EXPECT_EQ(rate.workload.dataset, "quadratic");
  EXPECT_EQ(rate.workload.repeat, 1u);
  EXPECT_EQ(rate.evaluations, 0);
  EXPECT_EQ(rate.costs.gradient, std::chrono::milliseconds(5));
  ASSERT_EQ(rate.scenario.compute.size(), 1u);
  EXPECT_DOUBLE_EQ(rate.scenario.compute[0].probability, 0.25);
  EXPECT_EQ(trial(suite, "t/rate/random/hop a/1/0").warmup, 10);
  const TrialSpec& convergence = trial(suite, "t/convergence/random/allreduce/1/0");
  EXPECT_EQ(convergence.transport, "sim");
  EXPECT_EQ(convergence.stop.kind, StopSpec::Kind::kSamples);
  EXPECT_EQ(convergence.stop.amount, 800);
  EXPECT_EQ(convergence.costs.gradient, std::chrono::milliseconds(40));
  EXPECT_EQ(convergence.workload.batch, 16);
  EXPECT_EQ(convergence.evaluations, 15);
  EXPECT_DOUBLE_EQ(convergence.target_loss, 0.5);
  EXPECT_EQ(convergence.target_hold, 2);
}

TEST(Suite, LeavesOutAWarmUpOfTwiceTheFreeRun) {
  const std::string text = with(kSuite, "backup = 1", "max_ig = 12");
  const Suite suite = parse(text);
  EXPECT_EQ(trial(suite, "t/rate/random/hop a/1/0").warmup, 24);
  EXPECT_EQ(trial(suite, "t/rate/random/allreduce/1/0").warmup, 10);
  EXPECT_EQ(trial(parse(text, sets({"warmup=40"})), "t/rate/random/hop a/1/0").warmup, 40);
  EXPECT_EQ(trial(parse(text, sets({"warmup=5"})), "t/rate/random/hop a/1/0").warmup, 24);
}

TEST(Suite, TakesEpochsAsSamplesOfItsData) {
  const Suite suite = parse(with(kSuite, "iterations = 30", "epochs = 1.5"));
  EXPECT_EQ(suite.trials[0].stop.kind, StopSpec::Kind::kSamples);
  EXPECT_EQ(suite.trials[0].stop.amount, 6144);
}

TEST(Suite, PacesByATimeACostOrNotAtAll) {
  const std::string off = with(kSuite, "pace = \"5ms\"", "pace = \"off\"");
  EXPECT_FALSE(parse(off).trials[0].pace);
  EXPECT_EQ(parse(off).trials[0].costs.gradient, Duration{});
  const Suite automatic = parse(off, sets({"pace=auto"}));
  EXPECT_TRUE(automatic.trials[0].pace);
  EXPECT_EQ(automatic.trials[0].costs.gradient, Duration{});
  EXPECT_EQ(parse(kSuite, sets({"cost=7ms", "transport=sim"})).trials[0].costs.gradient, std::chrono::milliseconds(7));
  EXPECT_EQ(parse(off, sets({"cost=7ms", "transport=sim"})).trials[0].costs.gradient, std::chrono::milliseconds(7));
  EXPECT_EQ(parse(kSuite, sets({"instant=true", "transport=sim"})).trials[0].costs.vector_bytes_per_s, 0);
}

TEST(Suite, CostStandsForTheCalibratedPaceInVirtualTimeOnly) {
  const std::string both = with(kSuite, "pace = \"5ms\"", "pace = \"auto\"\ncost = \"7ms\"");
  const TrialSpec real = parse(both).trials[0], simulated = parse(both, sets({"transport.name=sim"})).trials[0];
  EXPECT_TRUE(real.pace);
  EXPECT_EQ(real.costs.gradient, Duration{}) << "to be calibrated";
  EXPECT_EQ(simulated.costs.gradient, std::chrono::milliseconds(7));
}

// A protocol's rules about hosts are about the hosts of the suite.
TEST(Suite, RefusesByHosts) {
  const std::string by_hosts = std::string(kSuite) + "[[protocol]]\nname = \"ds_sync\"\ndivision = \"hosts\"\n";
  EXPECT_NO_THROW(parse(by_hosts, sets({"network.hosts=2"})));
  EXPECT_NO_THROW(parse(by_hosts, sets({"network.hosts=[0, 1, 0, 1]"})));
  EXPECT_THROW(parse(by_hosts, sets({"network.hosts=1"})), Error);
  EXPECT_THROW(parse(by_hosts), Error);
}

TEST(Suite, ReadsNetworkAndEdges) {
  const Suite suite = parse(kSuite, sets({"network.bandwidth=1Gbit/s", "network.hosts=2", "network.latency=3ms",
                                          "network.links=[{a=0, b=1, bandwidth=\"10MB/s\"}]",
                                          "topology.edges=[[0,1],[1,2],[2,3],[3,0]]", "protocol.\"hop a\".backup=0"}));
  const TrialSpec& spec = suite.trials[0];
  EXPECT_DOUBLE_EQ(spec.network.bandwidth, 125e6);
  EXPECT_EQ(spec.network.latency, std::chrono::milliseconds(3));
  EXPECT_EQ(spec.network.host_of, (std::vector<int>{0, 0, 1, 1}));
  ASSERT_EQ(spec.network.links.size(), 1u);
  EXPECT_DOUBLE_EQ(spec.network.links[0].bandwidth, 10e6);
  EXPECT_LT(spec.network.links[0].latency, Duration{}) << "not replaced";
  EXPECT_EQ(spec.topology, "edges");
  EXPECT_EQ(spec.edges, (std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
}

TEST(Precedence, IsSetOverProfileOverMatrixOverMeasureOverSection) {
  const std::string text = std::string(kSuite) + "[[measure]]\nmodel.batch = 16\n";
  const auto batch = [](const std::string& suite, const SuiteOptions& options) {
    return parse(suite, options).trials[0].workload.batch;
  };
  const std::string matrix = text + "[matrix]\n\"model.batch\" = [24]\n";
  const std::string profile = matrix + "[profile.p]\nmodel.batch = 32\n";
  EXPECT_EQ(batch(kSuite, {}), 8);
  EXPECT_EQ(batch(text, {}), 16);
  EXPECT_EQ(batch(matrix, {}), 24);
  EXPECT_EQ(batch(profile, {}), 24);
  EXPECT_EQ(batch(profile, sets({}, "p")), 32);
  EXPECT_EQ(batch(profile, sets({"model.batch=40"}, "p")), 40);
  EXPECT_EQ(batch(profile, sets({"batch=40", "batch=48"}, "p")), 48) << "the last one wins";
  EXPECT_EQ(parse(matrix, sets({"batch=40"})).trials[0].measure, "rate") << "an axis of one value is none";
  SuiteOptions options = sets({"run.seed=5", "run.repeats=4"});
  options.seed = 6;
  options.repeats = 1;
  EXPECT_EQ(parse(kSuite, options).trials.size(), 4u);
  EXPECT_EQ(parse(kSuite, options).trials[0].seed, 6u);
}

TEST(Precedence, LetsOneStopRuleReplaceAnother) {
  const Suite suite = parse(std::string(kSuite) + kMeasures, sets({"samples=400"}));
  for (const TrialSpec& t : suite.trials) {
    EXPECT_EQ(t.stop.kind, StopSpec::Kind::kSamples);
    EXPECT_EQ(t.stop.amount, 400);
  }
}

TEST(Precedence, LetsAVariantHaveAnOptimizerOfItsOwnUnlessItIsSet) {
  const std::string text = with(kSuite, "backup = 1\n", "backup = 1\n[protocol.optimizer]\nlr = 0.5\n");
  const auto lr = [&](const SuiteOptions& options, const char* label) {
    return trial(parse(text, options), std::string("t/rate/random/") + label + "/1/0").optimizer.lr;
  };
  EXPECT_FLOAT_EQ(lr({}, "hop a"), 0.5f);
  EXPECT_FLOAT_EQ(lr({}, "allreduce"), 0.05f);
  EXPECT_FLOAT_EQ(lr(sets({"optimizer.lr=0.25"}), "hop a"), 0.25f);
  EXPECT_FLOAT_EQ(lr(sets({"protocol.\"hop a\".optimizer.lr=0.125"}), "hop a"), 0.125f);
  EXPECT_FLOAT_EQ(lr(sets({"optimizer={ lr = 0.25 }"}), "allreduce"), 0.25f);
}

TEST(Precedence, LetsAVariantNameItsOptimizerAlone) {
  const std::string text = with(kSuite, "backup = 1\n", "backup = 1\noptimizer = \"adamw\"\n");
  EXPECT_EQ(trial(parse(text), "t/rate/random/hop a/1/0").optimizer.kind, OptimizerKind::kAdamW);
  EXPECT_EQ(trial(parse(text), "t/rate/random/allreduce/1/0").optimizer.kind, OptimizerKind::kSgd);
}

TEST(Overrides, ReachVariantsScenariosAndMeasuresByName) {
  const Suite suite = parse(std::string(kSuite) + kMeasures,
                            sets({"protocol.\"hop a\".max_ig=7", "scenario.random.compute=[]",
                                  "measure.convergence.samples=80", "measure.rate.scenarios=[\"random\"]"}));
  EXPECT_EQ(suite.trials.size(), 8u);
  EXPECT_EQ(trial(suite, "t/rate/random/hop a/1/0").knobs.integer("max_ig"), 7);
  EXPECT_TRUE(trial(suite, "t/rate/random/hop a/1/0").scenario.compute.empty());
  EXPECT_EQ(trial(suite, "t/convergence/random/allreduce/1/0").stop.amount, 80);
  EXPECT_EQ(trial(suite, "t/rate/random/allreduce/1/0").stop.amount, 20);
}

TEST(Profile, ChangesTheSuiteAndSaysMoreOfOneMeasureThanOfAll) {
  const std::string text = std::string(kSuite) + kMeasures +
                           "[profile.quick]\nmeasure.convergence.samples = 160\n\"run.repeats\" = 1\n"
                           "[profile.quick.run]\nworld_size = 3\niterations = 5\n"
                           "[profile.quick.topology]\nname = \"ring\"\n"
                           "[profile.quick.protocol.\"hop a\"]\nmax_ig = 2\n";
  EXPECT_EQ(hashes(parse(text)), hashes(parse(std::string(kSuite) + kMeasures)));
  const Suite suite = parse(text, sets({}, "quick"));
  EXPECT_EQ(suite.trials.size(), 6u);
  EXPECT_EQ(suite.trials[0].workers(), 3);
  EXPECT_EQ(trial(suite, "t/convergence/random/hop a/1/0").stop.amount, 160);
  EXPECT_EQ(trial(suite, "t/rate/random/hop a/1/0").stop.amount, 5);
  EXPECT_EQ(trial(suite, "t/rate/random/hop a/1/0").knobs.integer("max_ig"), 2);
  EXPECT_DOUBLE_EQ(trial(suite, "t/rate/random/hop a/1/0").scenario.compute[0].probability, 1.0 / 3);
}

TEST(Matrix, MultipliesMeasuresBySectionKeysAndVariantsByTheirOwn) {
  const std::string text = std::string(kSuite) +
                           "[matrix]\n\"topology.name\" = [\"ring\", \"complete\"]\nnetwork.bandwidth = [\"1Gbit/s\"]\n"
                           "protocol.\"hop a\".max_ig = [2, 5, 9]\n";
  const Suite suite = parse(text);
  EXPECT_EQ(suite.trials.size(), 2u * 2 * 2 * (1 + 3));  // repeats, scenarios, topologies, variants
  const TrialSpec& spec =
      trial(suite, "t/rate topology.name=complete network.bandwidth=1Gbit_s/random/hop a max_ig=9/1/0");
  EXPECT_EQ(spec.topology, "complete");
  EXPECT_EQ(spec.knobs.integer("max_ig"), 9);
  EXPECT_EQ(parse(text, sets({"topology.name=ring_based", "protocol.\"hop a\".max_ig=3"})).trials.size(), 8u);
  EXPECT_EQ(parse(kSuite, sets({"matrix.model.batch=[1, 2, 3]"})).trials.size(), 24u);
}

TEST(Resolved, GivesTheSameTrialsAgain) {
  const std::string everything = std::string(kSuite) + kMeasures +
                                 "[matrix]\n\"model.split.kind\" = [\"iid\", \"shards\", \"by_feature\"]\n" +
                                 "protocol.allreduce.overlap = [true, false]\n[profile.p]\nrun.repeats = 1\n";
  for (const SuiteOptions& options :
       {SuiteOptions{}, sets({}, "p"), sets({"topology.edges=[[0,1],[1,0],[1,2],[2,1],[2,3],[3,2],[3,0],[0,3]]"}),
        sets({"cost=7ms", "optimizer.lr=0.3", "optimizer.steps=[{iteration=10, factor=0.1}]"}),
        sets({"measure.rate.warmup=30", "network.hosts=[0,0,1,1]", "seed=9", "order=random", "split.alpha=0.1"})}) {
    const Suite once = parse(everything, options);
    const Suite again = parse(once.resolved);
    EXPECT_EQ(hashes(once), hashes(again)) << once.resolved;
    EXPECT_EQ(once.resolved, again.resolved);
    EXPECT_EQ(once.notes, again.notes);
    EXPECT_EQ(once.reference, again.reference);
  }
}

TEST(Resolved, GivesTheSameTrialsOfEverySuiteThatComesWithTheProgram) {
  int suites = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/suites")) {
    if (entry.path().extension() != ".toml") continue;
    ++suites;
    for (const char* profile : {"", "quick"}) {
      const Suite once = load_suite(entry.path().string(), sets({}, profile));
      EXPECT_FALSE(once.trials.empty());
      EXPECT_EQ(hashes(once), hashes(parse(once.resolved))) << entry.path();
      for (const TrialSpec& spec : load_suite(entry.path().string(), sets({"transport.name=sim"}, profile)).trials) {
        EXPECT_EQ(spec.transport, "sim");
        EXPECT_GT(spec.costs.gradient, Duration{}) << spec.id();
      }
    }
  }
  EXPECT_GE(suites, 4);
}

// Hop's three placements of 8 workers on 3 machines: graphs with the gaps that are recalled of them.
TEST(Shipped, PlacementsHaveTheSpectralGapsTheyAreNamedFor) {
  std::set<std::string> measures;
  for (const TrialSpec& t : load_suite(source_dir() + "/suites/hop_placements.toml", {}).trials) {
    if (!measures.insert(t.measure).second) continue;
    EXPECT_EQ(t.network.host_of, (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2}));
    const double gap = Topology(t.topology, t.workers(), t.edges).spectral_gap();
    EXPECT_NEAR(gap, std::stod(t.measure.substr(std::string("gap ").size())), 5e-5) << t.measure;
  }
  EXPECT_EQ(measures, (std::set<std::string>{"gap 0.6667", "gap 0.2682", "gap 0.2688"}));
}

TEST(Notes, SayWhatAReaderMustKnow) {
  const auto has = [](const Suite& suite, const std::string& start) {
    return std::any_of(suite.notes.begin(), suite.notes.end(),
                       [&](const std::string& note) { return note.starts_with(start); });
  };
  const std::string text = std::string(kSuite) + kMeasures;
  EXPECT_TRUE(has(parse(text), "untuned: "));
  EXPECT_TRUE(has(parse(with(text, "schema = 1", "schema = 1\ntuned = true")), "untuned: the suite says tuned = true"));
  EXPECT_FALSE(has(parse(kSuite), "untuned: ")) << "rates do not depend on the learning rate";
  EXPECT_FALSE(has(parse(text), "experimental: "));
  EXPECT_FALSE(has(parse(text), "no curve of "));
  EXPECT_TRUE(has(parse(text, sets({"evaluations=5"})), "no curve of rate: real processes evaluate the end only"));
  EXPECT_TRUE(has(parse(text, sets({"measure.convergence.transport=gloo"})), "no curve of convergence: "));
  EXPECT_FALSE(has(parse(text, sets({"evaluations=5", "transport=sim"})), "no curve of "));
  EXPECT_TRUE(has(parse(text, sets({"protocol.hop a.max_jump=3"})), "experimental: a rule of hop a "));
  EXPECT_TRUE(has(parse(text), "no intervals: "));
  EXPECT_FALSE(has(parse(text, sets({"repeats=3"})), "no intervals: "));
  EXPECT_FALSE(has(parse(text), "no homogeneous control"));
  EXPECT_TRUE(has(parse(text, sets({"measure.rate.scenarios=[\"random\"]"})), "no homogeneous control"));
  EXPECT_TRUE(has(parse(text, sets({"optimizer.step=as_written"})), "learning rates as written"));
  const std::string pairs = with(text, "name = \"hop\"\nlabel = \"hop a\"\nbackup = 1", "name = \"adpsgd\"");
  EXPECT_TRUE(has(parse(pairs), "adpsgd with 4 workers: uses no edges between two even or two odd ranks: 0-2, 1-3"));
  EXPECT_FALSE(has(parse(pairs, sets({"topology.name=ring"})), "adpsgd"));
}

// fairness: paired draws. What one variant is moves nothing in another's trials.
TEST(PairedDraws, OfOtherVariantsDoNotMoveWhenOneVariantChanges) {
  const Suite before = parse(kSuite);
  const Suite after =
      parse(with(kSuite, "backup = 1\n", "staleness = 4\nmax_ig = 9\n[[protocol]]\nname = \"dpsgd\"\n"));
  int compared = 0;
  for (const TrialSpec& old : before.trials) {
    if (old.label != "allreduce") continue;
    const TrialSpec& now = trial(after, old.id());
    EXPECT_EQ(now.hash(), old.hash());
    EXPECT_EQ(now.workload.seed, old.workload.seed);
    EXPECT_EQ(now.workload.repeat, old.workload.repeat);
    ++compared;
  }
  EXPECT_EQ(compared, 4);
  // ... and within a repeat all variants meet the same slowdowns, which differ from repeat to repeat.
  std::map<std::uint32_t, std::set<std::vector<double>>> draws;
  for (const TrialSpec& t : after.trials) {
    if (t.scenario_name != "random") continue;
    std::vector<double> factors;
    for (int rank = 0; rank < t.workers(); ++rank)
      for (Iter k = 0; k < 50; ++k)
        factors.push_back(
            t.scenario.slowdown({.seed = t.seed, .repeat = t.repeat, .rank = rank, .host = rank}, k, Time{}));
    draws[t.repeat].insert(factors);
  }
  EXPECT_EQ(draws[0].size(), 1u);
  EXPECT_EQ(draws[1].size(), 1u);
  EXPECT_NE(*draws[0].begin(), *draws[1].begin());
}

}  // namespace
}  // namespace hopbench
