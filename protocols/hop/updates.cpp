#include "protocols/hop/updates.h"

#include <algorithm>

#include "backends/base/text.h"
#include "protocols/node/collectives.h"

namespace hopbench::hop {

Updates::Updates(Node& self, int staleness, bool reuse)
    : self_(self),
      senders_(self.graph().in(self.rank)),
      staleness_(staleness),
      reuse_(reuse),
      averaged_(senders_.size(), -1),
      newest_(std::make_shared<std::vector<Message>>(staleness > 0 ? senders_.size() : 0)) {
  if (staleness == 0) return;
  self.spawn([&self, &senders = senders_, slots = newest_] {  // senders: of the graph, which outlives all
    for (;;) {
      Message update = self.recv(is(kParams), "an update of a neighbour");
      const auto sender = std::lower_bound(senders.begin(), senders.end(), update.from);
      slots->at(static_cast<std::size_t>(sender - senders.begin())) = std::move(update);
    }
  });
}

std::vector<Term> Updates::receive(Iter k, int absent) {
  if (staleness_ > 0) return receive_newest(k);
  const int quorum = static_cast<int>(senders_.size()) - absent;
  const auto updates = self_.gather(senders_, quorum, is(kParams, k), "parameters of this iteration");
  self_.ignore(is_before(kParams, k + 1));  // here or still to come: too late
  self_.ignore(is_before(kSkip, k + 2));    // useful only to a worker that jumped to the same iteration
  if (static_cast<int>(updates.size()) < quorum) check_enough_live(absent);
  return terms_of(updates);
}

/// Fails the trial if more than `absent` in-neighbours died. Finished ones do not count: nothing of them is to come.
void Updates::check_enough_live(int absent) const {
  std::vector<int> dead;
  std::vector<std::string> names;
  for (int r : senders_) {
    if (!self_.died(r)) continue;
    dead.push_back(r);
    names.push_back(std::to_string(r));
  }
  if (static_cast<int>(dead.size()) <= absent) return;
  self_.give_up(dead, "of its " + std::to_string(senders_.size()) + " in-neighbours rank " + join(names, ", ") +
                          " died, and backup = " + std::to_string(absent) + " bears the loss of no more than " +
                          std::to_string(absent) + ": set backup higher, or take a graph with more neighbours");
}

std::vector<Term> Updates::receive_after_jump(Iter k, int absent) {
  const auto settled = [&] {
    int here = 0, to_come = 0;
    for (int r : senders_) {
      if (self_.has(is_from(kParams, r, k))) {
        ++here;
      } else if (self_.present(r) && !jumped_over(r, k)) {
        ++to_come;
      }
    }
    return here + absent >= static_cast<int>(senders_.size()) || to_come == 0;
  };
  if (staleness_ == 0) {
    self_.ignore(is_before(kParams, k));  // of the iterations that were jumped
    self_.until(settled, "parameters of the iteration before");
  }
  return receive(k, static_cast<int>(senders_.size()));
}

void Updates::announce_jump(Iter k) {
  if (staleness_ > 0 || self_.graph().undirected()) return;
  for (int receiver : self_.graph().out(self_.rank)) self_.send(receiver, kSkip, k);
}

/// Returns true if `sender` jumped over k. A jump lands ahead of no out-neighbour. So an in-neighbour of this worker,
/// which waits in iteration k + 1, can have passed k only by a jump to k + 1 itself.
bool Updates::jumped_over(int sender, Iter k) const { return self_.has(is_from(kSkip, sender, k + 1)); }

std::vector<Term> Updates::receive_newest(Iter k) {
  const auto fresh = [&](const Message& newest) { return newest.from >= 0 && newest.iter >= k - staleness_; };
  const auto complete = [&] {
    for (std::size_t i = 0; i < senders_.size(); ++i) {
      if (!fresh((*newest_)[i]) && self_.present(senders_[i])) return false;
    }
    return true;
  };
  self_.until(complete, "a fresh enough update of a neighbour");
  std::vector<Term> terms;
  for (std::size_t i = 0; i < senders_.size(); ++i) {
    const Message& newest = (*newest_)[i];
    if (!fresh(newest) || (!reuse_ && newest.iter <= averaged_[i])) continue;
    averaged_[i] = newest.iter;
    terms.push_back({newest.from, newest.iter, newest.body, weight(k, newest.iter)});
  }
  return terms;
}

Term Updates::own(Iter k, Iter tag, const Vec& x) const { return {self_.rank, tag, share(x), weight(k, tag)}; }

/// Returns a weight linear in freshness: an update of k - s counts once, one of k counts s + 1 times.
float Updates::weight(Iter k, Iter tag) const {
  return staleness_ > 0 ? static_cast<float>(tag - (k - staleness_) + 1) : 1.0f;
}

}  // namespace hopbench::hop
