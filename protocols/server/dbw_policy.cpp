#include "protocols/server/dbw_policy.h"

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench::server {

double gain(const Landscape& at, double lr, int k) {
  const double bend = at.smoothness * lr * lr / 2;
  return (lr - bend) * at.slope2 - bend * at.variance / k;
}

int best_count(const Landscape& at, double lr, std::span<const double> times) {
  const int n = static_cast<int>(times.size());
  const auto time = [&](int k) { return times[static_cast<std::size_t>(k - 1)]; };
  int best = 0;
  for (int k = 1; k <= n; ++k) {
    const double gained = gain(at, lr, k);
    if (!(gained > 0)) continue;
    // gain / time, compared without dividing: a time may be 0.
    if (best == 0 || gained * time(best) >= gain(at, lr, best) * time(k)) best = k;
  }
  return best > 0 ? best : n;
}

void LandscapeEstimate::add(const UpdateSeen& update) {
  if (last_) {
    missed_ += last_->drop - (recent_.back().loss - update.loss);
    bend_ += last_->bend;
  }
  ++added_;
  recent_.push_back(update);
  if (recent_.size() > window_) recent_.pop_front();
  last_.reset();
  if (const auto v = variance()) {
    last_ = {.drop = update.lr * (update.mean_norm2 - *v / update.gradients),
             .bend = update.lr * update.lr / 2 * update.mean_norm2};
  }
}

/// Returns the unbiased variance around each update's mean, or nothing if no update has two gradients.
std::optional<double> LandscapeEstimate::variance() const {
  double scatter = 0;
  int free = 0;
  for (const UpdateSeen& update : recent_) {
    scatter += std::max(0.0, update.sum_of_norms2 - update.gradients * update.mean_norm2);
    free += update.gradients - 1;
  }
  if (free == 0) return std::nullopt;
  return scatter / free;
}

std::optional<Landscape> LandscapeEstimate::now() const {
  const auto v = variance();
  if (added_ <= window_ || !v || !(missed_ > 0) || !(bend_ > 0)) return std::nullopt;
  double slope2 = 0;
  for (const UpdateSeen& update : recent_) slope2 += update.mean_norm2 - *v / update.gradients;
  return Landscape{.slope2 = std::max(0.0, slope2 / static_cast<double>(recent_.size())),
                   .variance = *v,
                   .smoothness = missed_ / bend_};
}

void ArrivalTimes::published(Iter t, Time now, int made_of) {
  HB_ASSERT(t == static_cast<Iter>(versions_.size()));
  versions_.push_back({.out = now, .made_of = made_of});
}

void ArrivalTimes::arrived(Iter t, Time now) {
  Version& version = versions_[static_cast<std::size_t>(t)];
  std::vector<Mean>& row = seen_[version.made_of];
  const auto i = static_cast<std::size_t>(version.arrived++);
  if (row.size() <= i) row.resize(i + 1);
  row[i].sum += to_seconds(now - version.out);
  ++row[i].count;
}

std::vector<double> ArrivalTimes::expected(int made_of, int n) const {
  const auto row = seen_.find(made_of);
  if (row == seen_.end() || row->second.size() < static_cast<std::size_t>(n)) return {};
  std::vector<double> times, counts;
  for (int i = 0; i < n; ++i) {
    const Mean& mean = row->second[static_cast<std::size_t>(i)];
    times.push_back(mean.sum / static_cast<double>(mean.count));
    counts.push_back(static_cast<double>(mean.count));
  }
  return monotone(times, counts);
}

std::vector<double> monotone(std::span<const double> values, std::span<const double> weights) {
  struct Pool {
    double mean, weight;
    std::size_t size;
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Pool pool{values[i], weights[i], 1};
    while (!pools.empty() && pools.back().mean > pool.mean) {
      const Pool& last = pools.back();
      const double weight = last.weight + pool.weight;
      pool = {(last.mean * last.weight + pool.mean * pool.weight) / weight, weight, last.size + pool.size};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::vector<double> rising;
  for (const Pool& pool : pools) rising.insert(rising.end(), pool.size, pool.mean);
  return rising;
}

}  // namespace hopbench::server
