// Hop's token queues, which bound how far a worker may be ahead of a neighbour (protocols/hop/hop.cpp).
//
// TokenQ(o -> i) is owned by o, an out-neighbour of i: o inserts, i removes. It is kept at i as a credit, which token
// messages from o fill (decision H3). Hence |TokenQ(o -> i)| = max_ig + Iter(o) - Iter(i) >= 0, messages under way
// included.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "protocols/node/node.h"

namespace hopbench::hop {

class Tokens {
 public:
  /// Every queue holds max_ig tokens at the start (H4). max_ig = 0: there are no token queues, and the calls below do
  /// nothing.
  Tokens(Node& self, int max_ig) : self_(self), max_ig_(max_ig) {
    if (max_ig == 0) return;
    for (int owner : self.graph().out(self.rank)) here_[owner] = max_ig;
  }

  /// Waits until every out-neighbour's queue holds n, then takes n of each at once (H2). Out-neighbours that have left
  /// owe no tokens (H10).
  void spend(Iter n) {
    for (collect(); !enough(n); collect()) {
      self_.until([&] { return self_.has(is(kToken)) || enough(n); }, "a token from a slower neighbour");
    }
    for (auto& [owner, tokens] : here_) {
      if (!self_.present(owner)) continue;
      tokens -= n;
      self_.spent(owner, n);
    }
  }
  /// Inserts n tokens for each in-neighbour. Must be called after iteration k has been entered (H1), never before.
  void grant(Iter n, Iter k) {
    if (max_ig_ == 0) return;
    for (int user : self_.graph().in(self_.rank)) self_.send(user, kToken, k, {}, {n});
  }
  /// Returns the out-neighbours that have not entered an iteration after k, as far as their tokens tell. They may be
  /// further, because a token may be on its way.
  std::vector<int> not_past(Iter k) {
    collect();
    std::vector<int> ranks;
    for (const auto& [owner, tokens] : here_) {
      if (self_.iteration() + tokens - max_ig_ <= k) ranks.push_back(owner);
    }
    return ranks;
  }
  /// Returns the number of iterations by which this worker is behind the slowest out-neighbour, as far as its tokens
  /// tell; <= 0: it is not behind.
  Iter behind() {
    collect();
    std::optional<Iter> least;
    for (const auto& [owner, tokens] : here_) {
      if (self_.present(owner)) least = std::min(tokens, least.value_or(tokens));
    }
    return least.value_or(max_ig_) - max_ig_;
  }

 private:
  void collect() {
    while (const auto message = self_.take(is(kToken))) here_[message->from] += message->words[0];
  }
  bool enough(Iter n) const {
    return std::all_of(here_.begin(), here_.end(),
                       [&](const auto& queue) { return queue.second >= n || !self_.present(queue.first); });
  }

  Node& self_;
  Iter max_ig_;
  std::map<int, Iter> here_;  // out-neighbour -> tokens
};

}  // namespace hopbench::hop
