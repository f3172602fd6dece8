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

# A worker goes through an iteration without entering it.
mutant(iteration_not_entered "dpsgd" "self.enter(k);" "if (k != 3) self.enter(k);")

# Prague: the first member that is done opens the locks of its whole group.
mutant(lock_opened_early "group_generator;prague" [==[
  HB_ASSERT(worker(w).lock != kFree);
  worker(w).lock = kFree;]==] [==[
  const Iter done = worker(w).lock;
  for (Worker& each : workers_) each.lock = done != kFree && each.lock == done ? kFree : each.lock;]==])

# Prague: a member gives its own model twice the weight.
mutant(own_counts_twice "group_average;prague" "static_cast<float>(weight);"
       "static_cast<float>(&term == &terms.front() ? 2 * weight : weight);")

# Partial Reduce: a group of one less.
mutant(group_too_small "ready_queue;partial_reduce" "const auto size = static_cast<std::size_t>(group_size_);"
       "const auto size = static_cast<std::size_t>(group_size_ - 1);")

# Partial Reduce: groups may stay apart for one longer than the window.
mutant(window_too_long "ready_queue;partial_reduce" "further = window_ - 1 - kept;" "further = window_ - kept;")

# Partial Reduce: a model that is one step behind counts as if it were not.
mutant(weight_of_age_lost "group_average;partial_reduce" "age < newest && decay < 1;" "age < newest - 1 && decay < 1;")
