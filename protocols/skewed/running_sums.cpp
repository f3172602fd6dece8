#include "protocols/skewed/running_sums.h"

#include <utility>

#include "protocols/node/collectives.h"

namespace hopbench::skewed {
namespace running_sums {
namespace {

/// Returns now - before. Of two running sums that are near each other this is exact, as adding both to z would not be.
Vec gained(const Payload& now, const Payload& before) {
  const Payload terms[] = {now, before};
  const float weights[] = {1.0f, -1.0f};
  return weighted_sum(terms, weights);
}

}  // namespace
}  // namespace running_sums

LastReceived::LastReceived(Node& self, const Vec& x, std::size_t tracked) : self_(self) {
  for (const int peer : self.graph().in(self.rank)) {
    Last& from = last_[peer];
    from.v = share(x);
    from.rho = from.used = share(Vec(tracked, x.space()));
  }
}

void LastReceived::refresh() {
  self_.poll();
  for (const auto& [peer, from] : last_) {
    if (!self_.died(peer)) continue;
    self_.give_up({&peer, 1}, "rank " + std::to_string(peer) + " died while it held a part of what is tracked");
  }
  for (auto& [peer, from] : last_) {
    if (auto v = self_.take_newest(is_from(kParams, peer))) from.v = std::move(v->body), from.of = v->iter;
    if (auto rho = self_.take_newest(is_from(kPart, peer))) from.rho = std::move(rho->body);
  }
}

void LastReceived::add_given(Vec& z) {
  for (auto& [peer, from] : last_) {
    z.add(share(running_sums::gained(from.rho, from.used)));
    from.used = from.rho;
  }
}

Vec LastReceived::averaged(Iter k, const Vec& v) {
  std::vector<Term> terms = {{.sender = self_.rank, .tag = k, .value = share(v)}};
  for (const auto& [peer, from] : last_) terms.push_back({.sender = peer, .tag = from.of, .value = from.v});
  return average(self_, k, std::move(terms));
}

void Tracker::take_in(const Payload& g, LastReceived& received) {
  const auto out = static_cast<float>(self_.graph().out(self_.rank).size());
  self_.operate(bytes_of((8 + 4 * received.count()) * z_.size()), [&] {
    z_.add(g);
    z_.axpy(-1.0f, share(before_));
    before_ = Vec::copy_of(g);
    received.add_given(z_);
    Vec given = rho_;
    given.axpy(1 / (out + 1), share(z_));
    // z loses what rho has really gained, rounding included, so the sum of both stays that of the gradients.
    z_.axpy(-out, share(running_sums::gained(share(given), share(rho_))));
    rho_ = std::move(given);
  });
}

}  // namespace hopbench::skewed
