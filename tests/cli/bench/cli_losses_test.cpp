// `hopbench bench losses` of a suite: the steps that a worker of a trial does, alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kSuite = R"(schema = 1
name = "l"
[run]
world_size = 3
iterations = 12
repeats = 2
seed = 7
[model]
name = "softmax"
dataset.name = "synthetic"
batch = 8
split = "shards"
[optimizer]
lr = 0.2
momentum = 0.5
nesterov = true
step = "as_written"
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[topology]
name = "ring"
[[protocol]]
name = "local_sgd"
period = 1000
)";

class Losses : public testing::Test {
 protected:
  Losses() { std::ofstream(folder_.path() + "/l.toml") << kSuite; }
  Ended losses(const Args& more) const {
    Args words{"bench", "losses", "l.toml", "-o", "out", "--steps", "12"};
    words.insert(words.end(), more.begin(), more.end());
    return hopbench(folder_.path(), words);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder_.path() + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Folder folder_;
};

// Without averages a worker of the trial does what it does alone: the same data, order, start and steps.
TEST_F(Losses, AreThoseOfTheTrialsWorker) {
  ASSERT_EQ(hopbench(folder_.path(), {"run", "l.toml", "-o", "run"}).code, 0);
  const Ended ended = losses({"--worker", "2", "--filter", "/1$"});  // the second repeat
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::istringstream rows(text_of("run/trials.jsonl"));
  std::string row;
  while (std::getline(rows, row) && !json::parse(row).at("record").at("id").get<std::string>().ends_with("/1")) {
  }
  const json marks = json::parse(row).at("record").at("ranks").at(2).at("marks");
  std::istringstream said(ended.out);
  ASSERT_GE(marks.size(), 12U);
  for (std::size_t k = 0; k < 12; ++k) {
    float loss = 0;
    said >> loss;
    EXPECT_FLOAT_EQ(loss, marks[k].back().get<float>()) << "step " << k;
  }
  const json settings = json::parse(text_of("out/settings.json"));
  EXPECT_EQ(settings.at("seed"), 7);
  EXPECT_EQ(settings.at("repeat"), 1);
  EXPECT_EQ(settings.at("workers"), 3);
  EXPECT_EQ(settings.at("worker"), 2);
  EXPECT_EQ(settings.at("split"), "2 shards a worker");
  EXPECT_EQ(settings.at("nesterov"), true);
  EXPECT_EQ(settings.at("lr"), 0.2);
}

TEST_F(Losses, AreOfTheFirstWorkerThatTrains) {
  const Ended ended = losses({"--set", "protocol.local_sgd.without=[0]", "--set", "topology.name=complete"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json::parse(text_of("out/settings.json")).at("worker"), 1);
}

TEST_F(Losses, RefuseWhatASuiteSaysAndWhatIsNoPlainStep) {
  EXPECT_THAT(losses({"--lr", "0.1"}).err, HasSubstr("l.toml says what is trained: leave --lr out, or use --set"));
  EXPECT_THAT(losses({"--worker", "3"}).err, HasSubstr("the workers of l/rate"));
  EXPECT_THAT(
      losses({"--set", "protocol.local_sgd.without=[1]", "--set", "topology.name=complete", "--worker", "1"}).err,
      HasSubstr("trains without it: take another"));
  const auto into = [&](const std::string& folder) {
    return hopbench(folder_.path(), {"bench", "losses", "l.toml", "-o", folder});
  };
  EXPECT_THAT(into("l.toml").err, HasSubstr("l.toml is not a folder: choose a new or empty one with -o"));
  EXPECT_THAT(into("").err, HasSubstr("-o wants a folder, not an empty name"));
  EXPECT_THAT(into(".").err, HasSubstr(". is not empty: choose a new or empty folder with -o"));
  EXPECT_THAT(losses({"--filter", "hop"}).err, HasSubstr("--filter hop leaves no trial of l.toml"));
  EXPECT_THAT(losses({"--set", "optimizer.cosine=100"}).err,
              HasSubstr("has optimizer.cosine, and steps are plain SGD"));
  const Ended model = hopbench(folder_.path(), {"bench", "losses", "softmax", "-o", "out", "--worker", "1"});
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.err, HasSubstr("--worker are of a suite"));
}

}  // namespace
}  // namespace hopbench
