// Notes on settings that a suite has and nothing in it uses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "suites/language/suite.h"

namespace hopbench {
namespace {

std::string suite_with(const std::string& protocol, const std::string& rule) {
  return R"(schema = 1
name = "n"
[run]
world_size = 4
[model]
name = "quadratic"
[compute]
backend = "reference"
pace = "5ms"
[[protocol]]
name = "allreduce"
[[protocol]]
)" + protocol +
         "\n[[scenario]]\nname = \"slow\"\ncompute = [{ kind = \"constant\", factor = 2.0" + rule + " }]\n" +
         "[[measure]]\nwhat = \"convergence\"\ntransport = \"sim\"\nsamples = 800\n";
}

/// Returns true if a note of the suite holds `part`.
bool noted(const std::string& part, const std::string& text, std::vector<std::string> sets = {}) {
  SuiteOptions options;
  options.sets = std::move(sets);
  for (const std::string& note : parse_suite(text, "n.toml", options).notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(IdleSettings, OfTheLoadWhereNoVariantReadsIt) {
  const std::string part = "load_noise and load_delay change nothing";
  const std::string plain = suite_with("name = \"dpsgd\"", ""), ema = suite_with("name = \"lb_bsp\"", ""),
                    narx = suite_with("name = \"lb_bsp\"\npredictor = \"narx\"", "");
  EXPECT_FALSE(noted(part, plain));
  EXPECT_TRUE(noted(part, plain, {"compute.load_noise=0.1"}));
  EXPECT_TRUE(noted(part, plain, {"compute.load_delay=2"}));
  EXPECT_TRUE(noted(part, ema, {"compute.load_delay=2"}));
  EXPECT_FALSE(noted(part, narx, {"compute.load_noise=0.1", "compute.load_delay=2"}));
}

TEST(IdleSettings, OfATargetWithoutALoss) {
  const std::string part = "target.model changes nothing", text = suite_with("name = \"dpsgd\"", "");
  EXPECT_FALSE(noted(part, text));
  EXPECT_TRUE(noted(part, text, {"target.model=mean"}));
  EXPECT_FALSE(noted(part, text, {"target.model=mean", "target.loss=0.5"}));
}

TEST(IdleSettings, AreNotedOfADrawnWorkerThatAVariantMayBeWithout) {
  const std::string part = "so dpsgd trains without it in some of them only",
                    without = "name = \"dpsgd\"\nwithout = [1]";
  EXPECT_TRUE(noted(part, suite_with(without, ", ranks = \"drawn\"")));
  EXPECT_FALSE(noted(part, suite_with(without, ", ranks = [1]")));
  EXPECT_FALSE(noted(part, suite_with("name = \"dpsgd\"", ", ranks = \"drawn\"")));
}

TEST(ProtocolNotes, KnowTheHosts) {
  for (const char* name : {"halos", "daso"}) {
    const std::string protocol = std::string("name = \"") + name + "\"";
    EXPECT_TRUE(noted("of its own", suite_with(protocol, ""))) << name;
    const std::string on_two = suite_with(protocol, "") + "[network]\nhosts = 2\n";
    EXPECT_FALSE(noted("of its own", on_two)) << name;
  }
}

TEST(ProtocolNotes, SayThatPushesOverlap) {
  const std::string part = "pushes overlap with the backward pass; overlap = false sends them after it";
  for (const char* name : {"ps_asp", "ps_backup", "dssp", "dbw"}) {
    const std::string protocol = std::string("name = \"") + name + "\"";
    EXPECT_TRUE(noted(part, suite_with(protocol, ""))) << name;
    for (const char* overlap : {"\noverlap = false", "\noverlap = true"})
      EXPECT_FALSE(noted(part, suite_with(protocol + overlap, ""))) << name << overlap;
  }
  const std::string two = suite_with("name = \"ps_asp\"\n[[protocol]]\nname = \"ps_bsp\"", "");
  EXPECT_TRUE(noted("ps_asp with 4 workers, ps_bsp with 4 workers: " + part, two));
  EXPECT_FALSE(noted(part, suite_with("name = \"ps_bsp\"", ""), {"model.name=linear_svm"}));
  EXPECT_FALSE(noted(part, suite_with("name = \"lb_bsp\"", "")));
  EXPECT_TRUE(noted(part, suite_with("name = \"lb_bsp\"\naggregation = \"servers\"", "")));
}

}  // namespace
}  // namespace hopbench
