// Networks by name.
#include "suites/language/network_presets.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "suites/language/suite.h"

namespace hopbench {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TrialSpec trial_with(const std::string& network, const std::string& measures = "", std::size_t which = 0) {
  const std::string text =
      "schema = 1\n[run]\nworld_size = 8\nrepeats = 1\n[model]\nname = \"quadratic\"\n[compute]\npace = \"10ms\"\n"
      "[transport]\nname = \"sim\"\n[network]\n" +
      network + "[[protocol]]\nname = \"allreduce\"\n" + measures;
  return parse_suite(text, "preset.toml", {}).trials.at(which);
}

TEST(NetworkPresets, StandForTheirKeys) {
  for (const NetworkPreset& preset : network_presets()) {
    std::string keys;
    for (const PresetValue& is : preset.values)
      keys += std::string(is.path).substr(std::string("network.").size()) + " = " + is.text + "\n";
    const std::string name = std::string("preset = \"") + preset.name + "\"\n";
    EXPECT_EQ(trial_with(name).hash(), trial_with(keys).hash()) << preset.name;
    EXPECT_EQ(trial_with(name).hash() == trial_with("").hash(), preset.values.empty()) << preset.name;
  }
}

TEST(NetworkPresets, HaveTheNumbersOfTheirNames) {
  const NetworkSpec racks = trial_with("preset = \"25G two racks\"\n").network;
  EXPECT_DOUBLE_EQ(racks.bandwidth, 25e9 / 8);
  EXPECT_EQ(racks.rack_of, (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_NEAR(racks.uplink, 4 * racks.bandwidth / 3, 0.01 * racks.uplink);
  const NetworkSpec wide = trial_with("preset = \"WAN 100 Mbit/s\"\n").network;
  EXPECT_DOUBLE_EQ(wide.bandwidth, 100e6 / 8);
  EXPECT_EQ(wide.latency, milliseconds(40));
  EXPECT_NEAR(wide.goodput, 1448.0 / 1538, 0.001);
}

TEST(NetworkPresets, GiveWayToWhatASuiteSaysWhereverItSaysIt) {
  const std::string own = "latency = \"7us\"\npreset = \"10G\"\n";
  EXPECT_EQ(trial_with(own).network.latency, microseconds(7));
  EXPECT_DOUBLE_EQ(trial_with(own).network.bandwidth, 10e9 / 8);
  const std::string measures =
      "[[measure]]\nnetwork.preset = \"WAN 100 Mbit/s\"\n[[measure]]\nname = \"none\"\nnetwork.preset = \"none\"\n";
  EXPECT_EQ(trial_with(own, measures).network.latency, microseconds(7));
  EXPECT_DOUBLE_EQ(trial_with(own, measures).network.bandwidth, 100e6 / 8);
  EXPECT_EQ(trial_with(own, measures, 1).network.latency, microseconds(7));
  EXPECT_DOUBLE_EQ(trial_with(own, measures, 1).network.bandwidth, 125e6);
}

// A resumed run reads the resolved suite.
TEST(NetworkPresets, AreSweptByAResolvedSuiteAsByTheSuiteItself) {
  const std::string text =
      "schema = 1\n[run]\nworld_size = 8\nrepeats = 1\n[model]\nname = \"quadratic\"\n[compute]\npace = \"10ms\"\n"
      "[transport]\nname = \"sim\"\n[network]\nlatency = \"7us\"\n[[protocol]]\nname = \"allreduce\"\n"
      "[matrix]\n\"network.preset\" = [\"1G\", \"25G two racks\", \"none\"]\n";
  const Suite once = parse_suite(text, "once.toml", {}), again = parse_suite(once.resolved, "again.toml", {});
  ASSERT_EQ(once.trials.size(), 3u);
  ASSERT_EQ(again.trials.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(once.trials[i].hash(), again.trials[i].hash()) << once.resolved;
  EXPECT_EQ(again.trials[0].network.latency, microseconds(7));
  EXPECT_FALSE(again.trials[1].network.rack_of.empty());
  EXPECT_DOUBLE_EQ(again.trials[2].network.bandwidth, 125e6);
}

// A key of the preset that is taken back must not outlast it in the resolved suite.
TEST(NetworkPresets, AreTakenBackByAResolvedSuiteAsByTheSuiteItself) {
  const std::string head =
      "schema = 1\n[run]\nworld_size = 8\nrepeats = 1\n[model]\nname = \"quadratic\"\n[compute]\npace = \"10ms\"\n"
      "[transport]\nname = \"sim\"\n[[protocol]]\nname = \"allreduce\"\n";
  const std::string racks = "preset = \"25G two racks\"\n";
  for (const std::string& rest :
       {"[network]\n" + racks +
            "[[measure]]\nnetwork.preset = \"none\"\n[[measure]]\nname = \"b\"\nnetwork.preset = \"1G\"\n",
        "[network]\n" + racks + "[matrix]\n\"network.preset\" = [\"1G\", \"none\"]\n",
        "[[measure]]\nnetwork." + racks + "[[measure]]\nname = \"b\"\n",
        "[[measure]]\nnetwork." + racks + "[matrix]\n\"network.preset\" = [\"1G\", \"none\"]\n",
        "[network]\nbandwidth = \"1Gbit/s\"\n" + racks + "[[measure]]\nnetwork.preset = \"10G\"\n"}) {
    const Suite once = parse_suite(head + rest, "once.toml", {}), again = parse_suite(once.resolved, "again.toml", {});
    ASSERT_EQ(once.trials.size(), again.trials.size()) << rest;
    for (std::size_t i = 0; i < once.trials.size(); ++i)
      EXPECT_EQ(once.trials[i].hash(), again.trials[i].hash()) << rest << once.resolved;
    EXPECT_EQ(once.resolved, again.resolved);
  }
}

TEST(NetworkPresets, AreWhereTheirMistakesAre) {
  try {
    trial_with("hosts = 1\npreset = \"25G two racks\"\n");
    FAIL();
  } catch (const SuiteError& error) {
    ASSERT_EQ(error.mistakes().size(), 1u);
    EXPECT_EQ(error.mistakes()[0].line, 13);
  }
}

}  // namespace
}  // namespace hopbench
