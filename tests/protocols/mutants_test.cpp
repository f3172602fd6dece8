// The checkers are worth something: each catches the bug planted for it (tests/mutants/), and the protocol as it is
// passes in the very same cluster.
#include <gtest/gtest.h>

#include "tests/cluster.h"
#include "tests/protocols/hop/hop_events.h"
#include "tests/protocols/mutant_clusters.h"
#include "tests/replay/replay.h"

namespace hopbench {

#define HB_MUTANT(name, file, protocol)  \
  namespace mutants::name::file {        \
  const Protocol& protocol##_protocol(); \
  }                                      \
  namespace mutants::name {              \
  using file::protocol##_protocol;       \
  }

HB_MUTANT(grant_before_spend, hop::hop, hop)
HB_MUTANT(enter_before_spend, hop::hop, hop)
HB_MUTANT(token_lost_in_jump, hop::hop, hop)
HB_MUTANT(jump_too_far, hop::hop, hop)
HB_MUTANT(quorum_off_by_one, hop::hop, hop)
HB_MUTANT(neighbour_left_out, gossip::dpsgd, dpsgd)
HB_MUTANT(old_tag_accepted, hop::hop, hop)
HB_MUTANT(late_updates_kept, hop::hop, hop)
HB_MUTANT(too_stale, hop::hop, hop)
HB_MUTANT(averaged_again, hop::hop, hop)
HB_MUTANT(flat_weights, hop::hop, hop)
HB_MUTANT(weighed_alike, gossip::dpsgd, dpsgd)
HB_MUTANT(wrong_divisor, gossip::dpsgd, dpsgd)
HB_MUTANT(update_not_sent, gossip::dpsgd, dpsgd)
HB_MUTANT(acknowledgement_not_awaited, hop::hop, hop)
HB_MUTANT(acknowledged_too_early, hop::hop, hop)
HB_MUTANT(own_model_after_jump, hop::hop, hop)
HB_MUTANT(jump_averages_too_early, hop::hop, hop)
HB_MUTANT(jump_not_announced, hop::hop, hop)
HB_MUTANT(jump_too_soon, hop::hop, hop)
HB_MUTANT(stepped_before_jump, hop::hop, hop)
HB_MUTANT(one_gradient_lost_only, hop::hop, hop)
HB_MUTANT(lost_without_a_word, hop::hop, hop)
HB_MUTANT(heard_and_lost, hop::hop, hop)
HB_MUTANT(momentum_lost_in_jump, hop::hop, hop)
HB_MUTANT(token_more_at_the_start, hop::hop, hop)
HB_MUTANT(tokens_of_the_finished_awaited, hop::hop, hop)
HB_MUTANT(receiver_taken_for_past, hop::hop, hop)
HB_MUTANT(sum_in_another_order, hop::hop, hop)
HB_MUTANT(bucket_not_awaited, allreduce::allreduce, allreduce)
HB_MUTANT(bsp_off_by_one, server::parameter_server, ps_bsp)
HB_MUTANT(ssp_off_by_one, server::parameter_server, ps_ssp)
HB_MUTANT(own_push_not_awaited, server::parameter_server, ps_ssp)
HB_MUTANT(follower_lets_go, server::parameter_server, ps_ssp)
HB_MUTANT(follower_lets_go_dssp, server::dssp, dssp)
HB_MUTANT(follower_lets_go_flexrr, server::flexrr, flexrr)
HB_MUTANT(push_forgotten, server::parameter_server, ps_asp)
HB_MUTANT(controller_one_push_early, server::dssp, dssp)
HB_MUTANT(cap_off_by_one, server::dssp, dssp)
HB_MUTANT(released_too_late, server::dssp, dssp)
HB_MUTANT(backup_off_by_one, server::backup_workers, ps_backup)
HB_MUTANT(late_gradient_taken, server::backup_workers, ps_backup)
HB_MUTANT(turn_ignored, server::r2sp, r2sp)
HB_MUTANT(barrier_not_awaited, server::elastic_bsp, elastic_bsp)
HB_MUTANT(own_flag_only, allreduce::selsync, selsync)
HB_MUTANT(flag_kept_back, allreduce::selsync, selsync)
HB_MUTANT(switch_apart, server::sync_switch, sync_switch)
HB_MUTANT(round_cut_short, server::sync_switch, sync_switch)
HB_MUTANT(update_off_by_one, server::dbw, dbw)
HB_MUTANT(late_gradient_used, server::dbw, dbw)
HB_MUTANT(late_gradient_answered_and_used, server::dbw, dbw)
HB_MUTANT(iteration_not_entered, gossip::dpsgd, dpsgd)
HB_MUTANT(answered_not_averaged, gossip::adpsgd, adpsgd)
HB_MUTANT(answered_with_the_average, gossip::adpsgd, adpsgd)
HB_MUTANT(stepped_in_an_exchange, gossip::adpsgd, adpsgd)
HB_MUTANT(share_too_large, gossip::sgp, sgp)
HB_MUTANT(weight_not_kept, gossip::sgp, sgp)
HB_MUTANT(left_on_the_way, gossip::sgp, sgp)
HB_MUTANT(push_not_awaited, gossip::sgp, sgp)
HB_MUTANT(consensus_unbalanced, gossip::choco, choco)
HB_MUTANT(difference_not_sent, gossip::choco, choco)
HB_MUTANT(difference_not_awaited, gossip::choco, choco)
HB_MUTANT(groups_not_shuffled, groups::ds_sync, ds_sync)
HB_MUTANT(round_forgotten, groups::ds_sync, ds_sync)
HB_MUTANT(group_incomplete, groups::ds_sync, ds_sync)
HB_MUTANT(period_too_long, allreduce::local_sgd, local_sgd)
HB_MUTANT(correction_forgotten, allreduce::lasgd, lasgd)
HB_MUTANT(ring_divided_by_more, allreduce::local_sgd, local_sgd)
HB_MUTANT(member_left_out, allreduce::allreduce, allreduce)
HB_MUTANT(samples_lost_in_move, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(window_ignored, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(moved_the_wrong_way, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(step_never_halves, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(window_never_grows, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(search_never_reopens, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(search_reopens_by_its_own_step, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(samples_not_weighed, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(no_warmup, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(not_rescaled, allreduce::dynamic_batching, dynamic_batching)
HB_MUTANT(lock_opened_early, groups::prague, prague)
HB_MUTANT(own_counts_twice, groups::prague, prague)
HB_MUTANT(slow_in_second_group, groups::prague, prague)
HB_MUTANT(first_is_head, groups::prague, prague)
HB_MUTANT(age_forgotten, groups::partial_reduce, partial_reduce)
HB_MUTANT(group_too_small, groups::partial_reduce, partial_reduce)
HB_MUTANT(window_too_long, groups::partial_reduce, partial_reduce)
HB_MUTANT(weight_of_age_lost, groups::partial_reduce, partial_reduce)
HB_MUTANT(slice_computed_twice, server::flexrr, flexrr)
HB_MUTANT(slice_not_awaited, server::flexrr, flexrr)
HB_MUTANT(slice_too_large, server::flexrr, flexrr)
HB_MUTANT(slice_weighed_wrongly, server::flexrr, flexrr)
HB_MUTANT(partner_kept, gossip::gossipgrad, gossipgrad)
HB_MUTANT(partner_weighs_less, gossip::gossipgrad, gossipgrad)
HB_MUTANT(sent_twice, gossip::gossipgrad, gossipgrad)
HB_MUTANT(dead_slowest_awaited, server::parameter_server, ps_ssp)
HB_MUTANT(dead_left_in_groups, groups::prague, prague)
HB_MUTANT(dead_still_ready, groups::partial_reduce, partial_reduce)
HB_MUTANT(dead_answered, gossip::adpsgd, adpsgd)
HB_MUTANT(clock_not_taken_up, server::parameter_server, ps_ssp)
HB_MUTANT(weights_of_one_server, server::parameter_server, ps_asp)
HB_MUTANT(model_not_taken_over, gossip::adpsgd, adpsgd)

HB_MUTANT(delta_ignored, allreduce::selsync, selsync)
HB_MUTANT(plan_of_one, server::elastic_bsp, elastic_bsp)
HB_MUTANT(always_all, server::dbw, dbw)
HB_MUTANT(mean_taken, allreduce::lasgd, lasgd)
HB_MUTANT(ring_not_weighed, allreduce::lb_bsp, lb_bsp)
HB_MUTANT(batch_too_small, late::rennala, rennala)
HB_MUTANT(late_one_in_the_batch, late::rennala, rennala)
HB_MUTANT(delay_at_the_limit_used, late::ringmaster, ringmaster)
HB_MUTANT(ignored_one_counts, late::ringmaster, ringmaster)
HB_MUTANT(delay_ignored, late::delay_adaptive, delay_adaptive)
HB_MUTANT(compensated_for_another, late::dc_asgd, dc_asgd)
HB_MUTANT(first_weights_kept, late::dc_asgd, dc_asgd)
HB_MUTANT(token_too_old, late::gba, gba)
HB_MUTANT(tokens_dealt_slowly, late::gba, gba)
HB_MUTANT(late_one_not_counted, late::gba, gba)
HB_MUTANT(empty_step_left_out, late::gba, gba)
HB_MUTANT(one_gradient_more, late::k_async, k_async)
HB_MUTANT(answered_before_its_update, late::k_async, k_async)
HB_MUTANT(follower_takes_any, late::rennala, rennala)
HB_MUTANT(abort_ignored, late::specsync, specsync)
HB_MUTANT(begun_again_with_old_weights, late::specsync, specsync)
HB_MUTANT(told_too_soon, late::specsync, specsync)
HB_MUTANT(window_without_an_end, late::specsync, specsync)
HB_MUTANT(own_outer_gradient, outer::diloco, diloco)
HB_MUTANT(outer_step_twice, outer::diloco, diloco)
HB_MUTANT(own_model_kept, outer::diloco, diloco)
HB_MUTANT(fragment_one_step_late, outer::streaming_diloco, streaming_diloco)
HB_MUTANT(mixed_the_other_way, outer::streaming_diloco, streaming_diloco)
HB_MUTANT(one_fragment_again, outer::streaming_diloco, streaming_diloco)
HB_MUTANT(rate_not_divided, outer::slowmo, slowmo)
HB_MUTANT(anchor_not_moved, outer::overlap_local_sgd, overlap_local_sgd)
HB_MUTANT(anchor_without_momentum, outer::overlap_local_sgd, overlap_local_sgd)
HB_MUTANT(centre_not_pulled, outer::easgd, easgd)
HB_MUTANT(pulled_to_the_new_centre, outer::easgd, easgd)
HB_MUTANT(momentum_not_delayed, outer::async_diloco, async_diloco)
HB_MUTANT(sum_not_cleared, outer::async_diloco, async_diloco)
HB_MUTANT(partner_is_the_next, outer::noloco, noloco)
HB_MUTANT(drawn_apart, outer::noloco, noloco)
HB_MUTANT(gap_left_out, outer::co2, co2)
HB_MUTANT(target_not_reached, outer::hivemind, hivemind)
HB_MUTANT(workers_weigh_alike, outer::hivemind, hivemind)
HB_MUTANT(sum_goes_on, outer::hivemind, hivemind)
HB_MUTANT(begun_a_round_before, outer::co2, co2)
HB_MUTANT(corrected_twice, skewed::exact_diffusion, exact_diffusion)
HB_MUTANT(lazy_everywhere, skewed::d2, d2)
HB_MUTANT(gradient_tracked_twice, skewed::gradient_tracking, gradient_tracking)
HB_MUTANT(tracker_not_averaged, skewed::gradient_tracking, gradient_tracking)
HB_MUTANT(momentum_of_the_own_step, skewed::qg_dsgdm, qg_dsgdm)
HB_MUTANT(global_average_late, skewed::gossip_pga, gossip_pga)
HB_MUTANT(twice_as_far_apart, skewed::consensus_control, consensus_control)
HB_MUTANT(limit_not_smoothed, skewed::consensus_control, consensus_control)
HB_MUTANT(given_used_again, skewed::r_fast, r_fast)
HB_MUTANT(tracker_kept_whole, skewed::r_fast, r_fast)
HB_MUTANT(always_the_next, gossip::one_peer, one_peer)
HB_MUTANT(alpha_of_its_own, gossip::matcha, matcha)
HB_MUTANT(own_weighs_one, gossip::matcha, matcha)
HB_MUTANT(over_the_budget, gossip::matcha, matcha)
HB_MUTANT(old_link_is_enough, gossip::dsgd_aau, dsgd_aau)
HB_MUTANT(active_weigh_alike, gossip::dsgd_aau, dsgd_aau)
HB_MUTANT(one_dimension_only, groups::moshpit, moshpit)
HB_MUTANT(parts_weigh_alike, cut::dropcompute, dropcompute)
HB_MUTANT(step_of_whole_batches, cut::dropcompute, dropcompute)
HB_MUTANT(own_time_limit, cut::dropcompute, dropcompute)
HB_MUTANT(samples_not_counted, cut::abs_sgd, abs_sgd)
HB_MUTANT(lengths_ignored, cut::a_edit, a_edit)
HB_MUTANT(weights_told_wrong, cut::a_edit, a_edit)
HB_MUTANT(never_clipped, cut::a_edit, a_edit)
HB_MUTANT(late_step_made, gossip::dybw, dybw)
HB_MUTANT(loss_not_told, gossip::dybw, dybw)
HB_MUTANT(cut_not_told, gossip::dybw, dybw)
HB_MUTANT(own_model_kept_whole, gossip::netmax, netmax)
HB_MUTANT(pull_weighs_twice, gossip::netmax, netmax)
HB_MUTANT(learners_weigh_alike, outer::decoupled_diloco, decoupled_diloco)
HB_MUTANT(replaced_forgotten, outer::decoupled_diloco, decoupled_diloco)
HB_MUTANT(no_quorum, outer::decoupled_diloco, decoupled_diloco)
HB_MUTANT(length_of_the_mean, outer::decoupled_diloco, decoupled_diloco)
HB_MUTANT(told_again, outer::halos, halos)
HB_MUTANT(swallowed_by_the_mix, outer::halos, halos)
HB_MUTANT(regions_add_up, outer::halos, halos)
HB_MUTANT(own_weighs_half, allreduce::daso, daso)
HB_MUTANT(host_gradients_apart, allreduce::daso, daso)
HB_MUTANT(left_out_for_good, compressed::powersgd, powersgd)
HB_MUTANT(not_orthonormal, compressed::powersgd, powersgd)
HB_MUTANT(own_right_factors, compressed::powersgd, powersgd)
HB_MUTANT(feedback_forgotten, compressed::error_feedback, error_feedback)
HB_MUTANT(fed_back_twice, compressed::error_feedback, error_feedback)

namespace {

struct Case {
  const char* name;
  const Protocol& (*mutant)();
  Knobs knobs;
  std::vector<std::string> caught_by;  // checkers; "deadlock"; "replay", "choices" (tests/replay/replay.h)
  Cluster (*cluster)() = uneven;
};

// For what a test prints: not the bytes.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Knobs kBackup = {{"backup", 1}, {"max_ig", 3}};
const Knobs kJumps = {{"backup", 1}, {"max_ig", 4}, {"max_jump", 4}};
const Knobs kSerialJumps = {{"form", "serial"}, {"backup", 1}, {"max_ig", 4}, {"max_jump", 4}};
const Knobs kStaleJumps = {{"staleness", 3}, {"max_ig", 4}, {"max_jump", 3}};
const Knobs kPatient = {{"backup", 1}, {"max_ig", 4}, {"max_jump", 4}, {"skip_trigger", 3}};
const Knobs kChecking = {{"backup", 1}, {"max_ig", 3}, {"check_receiver", true}};
const Knobs kStale = {{"staleness", 2}, {"max_ig", 6}};
const Knobs kOnce = {{"staleness", 2}, {"max_ig", 6}, {"reuse", false}};
const Knobs kGrants = {{"s_l", 1}, {"r_max", 12}};
const Knobs kCapped = {{"mode", "capped"}, {"s_l", 1}, {"r_max", 2}};
const Knobs kFlags = {{"window", 3}, {"delta", 0.15}};
const Knobs kShortMemory = {{"window", 3}};
const Knobs kHalf = {{"fraction", 0.5}};
const Knobs kSearch = {{"form", "gpu"}, {"window", 4}};
const Knobs kLongSteps = {{"form", "gpu"}, {"window", 2}, {"step", 0.3}};
const Knobs kServers = {{"aggregation", "servers"}};
const Knobs kUnbridged = {{"group_size", 3}, {"avoid_frozen", false}};
const Knobs kNotifyAck = {{"gap_control", "notify_ack"}};
const Knobs kGroupServers = {{"inner", "ps"}};
const Knobs kHierarchical = {{"algorithm", "hierarchical"}};

const Knobs kStrict = {{"tolerance", 1}};
const Knobs kSmallGlobalBatch = {{"batches", 1}, {"tolerance", 1}};
const Knobs kCompensating = {{"lambda", 1.0}};
const Knobs kAborting = {{"window", 0.5}, {"rate", 0.3}};
const Knobs kOneServer = {{"servers", 1}};
const Knobs kLongPeriod = {{"period", 8}};
const Knobs kMixing = {{"alpha", 0.2}};
const Knobs kClose = {{"ratio", 0.2}, {"most", 6}};
const Knobs kFewMeasured = {{"measured", 4}};
const Knobs kRankOne = {{"rank", 1}}, kLargest = {{"share", 0.3}};
const Knobs kClipped = {{"clip", 0.2}};
const Knobs kSmallBudget = {{"budget", 0.3}};
const Knobs kTwoServers = {{"servers", 2}};

using namespace mutants;  // NOLINT: for this table

const std::vector<Case> kCases = {
    {"grant_before_spend", grant_before_spend::hop_protocol, kBackup, {"gap_bound", "token_count"}},
    {"enter_before_spend", enter_before_spend::hop_protocol, kBackup, {"gap_bound", "token_count"}},
    {"token_lost_in_jump", token_lost_in_jump::hop_protocol, kJumps, {"token_count"}},
    {"jump_too_far", jump_too_far::hop_protocol, kJumps, {"jump_bound"}},
    {"quorum_off_by_one", quorum_off_by_one::hop_protocol, kBackup, {"quorum"}},
    {"neighbour_left_out", neighbour_left_out::dpsgd_protocol, {}, {"quorum", "gap_bound", "mean_kept"}},
    {"old_tag_accepted", old_tag_accepted::hop_protocol, kBackup, {"quorum"}},
    {"late_updates_kept", late_updates_kept::hop_protocol, kBackup, {"queue_capacity"}},
    {"too_stale", too_stale::hop_protocol, kStale, {"staleness", "gap_bound"}},
    {"averaged_again", averaged_again::hop_protocol, kOnce, {"staleness"}},
    {"flat_weights", flat_weights::hop_protocol, kStale, {"reduce_weights"}},
    {"wrong_divisor", wrong_divisor::dpsgd_protocol, {}, {"reduce_weights", "mean_kept"}},
    {"weighed_alike", weighed_alike::dpsgd_protocol, {}, {"reduce_weights", "mean_kept"}, on_a_star},
    {"update_not_sent", update_not_sent::dpsgd_protocol, {}, {"updates_sent"}},
    {"acknowledgement_not_awaited", acknowledgement_not_awaited::hop_protocol, kNotifyAck, {"one_unacknowledged"}},
    {"acknowledged_too_early", acknowledged_too_early::hop_protocol, kNotifyAck, {"one_unacknowledged"}},
    {"own_model_after_jump", own_model_after_jump::hop_protocol, kJumps, {"quorum"}},
    {"jump_averages_too_early", jump_averages_too_early::hop_protocol, kJumps, {"deadlock"}},
    {"jump_not_announced", jump_not_announced::hop_protocol, kJumps, {"deadlock"}, hop_events::directed},
    {"jump_too_soon", jump_too_soon::hop_protocol, kPatient, {"jump_bound"}},
    {"stepped_before_jump", stepped_before_jump::hop_protocol, kJumps, {"stepped_once"}, with_momentum},
    {"one_gradient_lost_only", one_gradient_lost_only::hop_protocol, kSerialJumps, {"heard_or_lost"}},
    {"lost_without_a_word", lost_without_a_word::hop_protocol, kSerialJumps, {"heard_or_lost"}},
    {"heard_and_lost", heard_and_lost::hop_protocol, kStaleJumps, {"heard_or_lost"}},
    {"momentum_lost_in_jump", momentum_lost_in_jump::hop_protocol, kJumps, {"replay"}, with_momentum},
    {"token_more_at_the_start", token_more_at_the_start::hop_protocol, kBackup, {"gap_bound", "token_count"}},
    {"tokens_of_the_finished_awaited", tokens_of_the_finished_awaited::hop_protocol, kBackup, {"deadlock"}, on_credits},
    {"receiver_taken_for_past", receiver_taken_for_past::hop_protocol, kChecking, {"updates_sent"}},
    {"sum_in_another_order", sum_in_another_order::hop_protocol, {}, {"reduce_weights"}},
    {"bucket_not_awaited", bucket_not_awaited::allreduce_protocol, {}, {"lead_bound"}},
    {"bsp_off_by_one", bsp_off_by_one::ps_bsp_protocol, {}, {"bsp_round"}, last_is_slow},
    {"ssp_off_by_one", ssp_off_by_one::ps_ssp_protocol, {{"staleness", 2}}, {"ssp_bound"}},
    {"own_push_not_awaited", own_push_not_awaited::ps_ssp_protocol, {}, {"held_everywhere"}, with_jitter},
    {"follower_lets_go", follower_lets_go::ps_ssp_protocol, {}, {"held_everywhere"}, with_jitter},
    {"follower_lets_go_dssp", follower_lets_go_dssp::dssp_protocol, kGrants, {"held_everywhere"}, with_jitter},
    {"follower_lets_go_flexrr", follower_lets_go_flexrr::flexrr_protocol, {}, {"held_everywhere"}, with_jitter},
    {"clock_not_taken_up", clock_not_taken_up::ps_ssp_protocol, {}, {"absence"}, with_absences},
    {"weights_of_one_server", weights_of_one_server::ps_asp_protocol, {}, {"absence"}, with_absences},
    {"model_not_taken_over", model_not_taken_over::adpsgd_protocol, {}, {"absence"}, with_absences},
    {"push_forgotten", push_forgotten::ps_asp_protocol, {}, {"push_applied"}},
    {"controller_one_push_early", controller_one_push_early::dssp_protocol, kGrants, {"dssp_rule"}},
    {"cap_off_by_one", cap_off_by_one::dssp_protocol, kCapped, {"dssp_rule", "ssp_bound"}},
    {"released_too_late", released_too_late::dssp_protocol, kCapped, {"dssp_rule"}},
    {"backup_off_by_one", backup_off_by_one::ps_backup_protocol, {{"backup", 2}}, {"backup_round"}},
    {"late_gradient_taken", late_gradient_taken::ps_backup_protocol, {{"backup", 2}}, {"backup_round"}},
    {"turn_ignored", turn_ignored::r2sp_protocol, {}, {"round_robin"}},
    {"barrier_not_awaited", barrier_not_awaited::elastic_bsp_protocol, {}, {"elastic_barrier"}},
    {"own_flag_only", own_flag_only::selsync_protocol, kFlags, {"sync_on_flag"}},
    {"flag_kept_back", flag_kept_back::selsync_protocol, kFlags, {"sync_on_flag"}},
    {"switch_apart", switch_apart::sync_switch_protocol, kHalf, {"one_switch"}},
    {"round_cut_short", round_cut_short::sync_switch_protocol, kHalf, {"one_switch"}},
    {"update_off_by_one", update_off_by_one::dbw_protocol, {}, {"backup_update"}},
    {"late_gradient_used", late_gradient_used::dbw_protocol, kShortMemory, {"backup_update"}, with_a_straggler},
    {"late_gradient_answered_and_used",
     late_gradient_answered_and_used::dbw_protocol,
     kShortMemory,
     {"backup_update"},
     with_a_straggler},
    {"iteration_not_entered", iteration_not_entered::dpsgd_protocol, {}, {"enter_order"}},
    {"answered_not_averaged", answered_not_averaged::adpsgd_protocol, {}, {"pair_sum"}},
    {"answered_with_the_average", answered_with_the_average::adpsgd_protocol, {}, {"pair_sum"}},
    {"stepped_in_an_exchange", stepped_in_an_exchange::adpsgd_protocol, {}, {"pair_sum"}},
    {"share_too_large", share_too_large::sgp_protocol, {}, {"push_sum"}},
    {"weight_not_kept", weight_not_kept::sgp_protocol, {{"overlap", 1}}, {"push_sum"}},
    {"left_on_the_way", left_on_the_way::sgp_protocol, {{"overlap", 1}}, {"push_sum"}},
    {"push_not_awaited", push_not_awaited::sgp_protocol, {}, {"push_sum", "lead_bound"}},
    {"consensus_unbalanced", consensus_unbalanced::choco_protocol, {}, {"consensus_kept"}},
    {"difference_not_sent", difference_not_sent::choco_protocol, {}, {"updates_sent"}},
    {"difference_not_awaited", difference_not_awaited::choco_protocol, {}, {"lead_bound"}},
    {"groups_not_shuffled", groups_not_shuffled::ds_sync_protocol, {}, {"rounds_connect"}},
    {"round_forgotten", round_forgotten::ds_sync_protocol, {}, {"round_matrix", "rounds_due"}},
    {"group_incomplete", group_incomplete::ds_sync_protocol, kGroupServers, {"heard"}},
    {"period_too_long", period_too_long::local_sgd_protocol, {}, {"round_matrix", "rounds_due"}},
    {"ring_divided_by_more", ring_divided_by_more::local_sgd_protocol, {}, {"mean_kept", "round_matrix"}},
    {"correction_forgotten", correction_forgotten::lasgd_protocol, {}, {"round_matrix"}},
    {"member_left_out", member_left_out::allreduce_protocol, kHierarchical, {"heard"}, on_two_hosts},
    {"samples_lost_in_move", samples_lost_in_move::lb_bsp_protocol, kSearch, {"batch_sum", "pair_moves"}},
    {"window_ignored", window_ignored::lb_bsp_protocol, kSearch, {"pair_moves"}},
    {"moved_the_wrong_way", moved_the_wrong_way::lb_bsp_protocol, kSearch, {"pair_search"}, in_samples},
    {"step_never_halves", step_never_halves::lb_bsp_protocol, kLongSteps, {"pair_search"}, in_samples},
    {"window_never_grows", window_never_grows::lb_bsp_protocol, kLongSteps, {"pair_search"}, in_samples},
    {"search_never_reopens", search_never_reopens::lb_bsp_protocol, kSearch, {"pair_search"}, in_samples_with_drift},
    {"search_reopens_by_its_own_step",
     search_reopens_by_its_own_step::lb_bsp_protocol,
     kLongSteps,
     {"pair_search"},
     in_samples_with_drift},
    {"samples_not_weighed", samples_not_weighed::lb_bsp_protocol, kServers, {"batch_weights"}},
    {"no_warmup", no_warmup::lb_bsp_protocol, {}, {"batch_sum"}},
    {"not_rescaled", not_rescaled::dynamic_batching_protocol, {}, {"batch_sum"}},
    {"lock_opened_early", lock_opened_early::prague_protocol, {}, {"one_group", "deadlock"}},
    {"own_counts_twice", own_counts_twice::prague_protocol, {}, {"group_matrix"}},
    {"slow_in_second_group", slow_in_second_group::prague_protocol, {}, {"division"}, long_on_two_hosts},
    {"first_is_head", first_is_head::prague_protocol, {}, {"division"}, long_on_two_hosts},
    {"age_forgotten", age_forgotten::partial_reduce_protocol, {}, {"model_age"}},
    {"group_too_small", group_too_small::partial_reduce_protocol, kUnbridged, {"group_size"}},
    {"window_too_long", window_too_long::partial_reduce_protocol, {{"window", 8}}, {"connected_windows"}},
    {"weight_of_age_lost", weight_of_age_lost::partial_reduce_protocol, {{"weights", "dynamic"}}, {"group_weights"}},
    {"slice_computed_twice", slice_computed_twice::flexrr_protocol, {}, {"samples_once"}, in_samples},
    {"slice_not_awaited", slice_not_awaited::flexrr_protocol, {}, {"samples_once", "slices"}, in_samples},
    {"slice_too_large", slice_too_large::flexrr_protocol, {}, {"slices"}, in_samples},
    {"slice_weighed_wrongly", slice_weighed_wrongly::flexrr_protocol, {}, {"samples_once"}, in_samples},
    {"partner_kept", partner_kept::gossipgrad_protocol, {}, {"diffusion"}},
    {"partner_weighs_less", partner_weighs_less::gossipgrad_protocol, {}, {"diffusion"}},
    {"sent_twice", sent_twice::gossipgrad_protocol, {}, {"diffusion"}},
    {"delta_ignored", delta_ignored::selsync_protocol, kFlags, {"replay"}, kept},
    {"plan_of_one", plan_of_one::elastic_bsp_protocol, {}, {"elastic_plan"}},
    {"always_all", always_all::dbw_protocol, kShortMemory, {"choices"}, kept_with_a_straggler},
    {"mean_taken", mean_taken::lasgd_protocol, {}, {"replay"}, kept},
    {"ring_not_weighed", ring_not_weighed::lb_bsp_protocol, {}, {"replay"}, kept},
    {"batch_too_small", batch_too_small::rennala_protocol, {}, {"fresh_batch"}},
    {"late_one_in_the_batch", late_one_in_the_batch::rennala_protocol, {}, {"fresh_batch"}},
    {"delay_at_the_limit_used", delay_at_the_limit_used::ringmaster_protocol, {}, {"delay_limit"}},
    {"ignored_one_counts", ignored_one_counts::ringmaster_protocol, {}, {"delay_limit"}},
    {"delay_ignored", delay_ignored::delay_adaptive_protocol, {}, {"delay_scale"}},
    {"compensated_for_another", compensated_for_another::dc_asgd_protocol, kCompensating, {"replay"}, kept},
    {"first_weights_kept", first_weights_kept::dc_asgd_protocol, kCompensating, {"replay"}, kept},
    {"token_too_old", token_too_old::gba_protocol, kStrict, {"global_batch"}},
    {"tokens_dealt_slowly", tokens_dealt_slowly::gba_protocol, {}, {"global_batch"}},
    {"late_one_not_counted", late_one_not_counted::gba_protocol, kStrict, {"global_batch"}},
    {"empty_step_left_out", empty_step_left_out::gba_protocol, kSmallGlobalBatch, {"replay"}, with_momentum},
    {"one_gradient_more", one_gradient_more::k_async_protocol, {}, {"k_gradients"}},
    {"answered_before_its_update", answered_before_its_update::k_async_protocol, {}, {"k_gradients"}},
    {"follower_takes_any", follower_takes_any::rennala_protocol, kTwoServers, {"servers_agree"}, with_jitter},
    {"abort_ignored", abort_ignored::specsync_protocol, kAborting, {"fresh_start"}},
    {"begun_again_with_old_weights", begun_again_with_old_weights::specsync_protocol, kAborting, {"replay"}, kept},
    {"told_too_soon", told_too_soon::specsync_protocol, kAborting, {"fresh_start"}},
    {"window_without_an_end", window_without_an_end::specsync_protocol, kAborting, {"fresh_start"}},
    {"own_outer_gradient", own_outer_gradient::diloco_protocol, {}, {"replay"}, kept},
    {"outer_step_twice", outer_step_twice::diloco_protocol, {}, {"replay"}, kept},
    {"own_model_kept", own_model_kept::diloco_protocol, {}, {"replay"}, kept},
    {"fragment_one_step_late", fragment_one_step_late::streaming_diloco_protocol, kLongPeriod, {"replay"}, kept},
    {"mixed_the_other_way", mixed_the_other_way::streaming_diloco_protocol, kMixing, {"replay"}, kept},
    {"one_fragment_again", one_fragment_again::streaming_diloco_protocol, {}, {"replay"}, kept},
    {"rate_not_divided", rate_not_divided::slowmo_protocol, {}, {"replay"}, kept},
    {"anchor_not_moved", anchor_not_moved::overlap_local_sgd_protocol, {}, {"replay"}, kept},
    {"anchor_without_momentum", anchor_without_momentum::overlap_local_sgd_protocol, {}, {"replay"}, kept},
    {"centre_not_pulled", centre_not_pulled::easgd_protocol, kOneServer, {"replay"}, kept},
    {"pulled_to_the_new_centre", pulled_to_the_new_centre::easgd_protocol, kOneServer, {"replay"}, kept},
    {"momentum_not_delayed", momentum_not_delayed::async_diloco_protocol, kOneServer, {"replay"}, kept},
    {"sum_not_cleared", sum_not_cleared::async_diloco_protocol, kOneServer, {"replay"}, kept},
    {"partner_is_the_next", partner_is_the_next::noloco_protocol, {}, {"deadlock"}, uneven},
    {"drawn_apart", drawn_apart::noloco_protocol, {}, {"replay"}, kept},
    {"target_not_reached", target_not_reached::hivemind_protocol, {}, {"target_batch"}},
    {"workers_weigh_alike", workers_weigh_alike::hivemind_protocol, {}, {"replay"}, kept},
    {"sum_goes_on", sum_goes_on::hivemind_protocol, {}, {"replay"}, kept},
    {"gap_left_out", gap_left_out::co2_protocol, {}, {"replay"}, kept},
    {"begun_a_round_before", begun_a_round_before::co2_protocol, {}, {"replay"}, kept},
    {"corrected_twice", corrected_twice::exact_diffusion_protocol, {}, {"replay"}, kept},
    {"lazy_everywhere", lazy_everywhere::d2_protocol, {}, {"replay"}, on_a_complete_graph},
    {"gradient_tracked_twice", gradient_tracked_twice::gradient_tracking_protocol, {}, {"replay"}, kept},
    {"tracker_not_averaged", tracker_not_averaged::gradient_tracking_protocol, {}, {"replay"}, kept},
    {"momentum_of_the_own_step", momentum_of_the_own_step::qg_dsgdm_protocol, {}, {"replay"}, with_momentum},
    {"global_average_late", global_average_late::gossip_pga_protocol, {}, {"replay"}, kept},
    {"twice_as_far_apart", twice_as_far_apart::consensus_control_protocol, kClose, {"replay"}, kept},
    {"limit_not_smoothed", limit_not_smoothed::consensus_control_protocol, kClose, {"replay"}, kept},
    {"given_used_again", given_used_again::r_fast_protocol, {}, {"replay"}, kept},
    {"tracker_kept_whole", tracker_kept_whole::r_fast_protocol, {}, {"replay"}, kept},
    {"always_the_next", always_the_next::one_peer_protocol, {}, {"diffusion"}},
    {"alpha_of_its_own", alpha_of_its_own::matcha_protocol, {}, {"matchings"}},
    {"own_weighs_one", own_weighs_one::matcha_protocol, {}, {"matchings"}},
    {"over_the_budget", over_the_budget::matcha_protocol, kSmallBudget, {"matchings"}, for_long},
    {"old_link_is_enough", old_link_is_enough::dsgd_aau_protocol, {}, {"active_rounds"}},
    {"active_weigh_alike", active_weigh_alike::dsgd_aau_protocol, {}, {"active_rounds"}, on_a_star},
    {"one_dimension_only", one_dimension_only::moshpit_protocol, {}, {"replay"}, kept},
    {"parts_weigh_alike", parts_weigh_alike::dropcompute_protocol, kFewMeasured, {"replay"}, kept_in_samples},
    {"step_of_whole_batches", step_of_whole_batches::dropcompute_protocol, kFewMeasured, {"replay"}, kept_in_samples},
    {"own_time_limit", own_time_limit::dropcompute_protocol, kFewMeasured, {"front_parts"}, in_samples},
    {"samples_not_counted", samples_not_counted::abs_sgd_protocol, {}, {"replay"}, kept_in_samples},
    {"lengths_ignored", lengths_ignored::a_edit_protocol, {}, {"replay"}, kept},
    {"weights_told_wrong", weights_told_wrong::a_edit_protocol, {}, {"weights_sum"}},
    {"never_clipped", never_clipped::a_edit_protocol, kClipped, {"replay"}, kept},
    {"late_step_made", late_step_made::dybw_protocol, {}, {"deadlock"}, in_samples},
    {"loss_not_told", loss_not_told::dybw_protocol, {}, {"gradient_counts"}, in_samples},
    {"cut_not_told", cut_not_told::dybw_protocol, {}, {"gradient_counts"}, in_samples},
    {"own_model_kept_whole", own_model_kept_whole::netmax_protocol, {}, {"pulls", "weights_sum"}},
    {"pull_weighs_twice", pull_weighs_twice::netmax_protocol, {}, {"pulls"}},
    {"learners_weigh_alike", learners_weigh_alike::decoupled_diloco_protocol, {}, {"replay"}, kept},
    {"replaced_forgotten", replaced_forgotten::decoupled_diloco_protocol, {}, {"replay"}, kept},
    {"no_quorum", no_quorum::decoupled_diloco_protocol, {}, {"quorum_merges"}},
    {"length_of_the_mean", length_of_the_mean::decoupled_diloco_protocol, {}, {"replay"}, kept},
    {"told_again", told_again::halos_protocol, {}, {"replay"}, kept_on_far_hosts},
    {"swallowed_by_the_mix", swallowed_by_the_mix::halos_protocol, {}, {"replay"}, kept_on_far_hosts},
    {"regions_add_up", regions_add_up::halos_protocol, {}, {"replay"}, kept_on_hosts},
    {"own_weighs_half", own_weighs_half::daso_protocol, {}, {"replay"}, kept_on_hosts},
    {"host_gradients_apart", host_gradients_apart::daso_protocol, {}, {"replay"}, kept_on_hosts},
    {"left_out_for_good", left_out_for_good::powersgd_protocol, kRankOne, {"replay"}, kept},
    {"not_orthonormal", not_orthonormal::powersgd_protocol, kRankOne, {"replay"}, kept},
    {"own_right_factors", own_right_factors::powersgd_protocol, kRankOne, {"replay"}, kept},
    {"feedback_forgotten", feedback_forgotten::error_feedback_protocol, kLargest, {"replay"}, kept},
    {"fed_back_twice", fed_back_twice::error_feedback_protocol, kLargest, {"replay"}, kept},
    {"dead_slowest_awaited", dead_slowest_awaited::ps_ssp_protocol, {}, {"deadlock"}, with_deaths},
    {"dead_left_in_groups", dead_left_in_groups::prague_protocol, {}, {"deadlock"}, with_deaths_on_two_hosts},
    {"dead_still_ready", dead_still_ready::partial_reduce_protocol, kUnbridged, {"group_size"}, with_deaths},
    {"dead_answered", dead_answered::adpsgd_protocol, {}, {"pair_sum"}, with_slow_averages},
};

class Mutants : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Planted, Mutants, testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(Mutants, AreCaught) {
  Cluster cluster = GetParam().cluster();
  cluster.run(std::string(GetParam().mutant().name), GetParam().knobs);
  EXPECT_EQ(cluster.broken(), "") << "the protocol as it is";
  const auto replay = [&] { return replayed_as(std::string(GetParam().mutant().name), cluster, GetParam().knobs); };
  for (const std::string& by : GetParam().caught_by) {
    const std::string wrong = by == "replay" ? replay() : by == "choices" ? replayed_choices(cluster, 3) : "";
    EXPECT_EQ(wrong, "") << "the protocol as it is";
  }
  std::string error;
  try {
    cluster.run(GetParam().mutant(), GetParam().knobs);
  } catch (const Error& thrown) {
    error = thrown.what();  // some end in a deadlock as well; what the checkers saw until then counts
  }
  for (const std::string& by : GetParam().caught_by) {
    const bool caught = by == "deadlock"  ? error.find("deadlock") != std::string::npos
                        : by == "replay"  ? !replay().empty()
                        : by == "choices" ? !replayed_choices(cluster, 3).empty()
                                          : cluster.caught_by(by);
    EXPECT_TRUE(caught) << by << " saw nothing; all that was seen:\n" << cluster.broken() << error;
  }
}

}  // namespace
}  // namespace hopbench
