// A model that momentum SGD moves by what it is sent: a server of HALoS.
#pragma once

#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::outer {

/// m <- beta m + change, model <- model + m. Running statistics move without momentum.
class MovingModel {
 public:
  MovingModel(Node& self, double beta)
      : self_(self),
        beta_(static_cast<float>(beta)),
        model_(self.initial()),
        momentum_(model_.size(), model_.space()) {}

  void move(const Payload& change) {
    self_.operate(bytes_of(6 * model_.size()), [&] {
      momentum_.scale(beta_);
      momentum_.add(change);
      const std::size_t trained = self_.trainable();
      if (trained < change.size()) momentum_.assign(trained, change.slice(trained, change.size() - trained));
      model_.add(share(momentum_));
    });
  }

  /// Continues with 1 - alpha times itself plus alpha times another. Returns how far that moved it.
  Vec mix(const Payload& other, double alpha) {
    return self_.computed(bytes_of(6 * model_.size()), [&] {
      Vec by = combined({{-alpha, share(model_)}, {alpha, other}});
      model_.add(share(by));
      return by;
    });
  }

  const Vec& model() const { return model_; }

 private:
  Node& self_;
  const float beta_;
  Vec model_, momentum_;
};

}  // namespace hopbench::outer
