// The model that parameter servers hold: rows of a curve, and what has to reach the target.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "results/arithmetic/curve.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"

namespace hopbench {
namespace {

TrialRecord trained(const std::string& protocol, const std::string& scenario = "") {
  const std::string suite = R"(schema = 1
name = "s"
[run]
world_size = 4
samples = 1600
repeats = 1
evaluations = 5
evaluation_samples = 64
[model]
name = "softmax"
dataset.name = "synthetic"
batch = 8
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[[measure]]
what = "convergence"
[[protocol]]
name = ")" + protocol + "\"\n" +
                            scenario;
  return simulate_trial(parse_suite(suite, "s.toml", {}).trials.at(0));
}

/// Returns the losses of each model, point by point.
std::map<std::string, std::vector<double>> losses(const TrialRecord& record) {
  std::map<std::string, std::vector<double>> all;
  for (const CurvePoint& point : record.curve) all[point.model].push_back(point.loss);
  return all;
}

TEST(ServerModel, IsThatOfTheWorkersUnderBsp) {
  const auto all = losses(trained("ps_bsp"));
  ASSERT_GE(all.at("server").size(), 6U);
  EXPECT_EQ(all.at("server"), all.at("mean")) << "workers in lock step have what the servers have";
}

TEST(ServerModel, IsOneThatNoAverageOfWorkersHasUnderAsp) {
  const std::string slow =
      "[[scenario]]\nname = \"x\"\ncompute = [{ kind = \"constant\", ranks = [1], factor = 6.0 }]\n";
  const auto all = losses(trained("ps_asp", slow));
  ASSERT_EQ(all.at("server").size(), all.at("mean").size());
  EXPECT_EQ(all.at("server").front(), all.at("mean").front()) << "at the start";
  EXPECT_NE(all.at("server").back(), all.at("mean").back());
}

TEST(ServerModel, IsNotThereWithoutServers) { EXPECT_EQ(losses(trained("dpsgd")).count("server"), 0U); }

TEST(ServerModel, HasToReachTheTargetWhereThereIsOne) {
  TrialRow row;
  row.labels.target_loss = 0.5;
  row.labels.target_hold = 1;
  for (const auto& [model, samples] : std::map<std::string, std::int64_t>{{"mean", 300}, {"worst rank", 400}}) {
    for (const std::int64_t at : {std::int64_t{0}, samples})
      row.record.curve.push_back({.model = model, .samples = at, .loss = at == 0 ? 1.0 : 0.5});
  }
  EXPECT_EQ(target_reached(row).samples.fitted, 300);
  row.labels.target_model = TargetModel::kWorstRank;
  EXPECT_EQ(target_reached(row).samples.fitted, 400);
  row.record.curve.push_back({.model = "server", .samples = 0, .loss = 1.0});
  row.record.curve.push_back({.model = "server", .samples = 100, .loss = 0.5});
  EXPECT_EQ(target_reached(row).samples.fitted, 400);
  row.labels.target_model = TargetModel::kAuto;
  EXPECT_EQ(target_reached(row).samples.fitted, 100);
  row.labels.target_model = TargetModel::kMean;
  EXPECT_EQ(target_reached(row).samples.fitted, 300);
}

}  // namespace
}  // namespace hopbench
