#include "protocols/cut/weighted_rounds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "protocols/node/collectives.h"

namespace hopbench::cut {
namespace weighted_rounds {

/// The numbers that workers tell each other at the end of a round.
struct Told {
  double length = 0;    // |D_i|
  bool counts = false;  // neither an anomaly nor without steps
  bool last = false;    // its iterations are over
  Duration took{};      // by its steps
};

std::vector<Told> told_by_all(Node& self, Iter round, const Told& mine) {
  const std::int64_t flags = (mine.counts ? 1 : 0) + (mine.last ? 2 : 0);
  const Words words{std::bit_cast<std::int64_t>(mine.length), flags, mine.took.count()};
  std::vector<Told> all;
  for (const Message& said : exchanged(self, kClock, round, {}, words, "all workers")) {
    all.push_back({.length = std::bit_cast<double>(said.words[0]),
                   .counts = (said.words[1] & 1) != 0,
                   .last = (said.words[1] & 2) != 0,
                   .took = Duration(said.words[2])});
  }
  return all;
}

/// Returns the weight of each worker's D; all are 0 if none counts.
std::vector<double> weights_of(const std::vector<Told>& all) {
  std::vector<double> weights;
  double least = std::numeric_limits<double>::infinity(), sum = 0;
  for (const Told& each : all) least = each.counts ? std::min(least, each.length) : least;
  for (const Told& each : all) {
    weights.push_back(each.counts ? std::exp(least - each.length) : 0);
    sum += weights.back();
  }
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 0;
  return weights;
}

}  // namespace weighted_rounds

bool Anomalies::is_one(double length) {
  constexpr double kKept = 0.98;
  constexpr int kFirst = 5;  // lengths before any is an anomaly
  const double apart = length - mean_;
  const bool anomaly = seen_ >= kFirst && apart > limit_ * std::sqrt(variance_);
  mean_ = seen_ == 0 ? length : kKept * mean_ + (1 - kKept) * length;
  variance_ = seen_ == 0 ? 0 : kKept * (variance_ + (1 - kKept) * apart * apart);
  ++seen_;
  return anomaly;
}

WeightedRounds::WeightedRounds(Node& self, const KnobValues& knobs)
    : self_(self),
      step_(outer::outer_step(knobs)),
      clip_(knobs.real("clip")),
      anomalies_(knobs.real("limit")),
      outer_(self) {}

bool WeightedRounds::end(const Vec& x, Vec& x0, const Ended& how) {
  using namespace weighted_rounds;
  Told mine{.length = distance(x0, x), .counts = false, .last = how.last, .took = how.took};
  mine.counts = how.stepped && !anomalies_.is_one(mine.length);
  const std::vector<Told> all = told_by_all(self_, round_, mine);
  shortest_ = all[0].took;
  for (const Told& each : all) shortest_ = std::min(shortest_, each.took);
  move(x, x0, weights_of(all));
  ++round_;
  return std::all_of(all.begin(), all.end(), [](const Told& each) { return each.last; });
}

double WeightedRounds::distance(const Vec& a, const Vec& b) {
  return self_.computed(bytes_of(3 * a.size()), [&] {
    return std::sqrt(squared_norm(share(combined({{1, self_.trained(a)}, {-1, self_.trained(b)}}))));
  });
}

void WeightedRounds::move(const Vec& x, Vec& x0, const std::vector<double>& weights) {
  if (*std::max_element(weights.begin(), weights.end()) == 0) return;
  const double own = weights[static_cast<std::size_t>(self_.rank)] * self_.worker_count();
  // Its mean over all workers is x0 - the weighted mean of x0 - x.
  const Vec shifted = combined(self_, {{1 - own, share(x0)}, {own, share(x)}});
  Vec mean = Vec::uninitialised(x.size(), x.space());
  const RingMean ring = ring_mean(self_, self_.workers(), round_, share(shifted), mean, 0, "models of all workers");
  std::vector<float> used;
  for (const double weight : weights) used.push_back(static_cast<float>(weight * ring.weight * self_.worker_count()));
  self_.averaged(round_, self_.workers(), std::move(used));
  outer::OuterOptimizer::Step step = step_;
  const double length = distance(x0, mean);
  step.gain = length > clip_ ? clip_ / length : 1;
  outer_.step(x0, share(mean), step);
}

}  // namespace hopbench::cut
