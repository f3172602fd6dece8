// The bounds that a report draws are those of docs/protocols.md, which the checkers hold protocols to.
#include "cli/commands/report_bounds.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/node/protocol.h"
#include "suites/trial/completion.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

using Knobs = std::vector<std::pair<std::string, KnobValue>>;

TrialSpec spec_of(const std::string& protocol, const Knobs& knobs, const std::string& topology = "ring") {
  TrialSpec spec;
  spec.protocol = protocol;
  spec.topology = topology;
  spec.workload.workers = 8;
  const Protocol& found = find_protocol(protocol);
  spec.knobs = KnobValues(found.knobs);
  for (const auto& [name, value] : knobs) spec.knobs.set(found.knobs, name, value);
  return spec;
}

/// Returns the bound that the report reads from a trial's record.
ReportBound bound(const std::string& protocol, const Knobs& knobs = {}, const std::string& topology = "ring") {
  const TrialSpec spec = spec_of(protocol, knobs, topology);
  TrialRecord record;
  complete_record(record, spec, make_plan(spec));
  return bound_of(spec, record);
}

KnobValue number(std::int64_t n) { return n; }
KnobValue word(const char* text) { return std::string(text); }

// On a ring of eight the farthest worker is four edges away.
TEST(ReportBounds, HopsAreThoseOfItsTable) {
  EXPECT_EQ(bound("dpsgd").gap, 4);
  EXPECT_EQ(bound("dpsgd", {}, "complete").gap, 1);
  EXPECT_EQ(bound("hop", {{"gap_control", word("queues")}}).gap, 4);
  EXPECT_EQ(bound("hop", {{"gap_control", word("notify_ack")}}).gap, 4);
  EXPECT_EQ(bound("hop", {{"max_ig", number(5)}}).gap, 4);
  EXPECT_EQ(bound("hop", {{"backup", number(1)}, {"max_ig", number(5)}}).gap, 20);
  EXPECT_EQ(bound("hop", {{"backup", number(1)}, {"gap_control", word("queues")}}).gap, std::nullopt);
  EXPECT_EQ(bound("hop", {{"staleness", number(2)}, {"gap_control", word("queues")}}).gap, 12);
  EXPECT_EQ(bound("hop", {{"staleness", number(9)}, {"max_ig", number(5)}}).gap, 20);
}

TEST(ReportBounds, WhatIsAveragedIsAsOldAsStalenessSays) {
  EXPECT_EQ(bound("dpsgd").staleness, 0);
  EXPECT_EQ(bound("hop", {{"staleness", number(2)}}).staleness, 2);
  EXPECT_EQ(bound("hop", {{"backup", number(1)}, {"max_jump", number(4)}}).staleness, std::nullopt);
}

TEST(ReportBounds, OfTheOthers) {
  EXPECT_EQ(bound("allreduce").gap, 1);
  EXPECT_EQ(bound("ps_bsp").gap, 1);
  EXPECT_EQ(bound("ps_ssp", {{"staleness", number(3)}}).gap, 4);
  EXPECT_EQ(bound("dssp", {{"mode", word("capped")}, {"s_l", number(2)}, {"r_max", number(3)}}).gap, 6);
  EXPECT_EQ(bound("dssp").gap, std::nullopt) << "as printed nothing bounds it";
  EXPECT_EQ(bound("ps_asp").gap, std::nullopt);
  EXPECT_EQ(bound("adpsgd").gap, std::nullopt);
  EXPECT_EQ(bound("choco").gap, 8);
}

TEST(ReportBounds, AreReadFromTheRecordAndNotComputedAgain) {
  const TrialSpec spec = spec_of("hop", {{"backup", number(1)}}, "ring_based");
  TrialRecord record;
  record.gap_bound = 1234;
  EXPECT_EQ(bound_of(spec, record).gap, 1234);
  record.gap_bound = -1;
  EXPECT_EQ(bound_of(spec, record).gap, std::nullopt) << "workers were lost, so the bound changed on the way";
}

}  // namespace
}  // namespace hopbench
