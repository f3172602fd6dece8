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
mutant(bsp_off_by_one "shard;parameter_server" "self.gather(self.workers(), self.worker_count(),"
       "self.gather(self.workers(), self.worker_count() - 1,")

# SSP: a worker is held one push too late.
mutant(ssp_off_by_one "shard;parameter_server" "shard.pushed(push->from) - staleness"
       "shard.pushed(push->from) - staleness - 1")

# ASP: a gradient is answered, but never applied.
mutant(push_forgotten "shard;parameter_server" "shard.apply(push);" "if (push.iter != 3) shard.apply(push);")

# SelSync: a worker does without the others' flags.
mutant(own_flag_only "selsync" "return mine || std::any_of(" "return mine && std::any_of(")

# SelSync: one worker is told another flag than the rest.
mutant(flag_kept_back "selsync" "{mine ? 1 : 0}" "{mine && peer != 0 ? 1 : 0}")

# Sync-Switch: some servers switch a round before the others.
mutant(switch_apart "sync_switch" "if (k >= rounds_ || !online_) return k < rounds_;"
       "if (k >= rounds_ || !online_) return k + self_.rank % 2 < rounds_;")

# Sync-Switch: a round without its last gradient.
mutant(round_cut_short "sync_switch" "from(others, others.size())) pushes" "from(others, others.size() - 1)) pushes")

# DBW: an update does with one gradient less.
mutant(backup_off_by_one "dbw" "(fresh.size()) < wait_for_) {" "(fresh.size()) < wait_for_ - 1) {")

# DBW: a gradient that came too late is used.
mutant(late_gradient_used "dbw" "if (push->iter < t) {" "if (push->iter + 1 < t) {")

# A worker goes through an iteration without entering it.
mutant(iteration_not_entered "dpsgd" "self.enter(k);" "if (k != 3) self.enter(k);")
