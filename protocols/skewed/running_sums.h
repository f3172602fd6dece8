// The vectors that an R-FAST worker keeps: those that arrived last, and its tracker (protocols/skewed/r_fast.cpp).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::skewed {

/// Returns now - before. Of two running sums that are near each other this is exact, as adding both to z would not be.
inline Vec gained(const Payload& now, const Payload& before) { return combined({{1, now}, {-1, before}}); }

/// The last vectors that arrived from the in-neighbours.
class LastReceived {
 public:
  /// x: the models at the start; `tracked`: the numbers of a running sum.
  LastReceived(Node& self, const Vec& x, std::size_t tracked) : self_(self) {
    for (const int peer : self.graph().in(self.rank)) {
      Last& from = last_[peer];
      from.v = share(x);
      from.rho = from.used = share(Vec(tracked, x.space()));
    }
  }

  /// Takes in what has arrived. Throws Error if a neighbour has died.
  void refresh() {
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

  /// Adds to z what the in-neighbours have given away since the last call.
  void add_given(Vec& z) {
    for (auto& [peer, from] : last_) {
      z.add(share(gained(from.rho, from.used)));
      from.used = from.rho;
    }
  }

  /// Returns the mean of v, of iteration k, and the neighbours' last ones.
  Vec averaged(Iter k, const Vec& v) const {
    std::vector<Term> terms = {{.sender = self_.rank, .tag = k, .value = share(v)}};
    for (const auto& [peer, from] : last_) terms.push_back({.sender = peer, .tag = from.of, .value = from.v});
    return average(self_, k, std::move(terms));
  }
  std::size_t count() const { return last_.size(); }

 private:
  struct Last {
    Payload v;
    Iter of = -1;  // iteration of v
    Payload rho, used;
  };
  Node& self_;
  std::map<int, Last> last_;
};

/// z and rho of a worker, for trained numbers.
class Tracker {
 public:
  Tracker(Node& self, std::size_t n, Space& space) : self_(self), z_(n, space), rho_(n, space), before_(n, space) {}

  /// Tracks the gradient g and what has arrived. Then gives away what the out-neighbours get.
  void take_in(const Payload& g, LastReceived& received) {
    const auto out = static_cast<float>(self_.graph().out(self_.rank).size());
    self_.operate(bytes_of((8 + 4 * received.count()) * z_.size()), [&] {
      z_.add(g);
      z_.axpy(-1.0f, share(before_));
      before_ = Vec::copy_of(g);
      received.add_given(z_);
      Vec given = rho_;
      given.axpy(1 / (out + 1), share(z_));
      // z loses what rho has really gained, rounding included, so the sum of both stays that of the gradients.
      z_.axpy(-out, share(gained(share(given), share(rho_))));
      rho_ = std::move(given);
    });
  }
  const Vec& z() const { return z_; }
  const Vec& rho() const { return rho_; }

 private:
  Node& self_;
  Vec z_, rho_, before_;  // before_: the gradient that is in them
};

}  // namespace hopbench::skewed
