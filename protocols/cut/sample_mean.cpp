#include "protocols/cut/sample_mean.h"

#include <utility>

#include "protocols/node/collectives.h"

namespace hopbench::cut {

Payload weighed_by_samples(Node& self, CutGradient&& g) {
  if (g.samples != self.batch()) {
    const auto factor = static_cast<float>(static_cast<double>(g.samples) / self.batch());
    self.operate(bytes_of(2 * g.values.size()), [&] { g.values.scale(factor); });
  }
  return share(g.values);
}

void divide_by_samples(Node& self, Vec& mean, std::int64_t samples) {
  const double whole = static_cast<double>(self.worker_count()) * self.batch();
  if (static_cast<double>(samples) == whole) return;
  self.operate(bytes_of(2 * mean.size()),
               [&] { mean.scale(static_cast<float>(whole / static_cast<double>(samples))); });
}

SampleMean mean_over_samples(Node& self, Iter round, CutGradient&& g, const char* why) {
  const std::int64_t mine = g.samples;
  const Payload weighed = weighed_by_samples(self, std::move(g));
  SampleMean mean{.values = Vec::uninitialised(weighed.size(), weighed.space()), .samples = 0};
  const RingMean ring = ring_mean(self, self.workers(), round, weighed, mean.values, 0, why, mine);
  mean.samples = ring.count;
  averaged_by_counts(self, self.workers(), round, ring);
  divide_by_samples(self, mean.values, mean.samples);
  return mean;
}

}  // namespace hopbench::cut
