// PowerSGD: all-reduce of two thin matrices in place of each matrix of the gradient, found by a step of a power
// iteration; what they leave out is added to the next gradient. Vogels, Karimireddy, Jaggi: "PowerSGD: Practical
// Low-Rank Gradient Compression for Distributed Optimization", NeurIPS 2019.
//
// Rules enforced here, for a matrix M of a worker's gradient plus its error:
//   - P = M Q, with the Q of the iteration before; P becomes the mean of all workers', with orthonormal columns;
//   - Q = M^T P, and Q becomes the mean of all workers'. All step with P Q^T (protocols/compressed/low_rank.h);
//   - a worker's error becomes M - P Q^T. So nothing is lost for good: the sum of all steps and the errors' mean is the
//     sum of all mean gradients;
//   - biases, and what else is no matrix, are averaged as they are.
#include "protocols/compressed/low_rank.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"

namespace hopbench::compressed::powersgd {

struct Mean {
  Vec values;
  double weight = 1;
};

Mean mean_of(Node& self, Iter k, const Vec& mine, const char* why) {
  Mean mean{.values = Vec::uninitialised(mine.size(), mine.space())};
  if (mine.size() > 0) mean.weight = ring_mean(self, self.workers(), k, share(mine), mean.values, 0, why).weight;
  return mean;
}

void powersgd(Node& self, const KnobValues& knobs) {
  Vec x = self.initial(), error(x.size(), x.space());
  Optimizer optimizer = self.optimizer(x.size());
  LowRank factors(self, knobs.integer("rank"), x);
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    Vec m = self.gradient(x, k).values;
    self.operate(bytes_of(3 * m.size()), [&] { m.add(share(error)); });
    const Mean left = mean_of(self, k, factors.left(m), "left factors of all workers");
    const Mean right = mean_of(self, k, factors.right(m, left.values), "right factors of all workers");
    self.averaged(k, self.workers(), left.weight);
    const Vec step = factors.product(right.values);
    self.operate(bytes_of(3 * m.size()), [&] {
      m.axpy(-1.0f, share(step));
      factors.clear_whole(m);
      error = std::move(m);
    });
    optimizer.step(x, share(step), k);
    for (const int worker : self.workers()) self.applied(worker, k);
    self.report(k + 1, x);
  }
}

const Protocol& powersgd_protocol() {
  static const Protocol protocol{
      .name = "powersgd",
      .summary = "all-reduce of low-rank factors of the gradient, with error feedback",
      .paper =
          "Vogels, Karimireddy, Jaggi: PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization, "
          "NeurIPS 2019",
      .family = Family::kCompressed,
      .knobs = {knob("rank", 2, 1, 1024, "r: columns of the factors", "memory H")},
      .body = powersgd,
      .links = groups::ring_links,
      .gap_bound = one_ahead,
      .source = Source::kMemory,
      .reading = "compressed/P1-P5"};
  return protocol;
}

}  // namespace hopbench::compressed::powersgd
