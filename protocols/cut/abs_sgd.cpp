// ABS-SGD: while the gradients of one iteration are averaged, each worker computes on, as much as it can, for the next.
// Zhou, Ye, et al.: "ABS-SGD: A Delayed Synchronous Stochastic Gradient Descent Algorithm with Adaptive Batch Size for
// Heterogeneous GPU Clusters", arXiv 2308.15164.
//
// Rules enforced here:
//   - gradients are delayed by one: the step of iteration k is with the mean of all workers' gradients of iteration
//     k - 1, weighed by their samples;
//   - a worker computes micro-batches of iteration k until that mean is here, one at the least, and no more than a
//     batch. So a fast worker computes more than a slow one, and nobody waits who has samples left in its batch.
#include "protocols/cut/sample_mean.h"
#include "protocols/groups/background_mean.h"
#include "protocols/groups/groups.h"

namespace hopbench::cut::abs_sgd {

constexpr const char* kWhy = "the mean of the gradients before";

/// Takes in the mean that was begun last.
void step(Node& self, Vec& x, Optimizer& optimizer, BackgroundMean& mean, Iter k) {
  mean.wait(kWhy);
  const BackgroundMean::Mean& last = mean.last();
  averaged_by_counts(self, last.group, last.round, last.ring);
  Vec g = last.values;
  const std::int64_t samples = last.ring.count;
  divide_by_samples(self, g, samples);
  optimizer.step(x, share(g), k, self.per_sample(samples));
}

void abs_sgd(Node& self, const KnobValues& knobs) {
  const int parts = knobs.integer("parts");
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  BackgroundMean mean(self);
  Iter k = 0;
  for (; self.running(k); ++k) {
    self.enter(k);
    CutGradient g = gradient_in_parts(self, x, k, parts, [&] {
      self.poll();
      return k == 0 || mean.under_way();
    });
    const std::int64_t samples = g.samples;
    const Payload weighed = weighed_by_samples(self, std::move(g));
    if (k > 0) step(self, x, optimizer, mean, k - 1);
    mean.begin(weighed, samples);
    self.report(k + 1, x);
  }
  self.retire();
  if (k == 0) return;
  step(self, x, optimizer, mean, k - 1);
  self.report(k, x);
}

const Protocol& abs_sgd_protocol() {
  static const Protocol protocol{
      .name = "abs_sgd",
      .summary = "all-reduce, delayed by one: workers compute on, as much as they can, while it is under way",
      .paper =
          "Zhou et al.: ABS-SGD: A Delayed Synchronous Stochastic Gradient Descent Algorithm with Adaptive Batch Size "
          "for Heterogeneous GPU Clusters, arXiv 2308.15164",
      .family = Family::kCut,
      .knobs = {parts_knob(8)},
      .body = abs_sgd,
      .links = groups::ring_links,
      .follows_times = always<true>,
      .changes = always<Changes::kWork>,
      .gap_bound = [](const Setting&) -> std::optional<std::int64_t> { return 2; },
      .source = Source::kMemory,
      .reading = "cut/A1-A3",
      .experimental = always<true>};  // only the abstract is known
  return protocol;
}

}  // namespace hopbench::cut::abs_sgd
