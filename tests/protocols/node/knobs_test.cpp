#include "protocols/node/knobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/base/error.h"
#include "protocols/node/extra.h"
#include "protocols/node/protocol.h"

namespace hopbench {
namespace {

const std::vector<Knob> kKnobs = {
    {"count", 3, 1, 10, {}, "a whole number", "ours"},
    {"share", 0.5, 0, 1, {}, "a real number", "ours"},
    {"loud", false, 0, 0, {}, "a switch", "ours"},
    {"form", "parallel", 0, 0, {"parallel", "serial"}, "a choice", "ours"},
    {"any", 1, 0, 0, {}, "a number without a range", "ours"},
};

std::string refusal_of(const std::string& name, const KnobValue& value) {
  KnobValues values(kKnobs);
  try {
    values.set(kKnobs, name, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(values.all(), KnobValues(kKnobs).all()) << "a refused value must change nothing";
    return error.what();
  }
  return "";
}

TEST(Knobs, StartAtTheirDefaults) {
  const KnobValues values(kKnobs);
  EXPECT_EQ(values.integer("count"), 3);
  EXPECT_EQ(values.real("share"), 0.5);
  EXPECT_FALSE(values.flag("loud"));
  EXPECT_EQ(values.text("form"), "parallel");
  EXPECT_EQ(values.all().size(), kKnobs.size());
}

TEST(Knobs, TakeValuesWithinTheirRangeEndsIncluded) {
  KnobValues values(kKnobs);
  values.set(kKnobs, "count", 10);
  values.set(kKnobs, "share", 1.0);
  values.set(kKnobs, "loud", true);
  values.set(kKnobs, "form", "serial");
  values.set(kKnobs, "any", -1000000);
  EXPECT_EQ(values.integer("count"), 10);
  EXPECT_EQ(values.real("share"), 1.0);
  EXPECT_TRUE(values.flag("loud"));
  EXPECT_EQ(values.text("form"), "serial");
  EXPECT_EQ(values.integer("any"), -1000000);
}

TEST(Knobs, TakeAWholeNumberForARealOne) {
  KnobValues values(kKnobs);
  values.set(kKnobs, "share", std::int64_t{1});
  EXPECT_EQ(values.real("share"), 1.0);
  EXPECT_NE(refusal_of("count", 2.0), "") << "but not the other way round";
}

TEST(Knobs, RefuseWhatIsOutOfRangeAndSayTheRange) {
  EXPECT_NE(refusal_of("count", 0).find("from 1 to 10"), std::string::npos);
  EXPECT_NE(refusal_of("count", 11), "");
  EXPECT_NE(refusal_of("share", -0.1), "");
  EXPECT_NE(refusal_of("share", std::numeric_limits<double>::quiet_NaN()), "");
}

TEST(Knobs, RefuseTheWrongType) {
  EXPECT_NE(refusal_of("count", "three").find("a whole number such as 3"), std::string::npos)
      << refusal_of("count", "3");
  EXPECT_NE(refusal_of("loud", 1), "");
  EXPECT_NE(refusal_of("form", true), "");
}

TEST(Knobs, NameTheNearestKnobAndChoice) {
  EXPECT_NE(refusal_of("cuont", 3).find("Did you mean 'count'?"), std::string::npos) << refusal_of("cuont", 3);
  EXPECT_NE(refusal_of("form", "seriel").find("Did you mean 'serial'?"), std::string::npos);
  KnobValues none;
  try {
    none.set({}, "backup", 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("has none"), std::string::npos);
  }
}

TEST(Knobs, ArePrintedAsASuiteWritesThem) {
  EXPECT_EQ(to_string(KnobValue(true)), "true");
  EXPECT_EQ(to_string(KnobValue(std::int64_t{-7})), "-7");
  EXPECT_EQ(to_string(KnobValue(0.1)), "0.1");
  EXPECT_EQ(to_string(KnobValue("serial")), "serial");
}

TEST(KnobsDeathTest, AskingForOneThatIsNotThereIsABug) {
  const KnobValues values(kKnobs);
  EXPECT_DEATH(values.integer("backup"), "no knob 'backup'");
}

// --- The tables of the registered protocols

TEST(Registry, KnobsHaveDistinctNamesMeaningsAndDefaultsInRange) {
  for (const Protocol* protocol : protocols()) {
    std::set<std::string> names;
    for (const Knob& knob : protocol->knobs) {
      EXPECT_TRUE(names.insert(knob.name).second) << protocol->name << ": two knobs '" << knob.name << "'";
      EXPECT_STRNE(knob.meaning, "") << protocol->name << "." << knob.name;
      EXPECT_STRNE(knob.source, "") << protocol->name << "." << knob.name;
      KnobValues values(protocol->knobs);
      EXPECT_NO_THROW(values.set(protocol->knobs, knob.name, knob.fallback)) << protocol->name << "." << knob.name;
    }
  }
}

TEST(Registry, ProtocolsAreFoundByName) {
  for (const char* name : {"allreduce", "dpsgd", "hop", "ps_bsp", "ps_asp", "ps_ssp", "dssp", "ps_backup", "r2sp",
                           "elastic_bsp", "selsync", "sync_switch", "dbw"}) {
    EXPECT_EQ(find_protocol(name).name, name);
  }
  try {
    find_protocol("dspgd");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("Did you mean 'dpsgd'?"), std::string::npos) << error.what();
  }
}

TEST(Registry, ControlFollowsTheKnobs) {
  const Protocol& hop = find_protocol("hop");
  KnobValues knobs(hop.knobs);
  EXPECT_EQ(hop.control(knobs), Control::kLockstep);
  knobs.set(hop.knobs, "max_jump", 4);
  EXPECT_EQ(hop.control(knobs), Control::kSchedule);
}

TEST(Registry, FreeRunIsTheBoundOfTheLead) {
  const Protocol& hop = find_protocol("hop");
  KnobValues knobs(hop.knobs);
  knobs.set(hop.knobs, "max_ig", 4);
  EXPECT_EQ(hop.free_run(knobs), 4);
  knobs.set(hop.knobs, "staleness", 9);
  EXPECT_EQ(hop.free_run(knobs), 9);
  const Protocol& ssp = find_protocol("ps_ssp");
  EXPECT_EQ(ssp.free_run(KnobValues(ssp.knobs)), 3);
  const Protocol& dssp = find_protocol("dssp");
  EXPECT_EQ(dssp.free_run(KnobValues(dssp.knobs)), 15);
}

TEST(Registry, SaysWhatItsOwnProtocolsRestOn) {
  const std::vector<const Protocol*> extra = extra_protocols();
  for (const Protocol* protocol : protocols()) {
    if (std::find(extra.begin(), extra.end(), protocol) != extra.end()) continue;
    EXPECT_NE(protocol->source, Source::kOwn) << protocol->name << " is of a paper";
  }
}

}  // namespace
}  // namespace hopbench
