#include "protocols/outer/moving_model.h"

namespace hopbench::outer {

void MovingModel::move(const Payload& change) {
  self_.operate(bytes_of(6 * model_.size()), [&] {
    momentum_.scale(beta_);
    momentum_.add(change);
    const std::size_t trained = self_.trainable();
    if (trained < change.size()) momentum_.assign(trained, change.slice(trained, change.size() - trained));
    model_.add(share(momentum_));
  });
}

Vec MovingModel::mix(const Payload& other, double alpha) {
  Vec by;
  self_.operate(bytes_of(6 * model_.size()), [&] {
    const Payload terms[] = {share(model_), other};
    const float weights[] = {static_cast<float>(-alpha), static_cast<float>(alpha)};
    by = weighted_sum(terms, weights);
    model_.add(share(by));
  });
  return by;
}

Vec moved(Node& self, const Vec& now, const Vec& before, double factor) {
  Vec sum;
  self.operate(bytes_of(3 * now.size()), [&] {
    const Payload terms[] = {share(now), share(before)};
    const float weights[] = {static_cast<float>(factor), static_cast<float>(-factor)};
    sum = weighted_sum(terms, weights);
  });
  return sum;
}

}  // namespace hopbench::outer
