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
mutant(bucket_not_awaited "gradient_mean;allreduce" "reduction_->reduced == reduction_->pieces.size()"
       "reduction_->reduced + 1 >= reduction_->pieces.size()")

# BSP: an update of all gradients but one.
mutant(bsp_off_by_one "shard;server;parameter_server" "self.gather(self.workers(), self.worker_count(),"
       "self.gather(self.workers(), self.worker_count() - 1,")

# SSP: a worker is held one push too late.
mutant(ssp_off_by_one "shard;parameter_server" "shard.pushed(push->from) - staleness"
       "shard.pushed(push->from) - staleness - 1")

# ASP: a gradient is answered, but never applied.
mutant(push_forgotten "shard;parameter_server" "shard.apply(push);" "if (push.iter != 3) shard.apply(push);")

# A worker goes through an iteration without entering it.
mutant(iteration_not_entered "dpsgd" "self.enter(k);" "if (k != 3) self.enter(k);")

# LB-BSP: what leaves the straggler is not what the leader gets.
mutant(samples_lost_in_move "allocation;balanced;lb_bsp" "batches_[of(straggler)] -= moved;"
       "batches_[of(straggler)] -= moved / 2;")

# LB-BSP: the search moves at every barrier.
mutant(window_ignored "allocation;balanced;lb_bsp" "if (seen_ >= window_) move();" "move();")

# Batches that differ count the same in the mean.
mutant(samples_not_weighed "balanced;lb_bsp" "serve_bsp(self, true)" "serve_bsp(self)")

# Batches change before the warm-up is over.
mutant(no_warmup "batch_manager;balanced;lb_bsp" "if (k + 1 >= warmup) batches = rule.batches();"
       "batches = rule.batches();")

# Dynamic batching: the rule as it is printed, without rescaling.
mutant(not_rescaled "dynamic_batching" "std::vector<int> next = proportional(total_, corrected, bounds_);"
       "std::vector<int> next(corrected.begin(), corrected.end());")
