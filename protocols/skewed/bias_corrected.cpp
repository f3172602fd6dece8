#include "protocols/skewed/bias_corrected.h"

#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"

namespace hopbench::skewed {
namespace bias_corrected {

/// Returns the sum of A_ij (phi_j - phi_i) over all neighbours j, and reports the average that it makes.
Vec drawn_to_neighbours(Node& self, Iter k, const gossip::Exchange& exchange, const Vec& phi) {
  const std::vector<Message> others = gossip::received(self, k, exchange);
  double all = exchange.own;
  for (const double weight : exchange.weights) all += weight;
  std::vector<Term> terms = terms_of(others);
  Vec sum(phi.size(), phi.space());
  self.operate(bytes_of(6 * phi.size() * others.size()), [&] {
    for (std::size_t i = 0; i < others.size(); ++i) {
      terms[i].weight = static_cast<float>(exchange.weights[i] / all);
      sum.axpy(terms[i].weight, share(combined({{1, others[i].body}, {-1, share(phi)}})));
    }
  });
  terms.push_back({.sender = self.rank, .tag = k, .value = {}, .weight = static_cast<float>(exchange.own / all)});
  self.summed(k, terms);
  return sum;
}

/// The correction c, of trained numbers.
class Correction {
 public:
  Correction(Node& self, const Vec& x) : self_(self), c_(self.trainable(), x.space()) {}

  /// Adds c to x.
  void add_to(Vec& x) const {
    self_.operate(bytes_of(3 * c_.size()), [&] {
      Vec trained = Vec::copy_of(self_.trained(x));
      trained.add(share(c_));
      x.assign(0, share(trained));
    });
  }
  void add(const Vec& more) {
    self_.operate(bytes_of(3 * c_.size()), [&] { c_.add(self_.trained(more)); });
  }

 private:
  Node& self_;
  Vec c_;
};

/// Adds to the running statistics of x what neighbours draw them by.
void add_statistics(const Node& self, Vec& x, const Vec& drawn) {
  const std::size_t trained = self.trainable(), rest = x.size() - trained;
  if (rest == 0) return;
  Vec statistics = Vec::copy_of(x.slice(trained, rest));
  statistics.add(drawn.slice(trained, rest));
  x.assign(trained, share(statistics));
}

}  // namespace bias_corrected

void train_bias_corrected(Node& self, const gossip::Exchange& exchange) {
  using namespace bias_corrected;
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  Correction c(self, x);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    groups::local_step(self, x, optimizer, k);  // x is psi from here on
    Vec phi;
    self.operate(bytes_of(2 * x.size()), [&] { phi = x; });
    c.add_to(phi);
    gossip::send_to(self, k, exchange, phi);
    if (!exchange.from.empty()) {
      const Vec drawn = drawn_to_neighbours(self, k, exchange, phi);
      c.add(drawn);
      c.add_to(x);
      add_statistics(self, x, drawn);
    }
    self.report(k + 1, x);
  }
}

}  // namespace hopbench::skewed
