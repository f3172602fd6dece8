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
mutant(jump_too_far "tokens;hop" "std::min({behind," "std::min({behind + 1,")

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
mutant(too_stale "updates;hop" "newest(r).iter >= k - staleness_;" "newest(r).iter >= k - staleness_ - 1;")

# The weights of stale updates do not follow their freshness.
mutant(flat_weights "updates;hop" "static_cast<float>(tag - (k - staleness_) + 1)"
       "static_cast<float>(k > tag ? 1 : 2)")

# The mean is divided by one too many.
mutant(wrong_divisor "collectives;dpsgd" "term.weight / total" "term.weight / (total + 1)")

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

# All-reduce: a worker goes on before its last bucket is reduced.
mutant(bucket_not_awaited "allreduce" "reduction->reduced == pieces.size()" "reduction->reduced + 1 >= pieces.size()")

# BSP: an update of all gradients but one.
mutant(bsp_off_by_one "shard;ps_clock;parameter_server" "self.gather(self.workers(), self.worker_count(),"
       "self.gather(self.workers(), self.worker_count() - 1,")

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
mutant(backup_off_by_one "backup_workers" "knobs.integer(\"backup\"));" "knobs.integer(\"backup\") - 1);")

# Backup workers: a gradient that is one update late is taken.
mutant(late_gradient_taken "backup_workers" "push.words[0] == update" "push.words[0] >= update - 1")

# R2SP: in a worker's turn the oldest gradient is applied, whosever it is.
mutant(turn_ignored "r2sp" "self.take(is_from(kPush, worker))" "self.take(is(kPush))")

# ElasticBSP: the barrier does not wait for one worker.
mutant(barrier_not_awaited "elastic_bsp" "if (!held && self.present(w))" "if (!held && self.present(w) && w != 3)")

# A worker goes through an iteration without entering it.
mutant(iteration_not_entered "dpsgd" "self.enter(k);" "if (k != 3) self.enter(k);")
