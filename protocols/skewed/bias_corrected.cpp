#include "protocols/skewed/bias_corrected.h"

#include <utility>

namespace hopbench {
namespace {

Vec corrected(Node& self, const Vec& psi, const Vec& x, const Vec& psi_before) {
  Vec sum;
  self.operate(bytes_of(4 * x.size()), [&] {
    const Payload terms[] = {share(psi), share(x), share(psi_before)};
    const float weights[] = {1.0f, 1.0f, -1.0f};
    sum = weighted_sum(terms, weights);
    const std::size_t trained = self.trainable();
    if (trained < x.size()) sum.assign(trained, psi.slice(trained, x.size() - trained));
  });
  return sum;
}

}  // namespace

void train_bias_corrected(Node& self, const Exchange& exchange) {
  Vec x = self.initial(), psi_before = x;
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    Vec psi;
    self.operate(bytes_of(2 * x.size()), [&] { psi = x; });
    optimizer.step(psi, share(g.values), k);
    self.applied(self.rank, k);
    x = mixed(self, k, exchange, corrected(self, psi, x, psi_before));
    psi_before = std::move(psi);
    self.report(k + 1, x);
  }
}

}  // namespace hopbench
