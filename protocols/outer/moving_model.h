// A model that momentum SGD moves by what it is sent: a server of HALoS.
#pragma once

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

  void move(const Payload& change);
  /// Continues with 1 - alpha times itself plus alpha times another. Returns how far that moved it.
  Vec mix(const Payload& other, double alpha);
  const Vec& model() const { return model_; }

 private:
  Node& self_;
  const float beta_;
  Vec model_, momentum_;
};

/// Returns how far `now` is from `before`, times a factor.
Vec moved(Node& self, const Vec& now, const Vec& before, double factor);

}  // namespace hopbench::outer
