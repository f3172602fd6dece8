// The checkers are worth something: each catches the bug planted for it (tests/mutants/), and the protocol as it is
// passes in the very same cluster.
#include <gtest/gtest.h>

#include "tests/cluster.h"

namespace hopbench {

#define HB_MUTANT(name, protocol)        \
  namespace mutants::name {              \
  const Protocol& protocol##_protocol(); \
  }

HB_MUTANT(grant_before_spend, hop)
HB_MUTANT(enter_before_spend, hop)
HB_MUTANT(token_lost_in_jump, hop)
HB_MUTANT(jump_too_far, hop)
HB_MUTANT(quorum_off_by_one, hop)
HB_MUTANT(neighbour_left_out, dpsgd)
HB_MUTANT(old_tag_accepted, hop)
HB_MUTANT(late_updates_kept, hop)
HB_MUTANT(too_stale, hop)
HB_MUTANT(flat_weights, hop)
HB_MUTANT(wrong_divisor, dpsgd)
HB_MUTANT(update_not_sent, dpsgd)
HB_MUTANT(acknowledgement_not_awaited, hop)
HB_MUTANT(acknowledged_too_early, hop)
HB_MUTANT(bucket_not_awaited, allreduce)
HB_MUTANT(bsp_off_by_one, ps_bsp)
HB_MUTANT(ssp_off_by_one, ps_ssp)
HB_MUTANT(push_forgotten, ps_asp)
HB_MUTANT(controller_one_push_early, dssp)
HB_MUTANT(cap_off_by_one, dssp)
HB_MUTANT(released_too_late, dssp)
HB_MUTANT(backup_off_by_one, ps_backup)
HB_MUTANT(late_gradient_taken, ps_backup)
HB_MUTANT(turn_ignored, r2sp)
HB_MUTANT(barrier_not_awaited, elastic_bsp)
HB_MUTANT(iteration_not_entered, dpsgd)

namespace {

struct Case {
  const char* name;
  const Protocol& (*mutant)();
  Knobs knobs;
  std::vector<std::string> caught_by;
};

// For what a test prints: not the bytes.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Knobs kBackup = {{"backup", 1}, {"max_ig", 3}};
const Knobs kJumps = {{"backup", 1}, {"max_ig", 4}, {"max_jump", 4}};
const Knobs kStale = {{"staleness", 2}, {"max_ig", 6}};
const Knobs kGrants = {{"s_l", 1}, {"r_max", 12}};
const Knobs kCapped = {{"mode", "capped"}, {"s_l", 1}, {"r_max", 2}};
const Knobs kNotifyAck = {{"gap_control", "notify_ack"}};

std::vector<Case> cases() {
  using namespace mutants;  // NOLINT: a table
  return {
      {"grant_before_spend", grant_before_spend::hop_protocol, kBackup, {"gap_bound", "token_count"}},
      {"enter_before_spend", enter_before_spend::hop_protocol, kBackup, {"gap_bound", "token_count"}},
      {"token_lost_in_jump", token_lost_in_jump::hop_protocol, kJumps, {"token_count"}},
      {"jump_too_far", jump_too_far::hop_protocol, kJumps, {"jump_bound"}},
      {"quorum_off_by_one", quorum_off_by_one::hop_protocol, kBackup, {"quorum"}},
      {"neighbour_left_out", neighbour_left_out::dpsgd_protocol, {}, {"quorum", "gap_bound", "mean_kept"}},
      {"old_tag_accepted", old_tag_accepted::hop_protocol, kBackup, {"quorum"}},
      {"late_updates_kept", late_updates_kept::hop_protocol, kBackup, {"queue_capacity"}},
      {"too_stale", too_stale::hop_protocol, kStale, {"staleness", "gap_bound"}},
      {"flat_weights", flat_weights::hop_protocol, kStale, {"reduce_weights"}},
      {"wrong_divisor", wrong_divisor::dpsgd_protocol, {}, {"reduce_weights", "mean_kept"}},
      {"update_not_sent", update_not_sent::dpsgd_protocol, {}, {"updates_sent"}},
      {"acknowledgement_not_awaited", acknowledgement_not_awaited::hop_protocol, kNotifyAck, {"one_unacknowledged"}},
      {"acknowledged_too_early", acknowledged_too_early::hop_protocol, kNotifyAck, {"one_unacknowledged"}},
      {"bucket_not_awaited", bucket_not_awaited::allreduce_protocol, {}, {"lead_bound"}},
      {"bsp_off_by_one", bsp_off_by_one::ps_bsp_protocol, {}, {"bsp_round"}},
      {"ssp_off_by_one", ssp_off_by_one::ps_ssp_protocol, {{"staleness", 2}}, {"ssp_bound"}},
      {"push_forgotten", push_forgotten::ps_asp_protocol, {}, {"push_applied"}},
      {"controller_one_push_early", controller_one_push_early::dssp_protocol, kGrants, {"dssp_rule"}},
      {"cap_off_by_one", cap_off_by_one::dssp_protocol, kCapped, {"dssp_rule", "ssp_bound"}},
      {"released_too_late", released_too_late::dssp_protocol, kCapped, {"dssp_rule"}},
      {"backup_off_by_one", backup_off_by_one::ps_backup_protocol, {{"backup", 2}}, {"backup_round"}},
      {"late_gradient_taken", late_gradient_taken::ps_backup_protocol, {{"backup", 2}}, {"backup_round"}},
      {"turn_ignored", turn_ignored::r2sp_protocol, {}, {"round_robin"}},
      {"barrier_not_awaited", barrier_not_awaited::elastic_bsp_protocol, {}, {"elastic_barrier"}},
      {"iteration_not_entered", iteration_not_entered::dpsgd_protocol, {}, {"enter_order"}},
  };
}

class Mutants : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Planted, Mutants, testing::ValuesIn(cases()),
                         [](const auto& param) { return std::string(param.param.name); });

// One slow rank and some luck: every rule is put to the test.
Cluster uneven() {
  Cluster cluster{.nodes = 8, .slow = {{3, 6.0}}, .topology = "ring", .iterations = 30};
  cluster.compute.push_back({.what = ComputeRule::What::kBernoulli, .factor = 4.0, .probability = 0.2});
  cluster.costs.vector_bytes_per_s = 1e6;
  return cluster;
}

TEST_P(Mutants, AreCaught) {
  Cluster cluster = uneven();
  cluster.run(std::string(GetParam().mutant().name), GetParam().knobs);
  EXPECT_EQ(cluster.broken(), "") << "the protocol as it is";
  try {
    cluster.run(GetParam().mutant(), GetParam().knobs);
  } catch (const Error&) {
    // Some end in a deadlock as well; what the checkers saw until then counts.
  }
  for (const std::string& checker : GetParam().caught_by) {
    EXPECT_TRUE(cluster.caught_by(checker)) << checker << " saw nothing; all that was seen:\n" << cluster.broken();
  }
}

}  // namespace
}  // namespace hopbench
