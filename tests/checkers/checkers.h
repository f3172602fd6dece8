// Every invariant there is a checker for, and the list that applies to a trial. One invariant a file.
#pragma once

#include <memory>
#include <vector>

#include "tests/checkers/checker.h"

namespace hopbench::checkers {

using CheckerPtr = std::unique_ptr<Checker>;

// For every protocol
CheckerPtr delivery(const CheckedRun& run);  // every message arrives once, in order per pair; nothing is taken twice
CheckerPtr absence(const CheckedRun& run);   // who is away does nothing, and takes a state when it returns
CheckerPtr gradient_counts(const CheckedRun& run);  // begun = computed + cut, computed = used + lost + waiting
CheckerPtr weights_sum(const CheckedRun& run);      // an average's weights sum to 1
CheckerPtr enter_order(const CheckedRun& run);      // iterations are entered from 0, one by one or by an allowed jump

// For how far a worker may be ahead of another. The bound of a pair is a function of graph distances.
CheckerPtr gap_bound(const CheckedRun& run);
/// Iter(i) - Iter(j) <= bound for all live i, j: for protocols that are in lock step.
CheckerPtr lead_bound(const CheckedRun& run, Iter bound);

// For Hop and D-PSGD
CheckerPtr updates_sent(const CheckedRun& run);    // an update to every out-neighbour in every iteration
CheckerPtr stepped_once(const CheckedRun& run);    // a step with each gradient, unless a jump drops it
CheckerPtr heard_or_lost(const CheckedRun& run);   // a jump declares lost what only the own model holds
CheckerPtr token_count(const CheckedRun& run);     // |TokenQ(i->j)| = max_ig + Iter(i) - Iter(j) >= 0
CheckerPtr jump_bound(const CheckedRun& run);      // a jump is not too long, lands ahead of nobody, comes late enough
CheckerPtr queue_capacity(const CheckedRun& run);  // updates waiting in a mailbox
CheckerPtr quorum(const CheckedRun& run);          // how many updates a Reduce uses, and their tags (not staleness)
CheckerPtr staleness(const CheckedRun& run);       // one update a neighbour, tag >= k-s
CheckerPtr reduce_weights(const CheckedRun& run);  // linear in freshness, normalised to 1
CheckerPtr mean_kept(const CheckedRun& run);       // the mixing weights of an iteration are doubly stochastic
CheckerPtr one_unacknowledged(const CheckedRun& run);  // NOTIFY-ACK: an update an edge at a time

// For parameter servers
CheckerPtr ssp_bound(const CheckedRun& run, std::int64_t staleness);        // push counts differ by at most s+1
CheckerPtr held_everywhere(const CheckedRun& run, std::int64_t staleness);  // no server answers too early
CheckerPtr bsp_round(const CheckedRun& run);                                // n gradients, one a worker, make an update
CheckerPtr push_applied(const CheckedRun& run);                             // updates = pushes
CheckerPtr dssp_rule(const CheckedRun& run);        // each push is answered or held as Algorithms 1 and 2 say
CheckerPtr backup_round(const CheckedRun& run);     // n - b gradients of the newest weights make an update
CheckerPtr round_robin(const CheckedRun& run);      // updates in a fixed cyclic order, staleness n - 1
CheckerPtr elastic_plan(const CheckedRun& run);     // the barrier is where the workers are closest together
CheckerPtr elastic_barrier(const CheckedRun& run);  // at most R iterations to a barrier, where all meet

CheckerPtr samples_once(const CheckedRun& run);  // FlexRR: every sample of an iteration is computed and used once
CheckerPtr slices(const CheckedRun& run);        // FlexRR: offered, given, confirmed; small at first; to who is ahead

// For late gradients at servers
CheckerPtr servers_agree(const CheckedRun& run);  // every server makes the first one's updates
CheckerPtr fresh_batch(const CheckedRun& run);    // Rennala: an update is S gradients at the newest weights
CheckerPtr delay_limit(const CheckedRun& run);    // Ringmaster: what is used has a delay under R, what is lost has not
CheckerPtr delay_scale(const CheckedRun& run);    // delay-adaptive: a step is scaled by its gradient's delay
CheckerPtr global_batch(const CheckedRun& run);   // GBA: tokens, M gradients a step, those too old count as nothing
CheckerPtr k_gradients(const CheckedRun& run);    // K-async, K-batch-async: an update is the mean of K gradients
CheckerPtr fresh_start(const CheckedRun& run);    // SpecSync: who begins again, when, and with which weights

// For methods with outer steps
CheckerPtr target_batch(const CheckedRun& run);  // hivemind: a step when, and only when, there are enough samples
CheckerPtr pairs_of_all(const CheckedRun& run);  // NoLoCo: all are in pairs, but one of an odd number

CheckerPtr quorum_merges(const CheckedRun& run);  // Decoupled DiLoCo: a merge has a quorum, each learner once

// For methods that cut work short
CheckerPtr front_parts(const CheckedRun& run);  // micro-batches in order; DropCompute: one time limit for all

// For gossip that is asynchronous or directed
CheckerPtr pair_sum(const CheckedRun& run);        // AD-PSGD: an exchange keeps the sum of two models
CheckerPtr push_sum(const CheckedRun& run);        // SGP: what is pushed is taken whole, weights are positive
CheckerPtr consensus_kept(const CheckedRun& run);  // CHOCO-SGD: the weights of each public model sum to 0
CheckerPtr diffusion(const CheckedRun& run);       // GossipGraD: one message out and in; log n steps reach everybody
CheckerPtr pulls(const CheckedRun& run);           // NetMax: one neighbour an iteration, the one that was asked
CheckerPtr matchings(const CheckedRun& run);       // MATCHA: links used both ways, with one weight, within the budget
CheckerPtr active_rounds(const CheckedRun& run);   // DSGD-AAU: who goes on when, and with which weights

// For all-reduce and for averages within groups
CheckerPtr heard(const CheckedRun& run);                                // whose vectors can be in an average
CheckerPtr round_matrix(const CheckedRun& run, Iter first, Iter step);  // each worker in one group a round
CheckerPtr rounds_due(const CheckedRun& run, Iter period, Iter late);   // no iteration goes without its average
CheckerPtr rounds_connect(const CheckedRun& run);                       // two rounds connect all workers

// For protocols that switch or choose by themselves
CheckerPtr sync_on_flag(const CheckedRun& run);   // SelSync: all average where a flag is raised, nobody elsewhere
CheckerPtr one_switch(const CheckedRun& run);     // Sync-Switch: rounds, then single gradients, all servers alike
CheckerPtr backup_update(const CheckedRun& run);  // DBW: exactly k_t gradients of version t make an update

// For protocols whose batches differ
CheckerPtr batch_sum(const CheckedRun& run);      // sum of b_i = B, equal in the warm-up, within bounds
CheckerPtr batch_weights(const CheckedRun& run);  // a server's mean weighs each gradient by its samples
CheckerPtr pair_moves(const CheckedRun& run);     // LB-BSP's search: a step between two workers, once a window
CheckerPtr pair_search(const CheckedRun& run);    // LB-BSP's search: from the straggler to the leader, halving

// For groups that average: Prague, Partial Reduce
CheckerPtr group_matrix(const CheckedRun& run);       // symmetric, doubly stochastic, idempotent
CheckerPtr one_group(const CheckedRun& run);          // one running group a worker; every request is answered
CheckerPtr group_size(const CheckedRun& run);         // |G| = P
CheckerPtr group_weights(const CheckedRun& run);      // sum to 1, fall with staleness by the decay
CheckerPtr division(const CheckedRun& run);           // who is drawn into which groups, and who is left out
CheckerPtr model_age(const CheckedRun& run);          // a model is as new as the newest that went into it
CheckerPtr connected_windows(const CheckedRun& run);  // so many groups in a row connect all workers

/// The checkers that apply to this trial.
std::vector<CheckerPtr> make_checkers(const CheckedRun& run);

/// Hands every event on to each of a list.
class Checkers : public Observer {
 public:
  explicit Checkers(std::vector<CheckerPtr> list) : list_(std::move(list)) {}
  void on(const Event& event) override {
    for (const CheckerPtr& checker : list_) checker->on(event);
  }
  void settled(Time now) override {
    for (const CheckerPtr& checker : list_) checker->settled(now);
  }
  void finish(const std::vector<RankRecord>& records) {
    for (const CheckerPtr& checker : list_) {
      checker->finish();
      checker->hold_against(records);
    }
  }
  const std::vector<CheckerPtr>& list() const { return list_; }
  /// "name: violation" of each that failed.
  std::vector<std::string> violations() const {
    std::vector<std::string> all;
    for (const CheckerPtr& checker : list_) {
      for (const std::string& text : checker->violations()) all.push_back(checker->name() + ": " + text);
    }
    return all;
  }

 private:
  std::vector<CheckerPtr> list_;
};

}  // namespace hopbench::checkers
