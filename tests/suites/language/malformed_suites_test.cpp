// Suites with a mistake: each must be refused, with the place and what to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/base/random.h"
#include "protocols/node/protocol.h"
#include "suites/language/suite.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

constexpr const char* kFile = "a.toml";

// Stands in front of every case: its text starts in line 4, inside of [run].
constexpr const char* kTop = "schema = 1\n[run]\nworld_size = 4\n";
// ... and behind it.
constexpr const char* kModel = "[model]\nname = \"quadratic\"\n";
constexpr const char* kProtocol = "[[protocol]]\nname = \"allreduce\"\n";

std::vector<Mistake> mistakes_of(const std::string& text, const SuiteOptions& options = {}) {
  try {
    parse_suite(text, kFile, options);
  } catch (const SuiteError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.mistakes();
  }
  return {};
}

std::string all_of(const std::vector<Mistake>& mistakes) {
  std::string text;
  for (const Mistake& mistake : mistakes) text += mistake.text() + "\n";
  return text;
}

struct Case {
  const char* name;
  std::string text;
  int line, column;
  const char* message;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class MalformedSuite : public testing::TestWithParam<Case> {};

TEST_P(MalformedSuite, IsRefusedWithItsPlaceAndWhatToDo) {
  const Case& c = GetParam();
  const std::vector<Mistake> mistakes = mistakes_of(c.text);
  const bool found = std::any_of(mistakes.begin(), mistakes.end(), [&](const Mistake& m) {
    return m.line == c.line && m.column == c.column && m.message.find(c.message) != std::string::npos;
  });
  EXPECT_TRUE(found) << "wanted " << c.line << ":" << c.column << ": " << c.message << "\ngot\n" << all_of(mistakes);
  EXPECT_EQ(mistakes.size(), 1u) << "one mistake, told once:\n" << all_of(mistakes);
}

const std::string kInVirtualTime = "[transport]\nname = \"sim\"\n[compute]\npace = \"1ms\"\n";

// In line 4 and on: the rest of [run], then whatever.
Case with(const char* name, const std::string& text, int line, int column, const char* message) {
  return {name, std::string(kTop) + text + kModel + kProtocol, line, column, message};
}

// The same without [model] behind it.
Case own_model(const char* name, const std::string& text, int line, int column, const char* message) {
  return {name, std::string(kTop) + text + kProtocol, line, column, message};
}

// The same without [[protocol]] behind it.
Case own_protocol(const char* name, const std::string& text, int line, int column, const char* message) {
  return {name, std::string(kTop) + kModel + text, line, column, message};
}

const std::vector<Case> kWhole = {
    {"NotToml", "schema = 1\nname = \"a\n", 2, 10, "not TOML"},
    {"KeyTwice", "schema = 1\nschema = 1\n", 2, 10, "cannot redefine existing integer 'schema'"},
    {"InvalidUtf8", "schema = 1\nname = \"\xff\xfe\"\n", 2, 8, "not TOML"},
    {"NoSchema", std::string("[run]\nworld_size = 4\n") + kModel + kProtocol, 1, 1, "'schema' is missing"},
    {"OtherSchema", std::string("schema = 2\n[run]\nworld_size = 4\n") + kModel + kProtocol, 1, 10,
     "'schema' is 2, out of range: it must be 1"},
    {"NoWorldSize", std::string("schema = 1\n[run]\nsamples = 100\n") + kModel + kProtocol, 2, 2,
     "'world_size' is missing"},
    {"NoProtocol", std::string(kTop) + kModel, 2, 2, "there is no protocol: add a [[protocol]]"},
    {"ProtocolsAreNoList", std::string(kTop) + kModel + "[protocol]\nname = \"allreduce\"\n", 6, 2,
     "'protocol' must be a list of tables: [[protocol]]"},
};

const std::vector<Case> kKeys = {
    with("UnknownSection", "[modle]\nbatch = 3\n", 4, 2, "unknown section 'modle' at the top: did you mean 'model'?"),
    with("UnknownKey", "sedd = 3\n", 4, 1, "unknown key 'sedd' in [run]: did you mean 'seed'?"),
    with("UnknownKeyFarFromAll", "xyzzyxyzzy = 3\n", 4, 1, "unknown key 'xyzzyxyzzy' in [run]: known are world_size"),
    with("NestedUnknownKey", "target = { losss = 0.5 }\n", 4, 12,
         "unknown key 'losss' in [run.target]: did you mean 'loss'?"),
    with("TextForInteger", "repeats = \"3\"\n", 4, 11, "'repeats' must be an integer, not \"3\""),
    with("RealForInteger", "repeats = 2.5\n", 4, 11, "'repeats' must be an integer, not a real number"),
    with("DateForInteger", "repeats = 2020-01-01\n", 4, 11, "'repeats' must be an integer, not a date or time"),
    with("SectionIsNoTable", "[compute]\nthreads = 1\n[network]\nlinks = 3\n", 7, 9,
         "'links' must be a list of tables"),
    with("ZeroRepeats", "repeats = 0\n", 4, 11, "'repeats' is 0, out of range: it must be 1 to 1000"),
    with("NegativeSeed", "seed = -1\n", 4, 8, "'seed' is -1, out of range: it must be 0 or more"),
    with("NotANumber", "[optimizer]\nlr = nan\n", 5, 6, "'lr' is nan, out of range"),
    with("BadDuration", "warmup_time = \"2 parsecs\"\n", 4, 15, "'warmup_time' must be a time such as"),
    with("NegativeDuration", "stall_timeout = \"-1s\"\n", 4, 17,
         "'stall_timeout' is -1s, out of range: it must be above 0"),
    with("DurationWithoutUnit", "[network]\nlatency = 100\n", 5, 11, "'latency' must be a time such as"),
    with("BadRate", "[network]\nbandwidth = \"1Gbit\"\n", 5, 13, "'bandwidth' must be a rate such as \"1Gbit/s\""),
    with("BadPace", "[compute]\npace = \"fast\"\n", 5, 8, "'pace' must be \"auto\", \"off\" or a time"),
    with("UnknownBackend", "[compute]\nbackend = \"onednm\"\n", 5, 11,
         "unknown backend 'onednm': did you mean 'onednn'?"),
    with("UnknownTransport", "[transport]\nname = \"glooo\"\n", 5, 8,
         "unknown transport 'glooo': did you mean 'gloo'?"),
    with("UnknownTopology", "[topology]\nname = \"ring_base\"\n", 5, 8, "did you mean 'ring_based'?"),
    with("CommaListIsNoSweep", "[topology]\nname = \"ring,star\"\n", 5, 8, "a comma list is not a sweep: see [matrix]"),
    with("UnknownOrder", "order = \"shuffled\"\n", 4, 9, "unknown order 'shuffled': known are interleaved"),
    with("StepWithoutFactor", "[optimizer]\nsteps = [{ iteration = 3 }]\n", 5, 10,
         "'factor' is missing in optimizer.steps"),
    own_model("UnknownModel", "[model]\nname = \"lennet\"\n", 5, 8, "unknown model 'lennet': did you mean 'lenet'?"),
    own_model("UnknownDataset", "[model]\ndataset = \"fashion_mnst\"\n", 5, 11, "did you mean 'fashion_mnist'?"),
    own_model("UnknownSplit", "[model]\nsplit = \"idd\"\n", 5, 9, "unknown kind 'idd': did you mean 'iid'?"),
    own_model("ZeroBatch", "[model]\nbatch = 0\n", 5, 9, "'batch' is 0, out of range: it must be 1 or more"),
};

const std::vector<Case> kCombinations = {
    with("TwoStopRules", "samples = 100\niterations = 5\n", 5, 14, "'samples' and 'iterations' are two stop rules"),
    with("StopByTime", "seconds = 3\n", 4, 11, "stopping by 'seconds' is not in this version"),
    with("AutoPaceInVirtualTime", "[transport]\nname = \"sim\"\n[compute]\npace = \"auto\"\n", 7, 8,
         "measure 'rate' runs in virtual time (sim), where pace = \"auto\" is refused"),
    with("SimMeasureWithoutPace", "[[measure]]\nwhat = \"rate\"\ntransport = \"sim\"\n", 4, 1,
         "give a time, such as pace"),
    with("CosineWithinWarmUp", "[optimizer]\ncosine = 5\nlr_warmup = 5\n", 5, 10,
         "'cosine' is 5, but lr falls from 'lr_warmup' = 5 on"),
    with("PaceAndCost", "[compute]\npace = \"4ms\"\ncost = \"3ms\"\n", 6, 8, "say the same: give one"),
    with("UnknownReference", "reference = \"alreduce\"\n", 4, 13,
         "unknown reference 'alreduce': did you mean 'allreduce'?"),
    with("EdgesWithoutAList", "[topology]\nname = \"edges\"\n", 5, 8, "topology 'edges' needs a list of edges"),
    with("EdgeOfNoRank", "[topology]\nedges = [[-1, 0]]\n", 5, 11, "'edges': -1 is not a rank"),
    with("MalformedEdges", "[topology]\nedges = [[0, 1], [2]]\n", 5, 18, "'edges' must be a list of pairs of ranks"),
    with("EdgeBeyondTheRanks", "[topology]\nedges = [[0, 4]]\n", 5, 9, "topology:"),
    own_protocol("DisconnectedEdges",
                 "[topology]\nedges = [[0, 1], [1, 0], [2, 3], [3, 2]]\n[[protocol]]\nname = \"dpsgd\"\n", 7, 9,
                 "the topology is not connected: no path leads from rank 0 to rank 2"),
    with("EdgesOfAnotherTopology", "[topology]\nname = \"ring\"\nedges = [[0, 1]]\n", 6, 9,
         "'edges' and the topology 'ring' exclude each other"),
    with("HostsOfOtherWorkers", "[network]\nhosts = [0, 0, 1]\n", 5, 9, "'hosts' lists 3 workers, but world_size is 4"),
    own_model("BatchLargerThanAPart", "[model]\nname = \"quadratic\"\nbatch = 2000\n", 6, 9,
              "'batch' is 2000, more than a worker's part of the data (1024 samples with 4 workers)"),
    own_model("TimingWithoutSize", "[model]\nname = \"timing_only\"\n" + kInVirtualTime, 5, 8,
              "model 'timing_only' needs a size"),
    own_model("SizeOfAModelWithout", "[model]\nname = \"lenet\"\nsize = 10\n", 6, 8,
              "'size' is only allowed with models timing_only and quadratic"),
    own_model("UnknownAugment", "[model]\naugment = \"flip\"\n", 5, 11, "unknown augment 'flip'"),
    own_model("NoNumbersToSend", "[model]\nname = \"timing_only\"\nsize = 10\n", 5, 8, "no numbers to send"),
    own_model("AugmentWithoutData",
              "[model]\nname = \"timing_only\"\nsize = 10\naugment = \"pad_crop_flip\"\n" + kInVirtualTime, 7, 11,
              "augment = \"pad_crop_flip\" is only allowed with a model that reads data"),
    own_model("ModelThatDoesNotFitItsData", "[model]\nname = \"vgg11\"\ndataset = \"mnist\"\n", 6, 11,
              "model 'vgg11' does not fit data set 'mnist', whose samples are 1x28x28"),
    own_model("DataThatAMatrixBrings",
              "[model]\nname = \"vgg11\"\n[matrix]\n\"model.dataset.name\" = [\"cifar10\", \"synthetic\"]\n", 7, 36,
              "'vgg11' does not fit data set 'synthetic'"),
    own_model("FeatureThatNoSampleHas", "[model]\nsplit = { kind = \"by_feature\", feature = 784 }\n", 5, 42,
              "'feature' is 784, but a sample of data set 'fashion_mnist' has the features 0 to 783"),
    own_model("PreciseStatisticsOfNothing", "[model]\nname = \"vgg11\"\nstatistics = \"precise\"\n", 6, 14,
              "is only allowed with models that have batch norms: model 'vgg11' has none"),
    own_model("PreciseStatisticsOfNoModel",
              "[model]\nname = \"timing_only\"\nsize = 10\nstatistics = \"precise\"\n" + kInVirtualTime, 7, 14,
              "is only allowed with models that have batch norms: model 'timing_only' computes nothing"),
    own_model("TimingHasNoConvergence",
              "[model]\nname = \"timing_only\"\nsize = 10\n[[measure]]\nwhat = \"convergence\"\n" + kInVirtualTime, 7,
              1, "computes nothing, so it has no convergence"),
};

const std::vector<Case> kBlocks = {
    own_protocol("UnknownProtocol", "[[protocol]]\nname = \"hopp\"\n", 7, 8,
                 "unknown protocol 'hopp': did you mean 'hop'?"),
    own_protocol("ProtocolWithoutName", "[[protocol]]\nlabel = \"x\"\n", 6, 1, "'name' is missing in [[protocol]]"),
    own_protocol("UnknownKnob", "[[protocol]]\nname = \"hop\"\nbakcup = 1\n", 8, 1,
                 "unknown key 'bakcup' of protocol 'hop': did you mean 'backup'?"),
    own_protocol("KnobOutOfRange", "[[protocol]]\nname = \"hop\"\nmax_ig = 0\n", 8, 10, "out of range"),
    own_protocol("WholeKnobWrittenAsReal", "[[protocol]]\nname = \"sgp\"\noverlap = 1e9\n", 8, 11,
                 "written as a real number"),
    own_protocol("KnobOfTheWrongType", "[[protocol]]\nname = \"hop\"\nbackup = \"one\"\n", 8, 10, "wrong type"),
    own_protocol("ListForAKnob", "[[protocol]]\nname = \"hop\"\nbackup = [1, 2]\n", 8, 10,
                 "'backup' of protocol 'hop' can't be a list"),
    own_protocol("ImpossibleKnobs", "[[protocol]]\nname = \"hop\"\nbackup = 1\nstaleness = 2\n", 6, 1,
                 "'hop' is impossible: backup and staleness together"),
    own_protocol("DuplicateLabel", "[[protocol]]\nname = \"hop\"\n[[protocol]]\nname = \"hop\"\nbackup = 1\n", 9, 1,
                 "label 'hop' is there twice, first in line 6"),
    own_protocol("LabelOfARowOfBounds", "[[protocol]]\nname = \"hop\"\nlabel = \"ideal\"\n", 8, 1,
                 "'ideal' is a row of bounds in every table: take another label"),
    own_protocol("SlashInALabel", "[[protocol]]\nname = \"hop\"\nlabel = \"a/b\"\n", 8, 9,
                 "a name is not empty and has no '/'"),
    own_protocol("UnknownOptimizer", "[[protocol]]\nname = \"hop\"\noptimizer = \"adam\"\n", 8, 13,
                 "unknown optimizer 'adam': did you mean 'adamw'?"),
    own_protocol("NumberForAnOptimizer", "[[protocol]]\nname = \"hop\"\noptimizer = 3\n", 8, 13,
                 "must be a name in quotes, not an integer"),
    own_protocol("UnknownOptimizerKey", "[[protocol]]\nname = \"hop\"\n[protocol.optimizer]\nrl = 1\n", 9, 1,
                 "unknown key 'rl' in [protocol.optimizer]: did you mean 'lr'?"),
    with("RankBeyondTheWorkers",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"constant\", factor = 2, ranks = [1, 4] }]\n", 6, 57,
         "scenario 's' names rank 4, but the workers are 0 to 3"),
    with("OtherBackendBeyondTheWorkers", "[compute]\nothers = [{ ranks = [1, 4], backend = \"reference\" }]\n", 5, 25,
         "'others' names rank 4, but the workers are 0 to 3"),
    with("OtherBackendTwice",
         "[compute]\nothers = [{ ranks = [1], backend = \"reference\" }, { ranks = [1], backend = \"onednn\" }]\n", 5,
         62, "'others' names rank 1 twice"),
    with("ProbabilityAboveOne",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"bernoulli\", factor = 2, probability = 1.5 }]\n", 6, 60,
         "'probability' is 1.5, out of range: it must be 0 to 1"),
    with("ProbabilityAboveOneWithFewWorkers",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"bernoulli\", factor = 2, probability = \"8/n\" }]\n", 6, 60,
         "'probability' is 2 with 4 workers, out of range"),
    with("BadFraction",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"bernoulli\", factor = 2, probability = \"1/m\" }]\n", 6, 60,
         "'probability' must be a number from 0 to 1, or a fraction such as \"1/n\""),
    with("UnknownRule", "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"bernouli\" }]\n", 6, 21,
         "did you mean 'bernoulli'?"),
    with("RuleWithoutItsNumber", "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"constant\" }]\n", 6, 12,
         "a constant rule needs 'factor'"),
    with("NumberOfAnotherRule",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"constant\", factor = 2, shape = 1.0 }]\n", 6, 45,
         "'shape' is only allowed with kind log_normal, pareto; a constant rule has factor"),
    with("UntilBeforeFrom",
         "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"constant\", factor = 2, from = \"2s\", until = \"1s\" }]\n",
         6, 66, "'until' must be later than 'from'"),
    with("NoRanks", "[[scenario]]\nname = \"s\"\ncompute = [{ kind = \"constant\", factor = 2, ranks = [] }]\n", 6, 53,
         "'ranks' is empty"),
    with("ScenarioTwice", "[[scenario]]\nname = \"s\"\n[[scenario]]\nname = \"s\"\n", 7, 1,
         "scenario 's' is there twice"),
    with("UnknownScenarioOfAMeasure", "[[scenario]]\nname = \"slow\"\n[[measure]]\nscenarios = [\"slo\"]\n", 7, 14,
         "unknown scenario 'slo': did you mean 'slow'?"),
    with("UnknownKeyOfAMeasure", "[[measure]]\niteratons = 3\n", 5, 1,
         "unknown key 'iteratons' in [[measure]]: did you mean 'iterations'?"),
    with("ReferenceInAMeasure", "[[measure]]\nreference = \"allreduce\"\n", 5, 1,
         "'reference' is only allowed in [run]"),
    with("MeasureTwice", "[[measure]]\nsamples = 10\n[[measure]]\nsamples = 20\n", 6, 1,
         "measure 'rate' is there twice"),
    with("UnknownMatrixKey", "[matrix]\n\"topology.nam\" = [\"ring\"]\n", 5, 1, "did you mean 'topology.name'?"),
    with("MatrixWithoutAList", "[matrix]\n\"model.batch\" = 3\n", 5, 17,
         "'model.batch' in [matrix] must be a list of values"),
    with("MatrixValueOutOfRange", "[matrix]\n\"model.batch\" = [1, 0]\n", 5, 21, "'batch' is 0, out of range"),
    with("MatrixValueTwice", "[matrix]\n\"model.batch\" = [1, 1]\n", 5, 21, "1 is twice in the matrix"),
    with("UnknownLabelInTheMatrix", "[matrix]\nprotocol.alreduce.overlap = [true]\n", 5, 19,
         "unknown label 'alreduce': did you mean 'allreduce'?"),
    with("UnusedProfileWithAMistake", "[profile.quick]\nrun.repats = 1\n", 5, 5,
         "unknown key 'run.repats': did you mean"),
    with("ProfileOfAnUnknownMeasure", "[profile.quick]\nmeasure.rat.samples = 1\n", 5, 13,
         "unknown measure 'rat': did you mean 'rate'?"),
};

// A knob of one protocol that is impossible with 4 workers: the rest of the block, from line 8 on.
Case impossible(const char* name, const std::string& protocol, const std::string& knobs, const char* message) {
  return own_protocol(name, "[[protocol]]\nname = \"" + protocol + "\"\n" + knobs + "\n", 6, 1, message);
}

const std::vector<Case> kImpossible = {
    impossible("BackupOfAllNeighbours", "hop", "backup = 3",
               "'hop' is impossible: backup = 3, but worker 0 has 3 in-neighbours: it would wait for none of them"),
    impossible("BackupOfAllNeighboursOnARing", "hop", "backup = 2\n[topology]\nname = \"ring\"",
               "backup = 2, but worker 0 has 2 in-neighbours"),
    impossible("BackupOfAllWorkers", "ps_backup", "backup = 4", "'ps_backup' is impossible: "),
    impossible("SkippingWithoutBackup", "hop", "max_jump = 2", "skipping needs neighbours that tolerate"),
    impossible("GroupsThatDoNotDivide", "ds_sync", "group_size = 3", "group_size = 3 does not divide 4 workers"),
    impossible("PragueGroupsLargerThanAll", "prague", "group_size = 5", "group_size = 5 is more than the 4 workers"),
    impossible("GroupsLargerThanAll", "ds_sync", "group_size = 5", "groups of 5 out of 4 workers: take a divisor of 4"),
    impossible("GroupOfMoreThanAll", "partial_reduce", "group_size = 5", "group_size = 5 is more than the 4 workers"),
    impossible("WindowThatCannotConnect", "partial_reduce", "window = 2", "take 3 or more"),
    impossible("StaticGroupsOfOtherHosts", "prague", "groups = \"static\"", "4 workers on each host"),
    impossible("HostsThatAreNoRows", "ds_sync", "division = \"hosts\"", "needs several hosts"),
    impossible("EvenAndOddFallApart", "adpsgd", "[topology]\nname = \"star\"",
               "falls apart without its edges between two even or two odd ranks"),
    impossible("MoreServersThanParameters", "ps_bsp", "servers = 65", "65 servers share 64 parameters"),
    impossible("MoreServersThanParametersOfDssp", "dssp", "servers = 100", "100 servers share 64 parameters"),
    impossible("MoreServersThanParametersUnderBalance", "lb_bsp", "aggregation = \"servers\"\nservers = 65",
               "65 servers share 64 parameters"),
    own_model("AServerBesideEachWorkerIsTooMany",
              "[model]\nname = \"quadratic\"\nsize = 3\n[[protocol]]\nname = \"ps_asp\"\n", 7, 1,
              "4 servers share 3 parameters"),
};

TEST(MalformedSuites, AreNoneForDataThatNobodyCanLookAt) {
  const std::string top = std::string(kTop) + "iterations = 3\n", vgg = "[model]\nname = \"vgg11\"\n";
  const std::string elsewhere = vgg + "dataset = { name = \"mnist\", path = \"/no/such/folder\" }\n";
  EXPECT_EQ(all_of(mistakes_of(top + elsewhere + kProtocol)), "");
  const std::string precise = "[model]\nname = \"resnet20\"\nstatistics = \"precise\"\n";
  EXPECT_EQ(all_of(mistakes_of(top + precise + kProtocol)), "");
}

// Every protocol's knobs, each just beyond both ends of its range.
TEST(MalformedSuites, AreRefusedForAnyKnobOutOfItsRange) {
  int refused = 0;
  for (const Protocol* protocol : protocols()) {
    for (const Knob& knob : protocol->knobs) {
      std::vector<std::string> values;
      if (std::holds_alternative<std::int64_t>(knob.fallback))
        values = {std::to_string(std::int64_t(knob.low) - 1), std::to_string(std::int64_t(knob.high) + 1)};
      if (std::holds_alternative<double>(knob.fallback))
        values = {std::to_string(knob.low - 1), std::to_string(knob.high + 1)};
      if (std::holds_alternative<std::string>(knob.fallback)) values = {"\"none of these\""};
      for (const std::string& value : values) {
        const std::string text = std::string(kTop) + kModel + "[[protocol]]\nname = \"" + std::string(protocol->name) +
                                 "\"\n" + std::string(knob.name) + " = " + value + "\n";
        const std::vector<Mistake> mistakes = mistakes_of(text);
        ASSERT_EQ(mistakes.size(), 1u) << text << all_of(mistakes);
        EXPECT_EQ(mistakes.front().line, 8) << text << all_of(mistakes);
        EXPECT_NE(mistakes.front().message.find(knob.name), std::string::npos) << text << all_of(mistakes);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Whole, MalformedSuite, testing::ValuesIn(kWhole), name_of);
INSTANTIATE_TEST_SUITE_P(Keys, MalformedSuite, testing::ValuesIn(kKeys), name_of);
INSTANTIATE_TEST_SUITE_P(Combinations, MalformedSuite, testing::ValuesIn(kCombinations), name_of);
INSTANTIATE_TEST_SUITE_P(Blocks, MalformedSuite, testing::ValuesIn(kBlocks), name_of);
INSTANTIATE_TEST_SUITE_P(Impossible, MalformedSuite, testing::ValuesIn(kImpossible), name_of);

TEST(MalformedSuites, AreToldAllTheirMistakesAtOnceInTheOrderOfTheText) {
  const std::string path = source_dir() + "/tests/data/many_mistakes.toml";
  try {
    load_suite(path, {});
    FAIL() << "accepted";
  } catch (const SuiteError& error) {
    std::vector<int> lines;
    for (const Mistake& mistake : error.mistakes()) lines.push_back(mistake.line);
    EXPECT_EQ(lines, (std::vector<int>{3, 6, 9, 12, 16, 20, 24})) << error.what();
    EXPECT_NE(std::string(error.what()).find(path + ":6:11: 'repeats' must be an integer"), std::string::npos)
        << error.what();
    EXPECT_EQ(error.code(), ExitCode::kUsage);
  }
}

TEST(MalformedSuites, AreNotReadWhereThereIsNoFile) {
  try {
    load_suite("/nonexistent/suite.toml", {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/suite.toml: cannot be read"), std::string::npos);
  }
}

// Bytes of a good suite are changed, dropped and doubled: whatever that makes of it, it is a suite or it is refused.
TEST(MalformedSuites, OfAnyKindMeetSuiteErrorAndNothingElse) {
  const std::string good = std::string(kTop) + kModel + kProtocol +
                           "[[protocol]]\nname = \"hop\"\nbackup = 1\n[[scenario]]\nname = \"s\"\n"
                           "compute = [{ kind = \"bernoulli\", probability = \"1/n\", factor = 6.0, ranks = [0] }]\n"
                           "[[measure]]\ntransport = \"sim\"\npace = \"5ms\"\n[matrix]\n\"model.batch\" = [1, 2]\n"
                           "[profile.p]\nrun.repeats = 1\n";
  ASSERT_TRUE(mistakes_of(good).empty()) << all_of(mistakes_of(good));
  const std::string bytes = "\n\"'[]{}=.,#09ax-\\\xff";
  int refused = 0;
  for (std::int64_t i = 0; i < 3000; ++i) {
    Random random({.seed = 1, .repeat = 0, .purpose = Purpose::kTest, .rank = 0, .iteration = i});
    std::string text = good;
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      const std::uint64_t how = random.below(3);
      if (how == 0) text[at] = bytes[random.below(bytes.size())];
      if (how == 1) text.erase(at, 1 + random.below(8));
      if (how == 2) text.insert(at, text.substr(at, 1 + random.below(30)));
    }
    refused += mistakes_of(text).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 1500);
}

struct SetCase {
  const char* set;
  const char* message;
};

TEST(MalformedSets, AreRefusedWithTheSetThatWasGiven) {
  const std::string suite = std::string(kTop) + kModel + kProtocol;
  for (const SetCase& c : std::vector<SetCase>{
           {"run.repeats", "--set run.repeats: there is no '='"},
           {"run..repeats=3", "'run..repeats' is not a dotted key"},
           {"run.repeats=[3", "--set run.repeats=[3: '[3' is not a TOML value"},
           {"run.repeats=3\nseed = 4", "is not a TOML value"},
           {"run.repeats=three", "--set run.repeats=three: 'repeats' must be an integer, not \"three\""},
           {"run.repats=3", "unknown key 'run.repats': did you mean 'run.repeats'?"},
           {"topology.name=ring,star", "a comma list is not a sweep"},
           {"protocol.allreduce=1", "'protocol.allreduce' says too little: write protocol.NAME.KEY"},
           {"protocol.alreduce.overlap=false", "unknown label 'alreduce': did you mean 'allreduce'?"},
           {"scenario.homogeneus.compute=[]", "unknown scenario 'homogeneus': did you mean 'homogeneous'?"},
           {"measure.rate.sampels=3", "did you mean 'samples'?"},
           {"transport.name=sim", "measure 'rate' runs in virtual time"},
       }) {
    const std::vector<Mistake> mistakes =
        mistakes_of(suite, {.sets = {c.set}, .profile = {}, .seed = {}, .repeats = {}});
    EXPECT_EQ(mistakes.size(), 1u) << c.set << "\n" << all_of(mistakes);
    EXPECT_NE(all_of(mistakes).find(c.message), std::string::npos) << all_of(mistakes);
  }
  EXPECT_NE(all_of(mistakes_of(suite + "[profile.quick]\nrun.repeats = 1\n",
                               {.sets = {}, .profile = "quik", .seed = {}, .repeats = {}}))
                .find("unknown profile 'quik': did you mean 'quick'?"),
            std::string::npos);
}

}  // namespace
}  // namespace hopbench
