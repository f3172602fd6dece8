// Tuning from a suite's text to its trials and back: equal budgets, other draws than any run's, and a record that holds
// only while the settings do.
#include "suites/tuning/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "suites/language/draft.h"

namespace hopbench {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSuite = R"(schema = 1
name = "t"          # µ: a comment that must stay
[run]
world_size = 4
repeats = 2
reference = "allreduce"
[model]
name = "quadratic"
batch = 8
[optimizer]
lr = 0.05
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"        # with a backup
label = "hop a"
backup = 1
[[scenario]]
name = "random"
compute = [{ kind = "bernoulli", probability = "1/n", factor = 6.0 }]
[[scenario]]
name = "control"
[[measure]]
what = "convergence"
scenarios = ["random"]
samples = 800
target = { loss = 30.0, hold = 2 }
)";

using ::testing::HasSubstr;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

SuiteOptions sets(std::vector<std::string> list) {
  SuiteOptions options;
  options.sets = std::move(list);
  return options;
}

Tuning plan(const std::string& text, const SuiteOptions& options = {}) { return plan_tuning(text, "t.toml", options); }

// Every variant's setting number `setting`.
std::string tuned(const std::string& text, std::size_t setting = 3, const SuiteOptions& options = {}) {
  const Tuning tuning = plan(text, options);
  return tuned_text(tuning, std::vector<TuneChoice>(tuning.variants.size(), {setting, 123, 0.5, false}), "a test");
}

Suite parse(const std::string& text, const SuiteOptions& options = {}) { return parse_suite(text, "t.toml", options); }

std::string tuned_note(const Suite& suite) {
  for (const std::string& note : suite.notes) {
    if (note.starts_with("tuned: ") || note.starts_with("untuned: ")) return note;
  }
  return "";
}

std::string mistakes_of(const std::string& text, const SuiteOptions& options = {}) {
  try {
    plan(text, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

#define EXPECT_SAYS(text, ...)                                                 \
  for (const char* part : {__VA_ARGS__}) {                                     \
    const std::string said = (text);                                           \
    EXPECT_NE(said.find(part), std::string::npos) << part << "\nin\n" << said; \
  }

TEST(Tune, GivesEveryVariantTheSameBudgetAndTheReferenceToo) {
  const Tuning tuning = plan(kSuite);
  ASSERT_EQ(tuning.variants.size(), 2u);
  std::map<std::size_t, int> trials;
  for (const TuneTrial& trial : tuning.trials) ++trials[trial.variant];
  EXPECT_EQ(trials, (std::map<std::size_t, int>{{0, 12}, {1, 12}}));
  for (const TuneVariant& variant : tuning.variants) {
    ASSERT_EQ(variant.settings.size(), 12u);
    EXPECT_EQ(variant.settings.front().lr, 0.05 / 64);
    EXPECT_EQ(variant.settings.back().lr, 0.05 * 32);
    const auto own = [](const TuneSetting& setting) { return setting.lr == 0.05; };
    EXPECT_TRUE(std::any_of(variant.settings.begin(), variant.settings.end(), own)) << "the suite's own is tried";
  }
  for (const TuneTrial& trial : tuning.trials) {
    EXPECT_EQ(trial.spec.optimizer.lr, float(tuning.variants[trial.variant].settings[trial.setting].lr));
    EXPECT_EQ(trial.spec.transport, "sim");
  }
}

TEST(Tune, GridIsLogarithmic) {
  const std::vector<double> grid = log_grid(0.001, 1, 7);
  ASSERT_EQ(grid.size(), 7u);
  EXPECT_EQ(grid, (std::vector<double>{0.001, 0.00316, 0.01, 0.0316, 0.1, 0.316, 1}));
}

TEST(Tune, TheDefaultGridHasAsManyRatesAsAreAllowed) {
  for (const int trials : {800, 860, 1000}) {
    const Tuning tuning = plan(std::string(kSuite) + "[tune]\ntrials = " + std::to_string(trials) + "\n");
    std::set<double> rates;
    for (const TuneSetting& setting : tuning.variants.front().settings) rates.insert(setting.lr);
    EXPECT_EQ(rates.size(), std::size_t(trials));
  }
}

TEST(Tune, KnobsShareTheBudget) {
  const Tuning tuning =
      plan(std::string(kSuite) +
           "[tune]\nlr = [0.01, 1]\nknobs = [{ protocol = \"hop a\", knob = \"max_ig\", values = [2, 5] },"
           " { protocol = \"hop a\", knob = \"backup\", values = [0, 1] }]\n");
  ASSERT_EQ(tuning.variants[1].settings.size(), 12u);
  std::set<std::string> combinations;
  for (const TuneSetting& setting : tuning.variants[1].settings) combinations.insert(setting.knobs_text());
  EXPECT_EQ(combinations, (std::set<std::string>{"max_ig=2 backup=0", "max_ig=2 backup=1", "max_ig=5 backup=0",
                                                 "max_ig=5 backup=1"}));
  EXPECT_EQ(tuning.variants[0].settings.size(), 12u);
  for (const TuneTrial& trial : tuning.trials) {
    if (trial.variant == 0) continue;
    const std::string knobs = tuning.variants[1].settings[trial.setting].knobs_text();
    EXPECT_EQ(trial.spec.knobs.integer("max_ig"), knobs.find("max_ig=5") == std::string::npos ? 2 : 5);
    EXPECT_EQ(trial.spec.knobs.integer("backup"), knobs.ends_with("1") ? 1 : 0);
  }
}

TEST(Tune, MomentumSharesTheBudgetOfEveryVariant) {
  const std::string text = std::string(kSuite) + "[tune]\nmomentum = [0.0, 0.5, 0.9]\n";
  const Tuning tuning = plan(text);
  for (const TuneVariant& variant : tuning.variants) {
    ASSERT_EQ(variant.settings.size(), 12U) << variant.label;
    std::map<std::string, std::set<double>> rates;
    for (const TuneSetting& setting : variant.settings) rates[setting.knobs_text()].insert(setting.lr);
    ASSERT_EQ(rates.size(), 3U);
    for (const auto& [momentum, of_it] : rates) EXPECT_EQ(of_it.size(), 4U) << momentum;
  }
  std::set<float> tried;
  for (const TuneTrial& trial : tuning.trials) tried.insert(trial.spec.optimizer.momentum);
  EXPECT_EQ(tried, (std::set<float>{0.0f, 0.5f, 0.9f}));
  const Suite suite = parse(tuned(text, 11));
  for (const TrialSpec& spec : suite.trials) EXPECT_EQ(spec.optimizer.momentum, 0.9f) << spec.label;
}

// `validate` looks at it as well, although it does not tune.
TEST(Tune, MomentumIsAListOfDifferentNumbersFromZeroToOne) {
  const auto complaint = [](const std::string& list) -> std::string {
    try {
      parse_suite(std::string(kSuite) + "[tune]\nmomentum = " + list + "\n", "t.toml", {});
    } catch (const SuiteError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint("[0, 0.9]"), "");
  EXPECT_THAT(complaint("[0.0, 1.5]"), HasSubstr("'momentum' is 1.5, out of range: it must be 0 to 1"));
  EXPECT_THAT(complaint("[0.9, 0.5, 0.9]"), HasSubstr("'momentum' lists 0.9 twice"));
  EXPECT_THAT(complaint("[]"), HasSubstr("'momentum' must be a list of numbers"));
  EXPECT_THAT(complaint("[\"0.9\"]"), HasSubstr("'momentum' must be a list of numbers"));
}

// Suites and --seed hold less than 2^63; tuning draws with more.
TEST(Tune, DrawsAreNoRunsDraws) {
  for (const char* seed : {"0", "1", "9000000000000000000"}) {
    const SuiteOptions options = sets({std::string("seed=") + seed, "tune.repeats=3"});
    const Tuning tuning = plan(kSuite, options);
    EXPECT_EQ(tuning.trials.size(), 2u * 12 * 3);
    for (const TuneTrial& trial : tuning.trials) {
      EXPECT_GE(trial.spec.seed, std::uint64_t{1} << 63);
      EXPECT_EQ(trial.spec.seed, trial.spec.workload.seed);
      EXPECT_EQ(trial.spec.repeat, trial.spec.workload.repeat);
    }
    for (const TrialSpec& trial : tuning.suite.trials) EXPECT_LT(trial.seed, std::uint64_t{1} << 63);
  }
  EXPECT_NE(tuning_seed(1), tuning_seed(2));
  EXPECT_THROW(parse(kSuite, sets({"seed=9223372036854775807"})), SuiteError) << "no run may have tuning's seeds";
  EXPECT_THROW(parse(kSuite, sets({"seed=9223372036854775809"})), SuiteError);
}

TEST(Tune, IsDoneInTheControlUnlessAnotherScenarioIsNamed) {
  EXPECT_EQ(plan(kSuite).scenario, "control") << "though the measure does not use it";
  EXPECT_EQ(plan(kSuite, sets({"tune.scenario=random"})).scenario, "random");
  const std::string slow =
      with(kSuite, "name = \"control\"", "name = \"slow\"\ncompute = [{ kind = \"constant\", factor = 2.0 }]");
  EXPECT_EQ(plan(slow).scenario, "random") << "without a control: the measure's first";
  for (const TuneTrial& trial : plan(kSuite).trials) EXPECT_TRUE(trial.spec.scenario.compute.empty());
  const std::string two =
      std::string(kSuite) + "[[measure]]\nwhat = \"convergence\"\nname = \"other\"\nsamples = 400\n";
  EXPECT_EQ(plan(two).measure, "convergence");
  EXPECT_EQ(plan(two, sets({"tune.measure=other"})).measure, "other");
}

TEST(TunedText, KeepsTheSuiteAndGivesEachVariantItsOwn) {
  const std::string text = tuned(kSuite, 3);
  EXPECT_SAYS(text, "# µ: a comment that must stay", "# with a backup", "tuned = true", "[tuning]", "by = \"a test\"");
  const Suite before = parse(kSuite), after = parse(text);
  EXPECT_TRUE(after.tuned);
  EXPECT_FALSE(before.tuned);
  ASSERT_EQ(after.trials.size(), before.trials.size());
  const float lr = float(plan(kSuite).variants[0].settings[3].lr);
  for (std::size_t i = 0; i < after.trials.size(); ++i) {
    EXPECT_EQ(after.trials[i].optimizer.lr, lr);
    TrialSpec same = after.trials[i];
    same.optimizer.lr = before.trials[i].optimizer.lr;
    EXPECT_EQ(same.hash(), before.trials[i].hash()) << "nothing else is changed";
  }
}

// In every form of the text, each variant gets its own settings and the result is read again.
TEST(TunedText, CopesWithEveryFormOfAVariant) {
  const std::string hop = "name = \"hop\"        # with a backup\nlabel = \"hop a\"\nbackup = 1\n";
  const std::vector<std::string> forms = {
      with(kSuite, hop, hop + "[protocol.optimizer]  # its own\nmomentum = 0.9\n"),
      with(kSuite, hop, hop + "[protocol.optimizer]\nlr = 7e-1 # old\n"),
      with(kSuite, hop, hop + "optimizer = { lr = 1, momentum = 0.5 }\n"),
      with(kSuite, hop, hop + "optimizer = { momentum = 0.5 }\n"),
      with(kSuite, hop, hop + "optimizer = {}\n"),
      with(kSuite, hop, hop + "optimizer.momentum = 0.5\n"),
      with(kSuite, hop, hop + "optimizer.lr = 0.5\n"),
      with(kSuite, "schema = 1", "tuned = false # not yet\nschema = 1"),
      with(with(kSuite, "schema = 1\n",
                "schema = 1\nprotocol = [{ name = \"allreduce\" }, { name = \"hop\", label = \"µ\" }]\n"),
           "[[protocol]]\nname = \"allreduce\"\n[[protocol]]\n" + hop, ""),
      std::string(kSuite) + "[[measure]]\nwhat = \"rate\"\niterations = 20",  // no line break at the end
  };
  for (const std::string& form : forms) {
    SCOPED_TRACE(form);
    const std::string text = tuned(form, 5);
    const float lr = float(plan(form).variants[0].settings[5].lr);
    const Suite suite = parse(text);
    EXPECT_TRUE(suite.tuned) << text;
    for (const TrialSpec& trial : suite.trials) EXPECT_EQ(trial.optimizer.lr, lr) << text;
    const std::string knobs =
        "[tune]\nknobs = [{ protocol = \"allreduce\", knob = \"algorithm\", values = [\"ring\", \"halving_doubling\"] "
        "}]\n";
    if (form.find("[[measure]]\nwhat = \"rate\"") == std::string::npos) {
      const std::string with_knobs = tuned(form + knobs, 8);
      EXPECT_SAYS(with_knobs, "algorithm = \"halving_doubling\"");
    }
  }
}

TEST(Tuned, HoldsOnlyWhileTheSettingsDo) {
  const std::string text = tuned(kSuite);
  const auto note = [&](const std::string& changed, const SuiteOptions& options = {}) {
    const Suite suite = parse(changed, options);
    const std::string said = tuned_note(suite);
    EXPECT_EQ(suite.tuned, said.starts_with("tuned: ")) << said;
    return said;
  };
  EXPECT_SAYS(note(text), "tuned: 12 settings for each variant", "'convergence' in 'control'", "by a test",
              "draws seed 9223372036854775809");
  EXPECT_TRUE(note(text, sets({"seed=7", "repeats=1"})).starts_with("tuned: ")) << "other draws are no other settings";
  EXPECT_TRUE(note(parse(text).resolved).starts_with("tuned: ")) << "a run's folder holds the record too";
  const std::string all = "untuned: not set as it was tuned: allreduce, hop a (that was: 12 settings";
  EXPECT_TRUE(note(text, sets({"batch=16"})).starts_with(all)) << note(text, sets({"batch=16"}));
  EXPECT_TRUE(note(text, sets({"lr=0.1"})).starts_with(all));
  EXPECT_TRUE(note(text, sets({"world_size=6"})).starts_with(all));
  EXPECT_TRUE(note(text, sets({"measure.convergence.target=29"})).starts_with(all));
  EXPECT_TRUE(note(with(text, "name = \"control\"", "name = \"renamed\"")).starts_with(all));
  EXPECT_SAYS(note(text, sets({"protocol.hop a.backup=0"})), "not set as it was tuned: hop a (");
  const std::string more = with(text, "[[scenario]]", "[[protocol]]\nname = \"dpsgd\"\n[[scenario]]");
  EXPECT_SAYS(note(more), "untuned: not set as it was tuned: dpsgd (");
  EXPECT_SAYS(note(text.substr(0, text.find("[tuning]"))), "untuned: the suite says tuned = true", "hopbench tune");
  EXPECT_SAYS(note(with(text, "tuned = true", "tuned = false")), "untuned: learning rates were not tuned");
}

TEST(Tuned, UnderFlagsCountsUnderTheSameFlagsOnly) {
  const SuiteOptions options = sets({"batch=16"});
  const std::string text = tuned(kSuite, 3, options);
  EXPECT_SAYS(tuned_note(parse(text, options)), "tuned: ", "with --set batch=16");
  EXPECT_SAYS(tuned_note(parse(text)), "untuned: not set as it was tuned", "with --set batch=16");
}

TEST(Tuned, TellsWhatIsDoubtful) {
  const Tuning tuning =
      plan(std::string(kSuite) + "[[measure]]\nwhat = \"convergence\"\nname = \"other\"\nsamples = 400\n");
  const double never = std::numeric_limits<double>::infinity();
  const Suite suite = parse(tuned_text(tuning, {{0, 100, 1, true}, {4, never, 2, false}}, "a test"));
  EXPECT_EQ(suite.at_the_edge, std::vector<std::string>{"allreduce"});
  const std::string note = tuned_note(suite);
  EXPECT_SAYS(note, "on the edge of the grid: allreduce", "no setting reached the target: hop a",
              "not tuned on: other");
}

TEST(TuneMistakes, AreToldWithTheirPlaces) {
  const std::string suite = kSuite;
  const auto tune = [&](const std::string& keys) { return suite + "[tune]\n" + keys + "\n"; };
  EXPECT_SAYS(mistakes_of(tune("trials = 2")), "t.toml:34:10: 'trials' is 2, out of range");
  EXPECT_SAYS(mistakes_of(tune("trails = 2")), "unknown key 'trails' in [tune]: did you mean 'trials'?");
  EXPECT_SAYS(mistakes_of(tune("lr = [1, 0.1]")), "t.toml:34:6: 'lr' must be [low, high]");
  EXPECT_SAYS(mistakes_of(tune("lr = 0.1")), "t.toml:34:6: 'lr' must be two numbers");
  EXPECT_SAYS(mistakes_of(tune("lr = [0, 1]")), "t.toml:34:7: 'lr' is 0, out of range: it must be above 0");
  EXPECT_SAYS(mistakes_of(tune("lr = [0.1, 0.1001]")), "t.toml:34:6: ", "the same in three digits");
  EXPECT_SAYS(mistakes_of(tune("scenario = \"contrl\"")),
              "t.toml:34:12: unknown scenario 'contrl': did you mean 'control'?");
  EXPECT_SAYS(mistakes_of(tune("measure = \"rate\"")), "t.toml:34:11: unknown measure of convergence 'rate'");
  const auto knobs = [&](const std::string& list) { return mistakes_of(tune("knobs = [" + list + "]")); };
  EXPECT_SAYS(knobs("{ protocol = \"hop\", knob = \"backup\", values = [0, 1] }"), "34:23: unknown label 'hop'");
  EXPECT_SAYS(knobs("{ protocol = \"hop a\", knob = \"bakcup\", values = [0, 1] }"), "did you mean 'backup'?");
  EXPECT_SAYS(knobs("{ protocol = \"hop a\", knob = \"backup\", values = [0, \"x\"] }"), "t.toml:34:");
  EXPECT_SAYS(knobs("{ protocol = \"hop a\", knob = \"max_ig\", values = [2, 3, 4, 5, 6] }"),
              "12 trials for 5 settings");
  EXPECT_SAYS(knobs("{ protocol = \"hop a\", knob = \"max_ig\", values = [2, 3, 4, 5, 6, 7] }"), "3 at least");
  const std::string one = "{ protocol = \"hop a\", knob = \"max_ig\", values = [2] }, ";
  EXPECT_SAYS(knobs(one + with(one, "max_ig", "backup") + with(one, "max_ig", "max_jump")), "at most 2 knobs");
  EXPECT_SAYS(knobs("{ protocol = \"hop a\", knob = \"backup\", values = [9] }"), "'hop a' is impossible");
  EXPECT_SAYS(mistakes_of(with(suite, "convergence", "rate")), "nothing to tune by");
  EXPECT_SAYS(mistakes_of(with(suite, "name = \"sim\"", "name = \"gloo\"")), "real processes", "t.toml:16:8: ");
  EXPECT_SAYS(mistakes_of(with(suite, "lr = 0.05", "lr = 0")), "t.toml:11:6: 'lr' is 0");
  EXPECT_SAYS(mistakes_of(with(suite, "samples = 800", "samples = 800\nevaluations = 0")), "t.toml:32:15: without");
  EXPECT_SAYS(mistakes_of(suite, sets({"lr=0.1"})), "--set lr=0.1: ", "leave it out");
  EXPECT_SAYS(mistakes_of(suite + "[matrix]\n\"topology.name\" = [\"ring\", \"complete\"]\n"),
              "t.toml:34:1: ", "--set 'topology.name=VALUE'");
  EXPECT_EQ(
      mistakes_of(suite + "[matrix]\n\"topology.name\" = [\"ring\", \"complete\"]\n", sets({"topology.name=ring"})),
      "");
  EXPECT_SAYS(mistakes_of(suite + "[matrix]\nprotocol.\"hop a\".max_ig = [2, 5]\n"), "protocol.\"hop a\".max_ig");
  EXPECT_SAYS(mistakes_of(suite + "[matrix]\n\"tune.trials\" = [3, 4]\n"), "for the whole suite");
  EXPECT_SAYS(mistakes_of(suite + "tune.trials = 4\n"),
              "t.toml:33:6: 'trials' is only allowed in [tune]: it is the same for the whole suite");
  EXPECT_SAYS(mistakes_of(tuned(suite)), "tuned already");
}

}  // namespace
}  // namespace hopbench
