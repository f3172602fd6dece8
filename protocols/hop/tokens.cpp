#include "protocols/hop/tokens.h"

#include <algorithm>

namespace hopbench::hop {

Tokens::Tokens(Node& self, int max_ig) : self_(self), max_ig_(max_ig) {
  if (max_ig == 0) return;
  for (int owner : self.graph().out(self.rank)) here_[owner] = max_ig;
}

void Tokens::collect() {
  while (const auto message = self_.take(is(kToken))) here_[message->from] += message->words[0];
}

bool Tokens::enough(Iter n) const {
  return std::all_of(here_.begin(), here_.end(),
                     [&](const auto& queue) { return queue.second >= n || !self_.present(queue.first); });
}

void Tokens::spend(Iter n) {
  for (collect(); !enough(n); collect()) {
    self_.until([&] { return self_.has(is(kToken)) || enough(n); }, "a token from a slower neighbour");
  }
  for (auto& [owner, tokens] : here_) {
    if (!self_.present(owner)) continue;
    tokens -= n;
    self_.spent(owner, n);
  }
}

void Tokens::grant(Iter n, Iter k) {
  if (max_ig_ == 0) return;
  for (int user : self_.graph().in(self_.rank)) self_.send(user, kToken, k, {}, {n});
}

std::vector<int> Tokens::not_past(Iter k) {
  collect();
  std::vector<int> ranks;
  for (const auto& [owner, tokens] : here_) {
    if (self_.iteration() + tokens - max_ig_ <= k) ranks.push_back(owner);
  }
  return ranks;
}

Iter Tokens::behind() {
  collect();
  std::optional<Iter> least;
  for (const auto& [owner, tokens] : here_) {
    if (self_.present(owner)) least = std::min(tokens, least.value_or(tokens));
  }
  return least.value_or(max_ig_) - max_ig_;
}

}  // namespace hopbench::hop
