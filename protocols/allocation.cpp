#include "protocols/allocation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/base/error.h"

namespace hopbench {
namespace {

double within(double part, const BatchBounds& bounds) {
  return std::clamp(part, double(bounds.low), double(bounds.high));
}

/// The parts before rounding. Of the parts that are out of bounds those on the side that weighs more are held at theirs
/// (the others may come back when the rest is shared anew), until none is left.
std::vector<double> unrounded(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds) {
  std::vector<double> parts(shares.size());
  std::vector<char> held(shares.size(), 0);
  for (bool again = true; again;) {
    double rest = double(total), sum = 0, excess = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) held[i] ? rest -= parts[i] : sum += shares[i];
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (held[i]) continue;
      parts[i] = rest * shares[i] / sum;
      excess += within(parts[i], bounds[i]) - parts[i];
    }
    again = false;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double kept = within(parts[i], bounds[i]);
      if (held[i] || !((kept > parts[i] && excess >= 0) || (kept < parts[i] && excess <= 0))) continue;
      parts[i] = kept;
      held[i] = 1;
      again = true;
    }
  }
  return parts;
}

}  // namespace

std::vector<int> proportional(std::int64_t total, std::span<const double> shares, std::span<const BatchBounds> bounds) {
  HB_ASSERT(!shares.empty() && shares.size() == bounds.size());
  const std::vector<double> parts = unrounded(total, shares, bounds);
  std::vector<int> batches(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) batches[i] = static_cast<int>(std::floor(parts[i]));
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a] - batches[a] > parts[b] - batches[b]; });

  std::int64_t left = total - std::accumulate(batches.begin(), batches.end(), std::int64_t{0});
  while (left > 0) {
    const std::int64_t before = left;
    for (const std::size_t i : order) {
      if (left == 0 || batches[i] >= bounds[i].high) continue;
      ++batches[i];
      --left;
    }
    HB_ASSERT_MSG(left < before, "the bounds leave no room for the global batch");
  }
  HB_ASSERT_MSG(left == 0, "the bounds ask for more than the global batch");
  return batches;
}

PairSearch::PairSearch(std::vector<int> batches, Options options)
    : options_(options),
      step_(options.step),
      window_(options.window),
      batches_(std::move(batches)),
      sums_(batches_.size(), 0.0) {}

void PairSearch::observe(std::span<const double> seconds) {
  HB_ASSERT(seconds.size() == sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += seconds[i];
  ++seen_;
}

const std::vector<int>& PairSearch::batches() {
  if (seen_ >= window_) move();
  return batches_;
}

/// The last leader took over samples, so if it is the straggler now, that step was too far: no reason to begin anew.
bool PairSearch::begins_anew(int straggler, double slowest) const {
  return options_.reopen > 0 && straggler != leader_ && slowest > (1 + options_.reopen) * best_;
}

void PairSearch::move() {
  const auto of = [](int worker) { return static_cast<std::size_t>(worker); };
  int leader = -1, straggler = 0;
  for (int i = 0; i < static_cast<int>(sums_.size()); ++i) {
    if (sums_[of(i)] > sums_[of(straggler)]) straggler = i;
    const bool room = batches_[of(i)] < options_.bounds.high;
    if (room && (leader < 0 || sums_[of(i)] < sums_[of(leader)])) leader = i;
  }
  const double slowest = sums_[of(straggler)] / double(seen_);
  const bool ahead = leader >= 0 && sums_[of(leader)] < sums_[of(straggler)];
  const bool reversed = ahead && leader == straggler_ && straggler == leader_;
  if (begins_anew(straggler, slowest)) {
    step_ = options_.step;
    window_ = options_.window;
    best_ = slowest;
  } else if (reversed || (options_.halve_on_rise && slowest > slowest_)) {
    step_ = std::max(1, step_ / 2);
    window_ = std::max(window_, static_cast<Iter>(double(window_) * options_.window_growth));
  }
  if (ahead) {
    const int room = options_.bounds.high - batches_[of(leader)];
    const int moved = std::min({step_, room, batches_[of(straggler)] - options_.bounds.low});
    batches_[of(leader)] += moved;
    batches_[of(straggler)] -= moved;
    leader_ = leader;
    straggler_ = straggler;
  }
  slowest_ = slowest;
  best_ = std::min(best_, slowest);
  seen_ = 0;
  std::fill(sums_.begin(), sums_.end(), 0.0);
}

}  // namespace hopbench
