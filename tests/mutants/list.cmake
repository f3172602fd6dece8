# The mutants: name, sources, the text, and what takes its place.

# Granting before spending announces an iteration that is not yet entered: a lead of max_ig + 1.
mutant(grant_before_spend "tokens;hop" [==[
    if (k > 0) tokens.spend(stride);
    self.enter(k);
    if (k > 0) tokens.grant(stride, k);]==] [==[
    if (k > 0) tokens.grant(stride, k);
    if (k > 0) tokens.spend(stride);
    self.enter(k);]==])

# A worker enters before it has the tokens for it.
mutant(enter_before_spend "tokens;hop" [==[
    if (k > 0) tokens.spend(stride);
    self.enter(k);]==] [==[
    self.enter(k);
    if (k > 0) tokens.spend(stride);]==])

# A jump over several iterations grants one token only.
mutant(token_lost_in_jump "tokens;hop" "tokens.grant(stride, k)" "tokens.grant(1, k)")

# A jump may land ahead of an out-neighbour.
mutant(jump_too_far "tokens;hop" "std::min(behind," "std::min(behind + 1,")

# A Reduce does with one update less.
mutant(quorum_off_by_one "updates;hop" "(senders_.size()) - absent;" "(senders_.size()) - absent - 1;")
mutant(neighbour_left_out "dpsgd" "int(senders.size())," "int(senders.size()) - 1,")

# An update of the iteration before is taken for one of this.
mutant(old_tag_accepted "updates;hop" [==[is(kParams, k), "parameters of this iteration");
  self_.ignore(is_before(kParams, k + 1));]==] [==[Match{kParams, k - 1, k}, "parameters of this iteration");
  self_.ignore(is_before(kParams, k));]==])

# Updates that come too late stay in the mailbox.
mutant(late_updates_kept "updates;hop" "self_.ignore(is_before(kParams, k + 1));" "")

# An update older than the bound is fresh enough.
mutant(too_stale "updates;hop" "newest.iter >= k - staleness_;" "newest.iter >= k - staleness_ - 1;")

# An update is averaged again although it may be once only.
mutant(averaged_again "updates;hop" "newest.iter <= averaged_[i]" "newest.iter < averaged_[i]")

# The weights of stale updates do not follow their freshness.
mutant(flat_weights "updates;hop" "static_cast<float>(tag - (k - staleness_) + 1)"
       "static_cast<float>(k > tag ? 1 : 2)")

# The mean is divided by one too many.
mutant(wrong_divisor "collectives;dpsgd" "term.weight / total" "term.weight / (total + 1)")

# On an irregular graph all neighbours weigh the same.
mutant(weighed_alike "dpsgd" "if (!equal) weigh(self, terms);" "if (!equal && k < 0) weigh(self, terms);")

# A neighbour misses one update.
mutant(update_not_sent "dpsgd" "self.send(peer, kParams, k, share(x));"
       "if (peer != 0 || k != 3) self.send(peer, kParams, k, share(x));")

# NOTIFY-ACK: the next update does not wait for the acknowledgement of the last one.
mutant(acknowledgement_not_awaited "acknowledged;hop" "edge = {.free = false," "edge = {.free = true,")

# NOTIFY-ACK: an update is acknowledged before it has been averaged.
mutant(acknowledged_too_early "acknowledged;hop" [==[
    x = average(self, k, std::move(terms));
    outgoing.acknowledge(k);]==] [==[
    outgoing.acknowledge(k);
    x = average(self, k, std::move(terms));]==])

# After a jump the worker's own model is averaged though it should be absent.
mutant(own_model_after_jump "updates;hop" "set.keep_self || terms.empty()" "set.keep_self || terms.size() < 99")

# After a jump the updates of an iteration too early are averaged.
mutant(jump_averages_too_early "updates;hop" "receive_after_jump(k - 1," "receive_after_jump(k - 2,")

# On a directed graph nobody is told of a jump.
mutant(jump_not_announced "updates;hop" "updates.announce_jump(k);" "")

# A worker jumps before it is far enough behind.
mutant(jump_too_soon "tokens;hop" "behind < set.skip_trigger" "behind + 1 < set.skip_trigger")

# A step is made with a gradient that the jump throws away.
mutant(stepped_before_jump "updates;hop" [==[
      unheard.lose(k);
    } else if (set.parallel) {]==] [==[
      unheard.lose(k);
    }
    if (set.parallel) {]==])

# A jump declares only the newest gradient of its own model lost; none; those that were sent in time as well.
mutant(one_gradient_lost_only "unheard;hop" "for (const Iter k : gradients_) lose(k);"
       "if (!gradients_.empty()) lose(gradients_.back());")
mutant(lost_without_a_word "unheard;hop" "for (const Iter k : gradients_) lose(k);" "")
mutant(heard_and_lost "updates;hop" "if (!usable_by.empty()) unheard.heard();" "(void)usable_by;")

# A jump resets the momentum.
mutant(momentum_lost_in_jump "updates;hop" "updates.announce_jump(k);"
       "updates.announce_jump(k); optimizer = self.optimizer(x.size());")

# A queue starts with one token more.
mutant(token_more_at_the_start "tokens;hop" "here_[owner] = max_ig;" "here_[owner] = max_ig + 1;")

# Who has finished still owes tokens.
mutant(tokens_of_the_finished_awaited "tokens;hop" "queue.second >= n || !self_.present(queue.first)"
       "queue.second >= n")

# A receiver in the same iteration is taken for one that is past it, in every fifth one.
mutant(receiver_taken_for_past "tokens;hop" "tokens.not_past(k + set.staleness"
       "tokens.not_past(k - (k % 5 == 4 ? 1 : 0) + set.staleness")

# Sums go by descending sender.
mutant(sum_in_another_order "collectives;hop" "a.sender < b.sender" "a.sender > b.sender")

# All-reduce: a worker goes on before its last bucket is reduced.
mutant(bucket_not_awaited "gradient_mean;allreduce" "reduction_->reduced == reduction_->pieces.size()"
       "reduction_->reduced + 1 >= reduction_->pieces.size()")

# BSP: an update of all gradients but one.
mutant(bsp_off_by_one "shard;server;ps_clock;parameter_server" "next < self.workers().size();) {"
       "next + 1 < self.workers().size();) {")

# SSP: a worker is held one push too late.
mutant(ssp_off_by_one "shard;ps_clock;parameter_server" "shard.pushed(push.from) - staleness"
       "shard.pushed(push.from) - staleness - 1")

# ASP: a gradient is answered, but never applied.
mutant(push_forgotten "shard;ps_clock;parameter_server" "shard.apply(push);" "if (push.iter != 3) shard.apply(push);")

# DSSP: the controller takes the push that it is asked about for one still to come.
mutant(controller_one_push_early "dssp_controller;dssp" "r * own" "(r + 1) * own")

# DSSP, capped: a grant goes one push beyond the range.
mutant(cap_off_by_one "dssp" "s_l + r_max - behind + 1" "s_l + r_max - behind + 2")

# DSSP: a held worker is released one push of the slowest too late.
mutant(released_too_late "dssp" "hold = t - s_l;" "hold = t - s_l + 1;")

# Backup workers: an update does with one gradient less.
mutant(backup_off_by_one "backup_workers" "self.worker_count() - knobs.integer(\"backup\");"
       "self.worker_count() - knobs.integer(\"backup\") - 1;")

# Backup workers: a gradient that is one update late is taken.
mutant(late_gradient_taken "backup_workers" "gradient.mark == gradient.updates" "gradient.mark >= gradient.updates - 1")

# R2SP: in a worker's turn the oldest gradient is applied, whosever it is.
mutant(turn_ignored "r2sp" "self.take(is_from(kPush, worker))" "self.take(is(kPush))")

# ElasticBSP: the barrier does not wait for one worker.
mutant(barrier_not_awaited "elastic_bsp" "if (!held && self.present(w))" "if (!held && self.present(w) && w != 3)")

# A worker that was away goes on with its own count, far behind the others.
mutant(clock_not_taken_up "shard;ps_clock;parameter_server" "if (decides) k = std::max(k, others);" "if (decides) k = std::max<Iter>(k, 0);")

# A worker that was away takes the weights of the first server only.
mutant(weights_of_one_server "server;parameter_server" "for (const int server : others) self.ask_for_state(server, k);
  for (const Message& state : self.gather(others, int(others.size()), is(kState), kWhy)) put(state);" "")

# AD-PSGD: a worker goes on with the model that it had before it was away.
mutant(model_not_taken_over "collectives;adpsgd" "self.ask_for_state(peer, k);" "if (k == 0) break;")

# SelSync: a worker does without the others' flags.
mutant(own_flag_only "selsync" "return std::any_of(" "return mine && std::any_of(")

# SelSync: one worker is told another flag than the rest.
mutant(flag_kept_back "collectives;selsync" "self.send(peer, kind, k, body, words);" "self.send(peer, kind, k, body, peer == 0 ? Words{0} : words);")

# SelSync: after the window nobody raises a flag.
mutant(delta_ignored "selsync" "!(change < delta)" "!(change < delta + 1e9)")

# ElasticBSP: every worker meets the others after its next iteration.
mutant(plan_of_one "elastic_bsp" "static_cast<Iter>(chosen[i]) + 1" "static_cast<Iter>(chosen[i]) * 0 + 1")

# DBW: waits for everybody, whatever is gained.
mutant(always_all "dbw" "return best_count(" "return there + 0 * best_count(")

# Sync-Switch: some servers switch a round before the others.
mutant(switch_apart "sync_switch" "if (k >= rounds_ || !online_) return k < rounds_;"
       "if (k >= rounds_ || !online_) return k + self_.rank % 2 < rounds_;")

# Sync-Switch: a round without its last gradient.
mutant(round_cut_short "sync_switch" "from(others, others.size())) pushes" "from(others, others.size() - 1)) pushes")

# DBW: an update does with one gradient less.
mutant(update_off_by_one "dbw" "(fresh.size()) < wait_for_) {" "(fresh.size()) < wait_for_ - 1) {")

# DBW: a gradient that comes too late is used all the same, with its worker told that it is not, or not told.
mutant(late_gradient_used "dbw" [==[
      if (push->iter < t) discard(*push, t);
      if (push->iter == t)]==] [==[
      if (push->iter <= t)]==])
mutant(late_gradient_answered_and_used "dbw" [==[
      if (push->iter < t) discard(*push, t);
      if (push->iter == t)]==] [==[
      if (push->iter < t) shard_.answer(push->from, t, {wait_for_, 0});
      if (push->iter <= t)]==])

# A worker goes through an iteration without entering it.
mutant(iteration_not_entered "dpsgd" "self.enter(k);" "if (k != 3) self.enter(k);")

# AD-PSGD: a passive worker answers, but does not average.
mutant(answered_not_averaged "adpsgd" "x = averaged(self, x, request);" "if (request.iter != 3) x = averaged(self, x, request);")

# AD-PSGD: a passive worker answers with the average, of which the active one then takes another.
mutant(answered_with_the_average "adpsgd" [==[
    self.send(request.from, kReply, self.iteration(), share(x));
    x = averaged(self, x, request);]==] [==[
    x = averaged(self, x, request);
    self.send(request.from, kReply, self.iteration(), share(x));]==])

# AD-PSGD: an active worker applies its gradient to the model that it has sent away to be averaged.
mutant(stepped_in_an_exchange "adpsgd" [==[
    if (partner != kAnyone) {
      const auto answer = self.recv_unless_left(is_from(kReply, partner), "the partner's model");
      if (answer) x = averaged(self, x, *answer);
    }
    optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);]==] [==[
    optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);
    if (partner != kAnyone) {
      const auto answer = self.recv_unless_left(is_from(kReply, partner), "the partner's model");
      if (answer) x = averaged(self, x, *answer);
    }]==])

# SGP: the own share is forgotten when the others are counted.
mutant(share_too_large "sgp" "static_cast<float>(to.size() + 1)" "static_cast<float>(to.size())")

# SGP: the weight does not follow x.
mutant(weight_not_kept "sgp" "double w = p * w_;" "double w = w_;")

# SGP: nobody waits for the last pushes.
mutant(left_on_the_way "sgp" "k < end + overlap; ++k)" "k + 1 < end + overlap; ++k)")

# SGP: a worker does not wait for what was pushed to it.
mutant(push_not_awaited "sgp" "int(senders.size())," "int(senders.size()) - 1,")

# CHOCO-SGD: the own public model is taken off once too little.
mutant(consensus_unbalanced "choco" "given += w;" "given = w;")

# CHOCO-SGD: a neighbour misses one difference.
mutant(difference_not_sent "choco" "self.send(peer, kParams, k, q);" "if (peer != 0 || k != 3) self.send(peer, kParams, k, q);")

# CHOCO-SGD: a worker does not wait for its neighbours' differences.
mutant(difference_not_awaited "choco" "int(neighbours.size())," "0,")

# DS-Sync: the groups never change.
mutant(groups_not_shuffled "ds_sync" "static_cast<std::size_t>(round) % all.size()"
       "static_cast<std::size_t>(0 * round)")

# DS-Sync: in one iteration nobody averages.
mutant(round_forgotten "ds_sync" "if (!before_forward) synchronise(k);" "if (!before_forward && k != 3) synchronise(k);")

# DS-Sync at servers: an answer that lacks one member's model.
mutant(group_incomplete "group_average;ds_sync" "self.gather(group, static_cast<int>(group.size()),"
       "self.gather(group, static_cast<int>(group.size()) - 1,")

# The ring's mean is divided by one too many.
mutant(ring_divided_by_more "collectives;group_average;local_sgd" "1.0f / static_cast<float>(n)"
       "1.0f / static_cast<float>(n + 1)")

# Local SGD: one local step too many before an average.
mutant(period_too_long "local_sgd" "inner_step(self, x, optimizer, k, period)" "inner_step(self, x, optimizer, k, period + 1)")

# LASGD: one mean is never taken in.
mutant(correction_forgotten "lasgd" "if (rounds.last().round < 0) return;" "if (rounds.last().round < 0 || rounds.last().round == 3) return;")

# LASGD: the mean is taken for the model, and what was done meanwhile is lost.
mutant(mean_taken "lasgd" "{1, share(x)}, {-1, contributed}" "{0, share(x)}, {0, contributed}")

# Hierarchical: a host's leader does not wait for one of its workers.
mutant(member_left_out "hierarchical;gradient_mean;allreduce" "if (member != leader) terms.push_back("
       "if (member != leader && (k != 3 || member != here.back())) terms.push_back(")

# LB-BSP: what leaves the straggler is not what the leader gets.
mutant(samples_lost_in_move "pair_search;balanced;lb_bsp" "batches_[of(straggler)] -= moved;"
       "batches_[of(straggler)] -= moved / 2;")

# LB-BSP: the search moves at every barrier.
mutant(window_ignored "pair_search;balanced;lb_bsp" "if (seen_ >= window_) move();" "move();")

# LB-BSP: the search goes the other way; its steps do not get smaller; its windows do not get longer.
mutant(moved_the_wrong_way "pair_search;balanced;lb_bsp" [==[
    batches_[of(leader)] += moved;
    batches_[of(straggler)] -= moved;]==] [==[
    batches_[of(leader)] -= moved;
    batches_[of(straggler)] += moved;]==])
mutant(step_never_halves "pair_search;balanced;lb_bsp" "step_ = std::max(multiple, step_ / 2 / multiple * multiple);" "")
mutant(window_never_grows "pair_search;balanced;lb_bsp"
       "window_ = std::max(window_, static_cast<Iter>(double(window_) * options_.window_growth));" "")

# The search goes on with its small steps after a worker became slower; it begins anew after its own step too far.
mutant(search_never_reopens "pair_search;balanced;lb_bsp" "if (became_slower()) {" "if (became_slower() && false) {")
mutant(search_reopens_by_its_own_step "pair_search;balanced;lb_bsp" "i == leader_ ? std::max(best_, led_) : best_" "best_")

# Batches that differ count the same in the mean.
mutant(samples_not_weighed "balanced;lb_bsp" "serve_bsp(self, true)" "serve_bsp(self)")

# The same in a mean along a ring.
mutant(ring_not_weighed "balanced;lb_bsp" "float(mine.count) / float(self.batch())" "1.0f")

# Batches change before the warm-up is over.
mutant(no_warmup "batch_manager;balanced;lb_bsp" "if (k + 1 >= warmup) batches = rule.batches();"
       "batches = rule.batches();")

# Dynamic batching: the rule as it is printed, without rescaling.
mutant(not_rescaled "dynamic_batching" "std::vector<int> next = proportional(total_, corrected, bounds_);"
       "std::vector<int> next(corrected.begin(), corrected.end());")

# SSP: a server that does not decide answers before it has the push itself, or before it has the others'.
mutant(own_push_not_awaited "shard;ps_clock;parameter_server" "return shard.pushed(h.worker) > h.k &&"
       "return (!decides || shard.pushed(h.worker) > h.k) &&")
mutant(follower_lets_go "shard;ps_clock;parameter_server" "by_all >= h.least;"
       "(!decides || by_all >= h.least);")

# The same of DSSP and FlexRR.
mutant(follower_lets_go_dssp "shard;ps_clock;dssp" "by_all >= h.least;"
       "(!decides || by_all >= h.least);")
mutant(follower_lets_go_flexrr "shard;ps_clock;flexrr" "by_all >= h.least;"
       "(!decides || by_all >= h.least);")

# Prague: a whole host averages together, who is slow too.
mutant(slow_in_second_group "group_generator;prague"
       "std::erase_if(members, [&](int w) { return slow(worker(w).asked, most); });" "")

# Prague: the head of a host is the first of those that are idle.
mutant(first_is_head "group_generator;prague" "heads.push_back(members[random.below(members.size())]);"
       "heads.push_back(members[0 * random.below(members.size())]);")

# Prague: the first member that is done opens the locks of its whole group.
mutant(lock_opened_early "group_generator;prague" [==[
  HB_ASSERT(worker(w).lock != kFree || worker(w).left);
  worker(w).lock = kFree;]==] [==[
  const Iter done = worker(w).lock;
  for (Worker& each : workers_) each.lock = done != kFree && each.lock == done ? kFree : each.lock;]==])

# Prague: a member gives its own model twice the weight.
mutant(own_counts_twice "group_average;group_generator;prague" "static_cast<float>(weight);"
       "static_cast<float>(&term == &terms.front() ? 2 * weight : weight);")

# Partial Reduce: a group of one less.
mutant(group_too_small "ready_queue;partial_reduce" "const auto size = static_cast<std::size_t>(group_size_);"
       "const auto size = static_cast<std::size_t>(group_size_ - 1);")

# Partial Reduce: groups may stay apart for one longer than the window.
mutant(window_too_long "ready_queue;partial_reduce" "further = window_ - 1 - kept;" "further = window_ - kept;")

# Partial Reduce: a model that is one step behind counts as if it were not.
mutant(weight_of_age_lost "group_average;partial_reduce" "age < newest && decay < 1;" "age < newest - 1 && decay < 1;")

# Partial Reduce: a model that was averaged is as old as it was.
mutant(age_forgotten "group_average;partial_reduce" "steps = average_in_group(" "average_in_group(")

# FlexRR: what was given to a helper is computed by its worker too.
mutant(slice_computed_twice "reassignment;flexrr" "    end_ -= given;\n" "")

# FlexRR: a worker adds up without its last slice.
mutant(slice_not_awaited "reassignment;flexrr" "return out_ == 0;" "return out_ <= 1;")

# FlexRR: a helper gets all that is left at once.
mutant(slice_too_large "reassignment;flexrr" "std::min(size, (left() + 1) / 2)" "left()")

# FlexRR: a slice counts for a sample too many.
mutant(slice_weighed_wrongly "reassignment;flexrr" "add(slice->from, slice->body, slice->words[0]);"
       "add(slice->from, slice->body, slice->words[0] + 1);")

# GossipGraD: the partner is always the next rank.
mutant(partner_kept "gossipgrad" "hops_[at % hops_.size()]" "hops_[0 * at]")

# GossipGraD: a worker's own model weighs twice as much as its partner's.
mutant(partner_weighs_less "gossipgrad" ".value = share(x)});" ".value = share(x), .weight = 2});")

# GossipGraD: a partner is sent the same model twice.
mutant(sent_twice "gossipgrad" "      self.send((self.rank + ahead) % n, kParams, k, share(x));"
       "      for (int i = 0; i < (k == 3 ? 2 : 1); ++i) self.send((self.rank + ahead) % n, kParams, k, share(x));")

# SSP: the server goes on waiting for a slowest worker that has died.
mutant(dead_slowest_awaited "shard;ps_clock;parameter_server" "if (other != worker && self_.present(other)) least"
       "if (other != worker && (self_.present(other) || self_.died(other))) least")

# Prague: the dead stay in the groups that they were drawn into.
mutant(dead_left_in_groups "group_generator;prague" "  Worker& dead = worker(w);" [==[
  worker(w).left = worker(w).lost = true;
  if (w >= 0) return;
  Worker& dead = worker(w);]==])

# Partial Reduce: who signalled and died is grouped all the same.
mutant(dead_still_ready "ready_queue;partial_reduce" "std::erase(queue_, worker);" "")

# AD-PSGD: a dead one is answered, and so half of its model taken that nobody misses.
mutant(dead_answered "adpsgd" "if (!self.present(request.from)) continue;" "")

# Rennala: a batch of one less; a gradient that is one update late is used.
mutant(batch_too_small "rennala" "gradient.collected + 1 == batch" "gradient.collected + 2 == batch")
mutant(late_one_in_the_batch "rennala" "gradient.delay() == 0" "gradient.delay() <= 1")

# Ringmaster: the delay R itself is not ignored; an ignored gradient counts as an update.
mutant(delay_at_the_limit_used "ringmaster" "gradient.delay() < limit" "gradient.delay() <= limit")
mutant(ignored_one_counts "ringmaster" ".closes = used" ".closes = true")

# Delay-adaptive: steps of late gradients are not shorter.
mutant(delay_ignored "delay_adaptive" "static_cast<double>(gradient.delay())" "0 * static_cast<double>(gradient.delay())")

# DC-ASGD: the weights that a worker was sent are those of another one; a worker's weights are never renewed.
mutant(compensated_for_another "dc_asgd" "sent_[static_cast<std::size_t>(push.from)]" "sent_[(push.from + 1) % sent_.size()]")
mutant(first_weights_kept "dc_asgd" "    compensator.sends(push.from);\n" "")

# GBA: a token one step too old still counts; a token too many of each number; a late gradient leaves the divisor; a
# global batch of late gradients makes no step.
mutant(token_too_old "gba" "gradient.delay() <= tolerance" "gradient.delay() <= tolerance + 1")
mutant(tokens_dealt_slowly "gba" "fetched++ / batches" "fetched++ / (batches + 1)")
mutant(late_one_not_counted "gba" "const bool last = ++come % batches == 0;" [==[
                              if (gradient.delay() <= tolerance) ++come;
                              const bool last = come % batches == 0;]==])

mutant(empty_step_left_out "verdicts;gba" "if (used_.empty() && deciding_.divisor == 0)" "if (used_.empty())")

# K-async: an update of one more; a worker that waits is answered at once.
mutant(one_gradient_more "k_async" "gradient.collected + 1 == k" "gradient.collected == k")
mutant(answered_before_its_update "k_async" ".held = held" ".held = false")

# A server that does not decide takes the gradient that comes first.
mutant(follower_takes_any "verdicts;rennala" "self_.recv_unless_left(is_from(kPush, from, k), \"a gradient of this update\")"
       "std::optional<Message>(self_.recv(is(kPush), \"a gradient\"))")

# SpecSync: a worker goes on with the gradient that it should drop; it begins again without new weights; one gradient
# fewer is enough; the window never closes.
mutant(abort_ignored "specsync" "return !self.take(is(kSkip, k));" "return self.take(is(kSkip, k)), true;")
mutant(begun_again_with_old_weights "specsync" "x = pull_again(self, k, x);" "pull_again(self, k, x);")
mutant(told_too_soon "specsync" "window.pushes >= enough_" "window.pushes + 1 >= enough_")
mutant(window_without_an_end "specsync" "if (window.ends > self_.now()) continue;" "if (window.ends == kNever) continue;")

# DiLoCo: the outer step is with the worker's own model; it is made twice; the worker goes on from its own model; the
# inner state is never reset.
mutant(own_outer_gradient "diloco" "outer.step(x0, share(mean), step);" "outer.step(x0, share(x), step);")
mutant(outer_step_twice "diloco" "outer.step(x0, share(mean), step);"
       "outer.step(x0, share(mean), step), outer.step(x0, share(mean), step);")
mutant(own_model_kept "diloco" "take_over(self, x, x0);" "")

# Streaming DiLoCo: a fragment is sent as it is when it is due; a fragment is taken in one step late; numbers are mixed the
# other way round.
mutant(fragment_one_step_late "streaming_diloco" "due = k + 1 + delay;" "due = k + 2 + delay;")
mutant(mixed_the_other_way "streaming_diloco" "{alpha, x.slice(part.offset, part.size)}, {1 - alpha, fresh}"
       "{1 - alpha, x.slice(part.offset, part.size)}, {alpha, fresh}")
mutant(one_fragment_again "streaming_diloco" "slice_of(x.size(), sent, plan.fragments);" "slice_of(x.size(), 0 * sent, plan.fragments);")

# SlowMo: the slow momentum is not divided by the learning rate.
mutant(rate_not_divided "slowmo" ".gain = 1 / lr" ".gain = 1")

# Overlap-Local-SGD: the anchor is that of the same round; the anchor has no momentum.
mutant(anchor_not_moved "overlap_local_sgd" "if (k >= period) anchor.step" "if (k >= 2 * period) anchor.step")
mutant(anchor_without_momentum "overlap_local_sgd" ".momentum = knobs.real(\"beta\")" ".momentum = 0 * knobs.real(\"beta\")")

# EASGD: the centre does not move; a worker is pulled towards the centre as it is afterwards.
mutant(centre_not_pulled "easgd" "z = moved(share(z), x, pull);" "z = moved(share(z), x, 0 * pull);")
mutant(pulled_to_the_new_centre "easgd" [==[
    centre.answer(push.from, push.iter);
    centre.change(push, bytes_of(3 * push.body.size()),
                  [&](Vec& z, const Payload& x) { z = moved(share(z), x, pull); });]==] [==[
    centre.change(push, bytes_of(3 * push.body.size()),
                  [&](Vec& z, const Payload& x) { z = moved(share(z), x, pull); });
    centre.answer(push.from, push.iter);]==])

# Asynchronous DiLoCo: momentum is taken in with every outer gradient; all make as many steps.
mutant(momentum_not_delayed "async_diloco" "if (++come_ % every_ == 0)" "if (++come_ % every_ >= 0)")
mutant(sum_not_cleared "async_diloco" "      sum_.fill(0);\n" "")

# NoLoCo: the partner is the next worker; a model is drawn away from its partner's.
mutant(partner_is_the_next "noloco" "return other < order.size() ? order[other] : self.rank;"
       "return other < order.size() ? (self.rank + 1) % self.worker_count() : self.rank;")
mutant(drawn_apart "noloco" "(gamma - beta) / 2" "-(gamma + beta) / 2")

# CO2: the staleness gap is left out; the outer step begins with the model from which the round before began.
mutant(gap_left_out "co2" "length > 0 ? 1 + moved.norm() / length : 1" "length > 0 && moved.norm() < 0 ? 2 : 1")
mutant(begun_a_round_before "co2" "Vec next = Vec::copy_of(self.trained(outer.now));" "Vec next = Vec::copy_of(self.trained(outer.u));")

# hivemind: a step with fewer samples than the target; the mean is over as many samples of each worker; what went into a
# step goes into the next one too.
mutant(target_not_reached "hivemind" "if (samples >= target) {" "if (2 * samples >= target) {")
mutant(workers_weigh_alike "hivemind" "static_cast<float>(n / static_cast<double>(ring.count))"
       "static_cast<float>(n / (n * std::max<double>(1, double(samples_))))")
mutant(sum_goes_on "hivemind" "      sum_ = Vec(sum_.size(), sum_.space());\n" "")

# Exact Diffusion and D2: the correction counts twice; D2 averages with (I + W) / 2 on every graph.
mutant(corrected_twice "bias_corrected;exact_diffusion" "      c.add(drawn);\n" "      c.add(drawn), c.add(drawn);\n")
mutant(lazy_everywhere "bias_corrected;d2" "with_neighbours(self, lazy_on(self.graph()))" "with_neighbours(self, true)")

# Gradient tracking: the gradient before stays in; the tracker is not averaged.
mutant(gradient_tracked_twice "gradient_tracking" "    g_before = std::move(g);\n" "")
mutant(tracker_not_averaged "gradient_tracking" "y = gossip::averaged_second(self, k, exchange, y);" "gossip::averaged_second(self, k, exchange, y);")

# Quasi-global momentum: it follows the own step, not the average.
mutant(momentum_of_the_own_step "qg_dsgdm" "momentum.follow(x, next, lr);" "momentum.follow(x, stepped, lr);")

# Gossip-PGA: the average of all comes an iteration late.
mutant(global_average_late "gossip_pga" "(k + 1) % period == 0" "k % period == 0")

# Consensus control: models may be twice as far apart; the limit follows the newest gradients only.
mutant(twice_as_far_apart "consensus_control" "> ratio * lr * phi" "> 2 * ratio * lr * phi")
mutant(limit_not_smoothed "consensus_control" "constexpr double kKept = 0.9;" "constexpr double kKept = 0.1;")

# R-FAST: what a neighbour gave away is used again and again; a worker keeps all of its tracker.
mutant(given_used_again "running_sums;r_fast" "      from.used = from.rho;\n" "")
mutant(tracker_kept_whole "running_sums;r_fast" "      z_.axpy(-out, share(gained(share(given), share(rho_))));\n" "")

# One-peer graph: the partner is always the next worker.
mutant(always_the_next "one_peer" ".to = hops.to(self.rank, k), .from = hops.from(self.rank, k)" ".to = hops.to(self.rank, 0 * k), .from = hops.from(self.rank, 0 * k)")

# MATCHA: every worker has a weight of its own; a worker's own model weighs as if it had no partner; all links are always used.
mutant(alpha_of_its_own "matcha" "weights(partners.size(), plan.alpha)" "weights(partners.size(), plan.alpha / (1 + self.rank))")
mutant(own_weighs_one "matcha" "1 - plan.alpha * static_cast<double>(partners.size())" "1")
mutant(over_the_budget "matcha_plan;matcha" "find_best_chances(kept.plan.matchings, n, budget)" "find_best_chances(kept.plan.matchings, n, 1)")

# DSGD-AAU: any link between two that are done is enough; weights are uniform among those that are done.
mutant(old_link_is_enough "path_search;active_rounds;dsgd_aau" "used_.count({a, b}) == 0" "used_.count({a, b}) < 2")
mutant(active_weigh_alike "path_search;active_rounds;dsgd_aau" "std::max(found.ranks.size(), theirs)" "std::max(found.ranks.size(), 0 * theirs)")

# Moshpit SGD: the means are always along the first dimension.
mutant(one_dimension_only "moshpit" "k / period % dimensions" "0 * k / period % dimensions")

# DropCompute and ABS-SGD: gradients of few samples weigh as much as whole ones; the step is as long as for whole batches;
# each worker has a limit of its own.
mutant(parts_weigh_alike "sample_mean;dropcompute" "if (g.samples != self.batch())" "if (g.samples < 0)")
mutant(step_of_whole_batches "sample_mean;dropcompute" "self.per_sample(mean.samples)" "1.0")
mutant(own_time_limit "sample_mean;drop_times;dropcompute" "best_limit(iterations_in(all, self_.batch()))" "best_limit(iterations_in({numbers_, numbers_}, self_.batch()))")
mutant(samples_not_counted "sample_mean;abs_sgd" "  divide_by_samples(self, g, samples);\n" "")

# A-EDiT: all outer gradients weigh the same; the weights that are told are others; none is too long.
mutant(lengths_ignored "weighted_rounds;a_edit" "std::exp(least - each.length)" "std::exp(0 * (least - each.length))")
mutant(weights_told_wrong "weighted_rounds;a_edit" "ring.weight * self_.worker_count()" "ring.weight")
mutant(never_clipped "weighted_rounds;a_edit" "length > clip_ ? clip_ / length : 1" "length < 0 ? clip_ / length : 1")

# DyBW: a worker that is done too late steps all the same; a gradient that is thrown away, or cut, is not told.
mutant(late_step_made "dybw" "if (std::binary_search(active.begin(), active.end(), self.rank))" "if (g.whole)")
mutant(loss_not_told "dybw" "self.lost(k, \"the round was over\");" "")
mutant(cut_not_told "dybw" "self.abandoned();" "")

# NetMax: a worker keeps its whole model and adds a share of another; a pull weighs twice as much.
mutant(own_model_kept_whole "netmax" "static_cast<float>(1 - weight)" "static_cast<float>(1 - 0 * weight)")
mutant(pull_weighs_twice "netmax" "answer, k, policy.pull /" "answer, k, 2 * policy.pull /")

# Decoupled DiLoCo: learners weigh alike; what a newer fragment replaced is not counted; one learner is enough; the length is that of the mean.
mutant(learners_weigh_alike "syncer;decoupled_diloco" "samples * samples / static_cast<double>(push.words[2])" "1 + 0 * samples")
mutant(replaced_forgotten "syncer;decoupled_diloco" "push.words[1] + old[1], push.words[2] + old[2]" "push.words[1] + 0 * old[1], push.words[2]")
mutant(no_quorum "syncer;decoupled_diloco" "std::min(quorum_, present)" "std::min<std::size_t>(1, present)")
mutant(length_of_the_mean "syncer;decoupled_diloco" "-length / norm" "-1.0 + 0 * (length / norm)")

# HALoS: a region tells how far it has moved since the start; it does not tell of what came before an answer; regions
# do not share.
mutant(told_again "halos" "    told = region.model();\n" "")
mutant(swallowed_by_the_mix "halos" "told.add(share(by));" "told = region.model();")
mutant(regions_add_up "halos" "1.0 / static_cast<double>(regions.size())" "1.0")

# DASO: the own model weighs half as much; gradients are not averaged within a host.
mutant(own_weighs_half "daso" "own = 2.0 * static_cast<double>(waited)" "own = 1.0 * static_cast<double>(waited)")
mutant(host_gradients_apart "daso" "between.own_host().size() > 1" "between.own_host().size() > 1000")

# PowerSGD: what the factors leave out is forgotten; columns are not orthonormal; each worker keeps its own right factors.
mutant(left_out_for_good "low_rank;powersgd" "error = std::move(m);" "error.fill(0.0f);")
mutant(not_orthonormal "low_rank;powersgd" "make_orthonormal(matrix.p);" "")
mutant(own_right_factors "low_rank;powersgd" "factors.product(right.values)" "factors.product(factors.right(m, left.values))")

# Error feedback: what the compressor leaves out is forgotten; it is added twice.
mutant(feedback_forgotten "error_feedback" "error_.axpy(-1.0f, share(q_.unpack(share(packed), trained_)));" "error_.fill(0.0f);")
mutant(fed_back_twice "error_feedback" "error_.add(g.slice(0, trained_));" "error_.scale(2.0f);\n      error_.add(g.slice(0, trained_));")
