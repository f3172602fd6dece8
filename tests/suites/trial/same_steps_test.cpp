// Protocols whose workers make the same steps end with one model, bit for bit, whatever the schedule of the learning
// rate, the rule by which a trial stops and the speeds of the workers.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "protocols/node/protocol.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

// No protocol declares that it is one of these. With a learning rate that does not change, they are those that end with
// one model, as the first test checks.
const std::set<std::string> kStepWithTheMeanOfAll = {"allreduce", "lb_bsp",         "dynamic_batching", "powersgd",
                                                     "hivemind",  "error_feedback", "dropcompute",      "abs_sgd"};
const std::set<std::string> kTakeWhatServersHave = {"ps_bsp"};
// A step of x0, or an average, ends the run.
const std::set<std::string> kHandOverOneModel = {"diloco", "streaming_diloco", "slowmo", "co2", "a_edit", "lasgd"};

std::set<std::string> same_steps() {
  std::set<std::string> all = kStepWithTheMeanOfAll;
  all.insert(kTakeWhatServersHave.begin(), kTakeWhatServersHave.end());
  all.insert(kHandOverOneModel.begin(), kHandOverOneModel.end());
  return all;
}

struct Stop {
  const char* key;
  const char* amount;
};

/// Returns the distance between the workers' last models, with 8 workers.
double distance(const std::string& protocol, const Stop& stop, const std::string& schedule, bool unequal) {
  std::string suite = R"(schema = 1
name = "s"
[run]
world_size = 8
repeats = 1
seed = 5
evaluations = 1
evaluation_samples = 64
)";
  suite += std::string(stop.key) + " = " + stop.amount + R"(
[model]
name = "softmax"
dataset.name = "synthetic"
batch = 4
[optimizer]
lr = 0.2
)" + schedule +
           R"(
[compute]
backend = "reference"
pace = "10ms"
noise = 0
[transport]
name = "sim"
[topology]
name = "ring_based"
[[measure]]
what = "convergence"
)";
  if (unequal) suite += "[[scenario]]\nname = \"x\"\ncompute = [{ kind = \"log_normal\", shape = 0.7 }]\n";
  suite += "[[protocol]]\nname = \"" + protocol + "\"\n";
  const TrialRecord record = simulate_trial(parse_suite(suite, "s.toml", {}).trials.at(0));
  double last = -1;
  for (const CurvePoint& point : record.curve) {
    if (point.model == "mean") last = point.consensus_distance;
  }
  return last;
}

constexpr Stop kIterations = {"iterations", "24"}, kSamples = {"samples", "768"}, kEpochs = {"epochs", "0.1875"};
constexpr Stop kNoWholeRounds = {"iterations", "23"};  // averages in every fourth iteration are not in the last one

TEST(SameSteps, AreThoseOfTheProtocolsThatEndWithOneModel) {
  std::set<std::string> found;
  for (const Protocol* protocol : protocols()) {
    const std::string name(protocol->name);
    const bool by_chance = name == "dbw" || name == "selsync";  // may wait for all, and average, in the last iteration
    if (!by_chance && distance(name, kNoWholeRounds, "", true) == 0) found.insert(name);
  }
  EXPECT_EQ(found, same_steps());
}

TEST(SameSteps, HaveOneLearningRateOnAllWorkers) {
  for (const std::string& name : same_steps()) {
    for (const std::string schedule : {"cosine = 30", "lr_warmup = 9", "lr_warmup = 6\ncosine = 30"}) {
      for (const Stop& stop : {kIterations, kSamples, kEpochs}) {
        for (const bool unequal : {false, true})
          EXPECT_EQ(distance(name, stop, schedule, unequal), 0) << name << ", " << stop.key << ", " << schedule;
      }
    }
  }
}

}  // namespace
}  // namespace hopbench
