#include "protocols/allreduce/pair_search.h"

#include <algorithm>
#include <limits>

#include "backends/base/error.h"

namespace hopbench::allreduce {

PairSearch::PairSearch(std::vector<int> batches, Options options) : options_(options), batches_(std::move(batches)) {
  begin();
}

void PairSearch::begin() {
  const int multiple = options_.bounds.multiple;
  step_ = (options_.step + multiple - 1) / multiple * multiple;
  window_ = options_.window;
  leader_ = straggler_ = -1;
  slowest_ = best_ = std::numeric_limits<double>::infinity();
  begin_window();
}

void PairSearch::begin_window() {
  seen_ = 0;
  sums_.assign(batches_.size(), 0.0);
  led_ = 0;
  begin_look();
}

void PairSearch::begin_look() {
  looked_ = 0;
  least_.assign(batches_.size(), std::numeric_limits<double>::infinity());
}

void PairSearch::observe(std::span<const double> seconds) {
  HB_ASSERT(seconds.size() == sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += seconds[i];
    least_[i] = std::min(least_[i], seconds[i]);
  }
  ++seen_;
  ++looked_;
}

const std::vector<int>& PairSearch::batches() {
  if (options_.reopen > 0 && looked_ >= options_.window) {
    if (became_slower()) {
      begin();
    } else {
      begin_look();
    }
  }
  if (seen_ >= window_) move();
  return batches_;
}

bool PairSearch::became_slower() {
  for (int i = 0; i < static_cast<int>(least_.size()); ++i) {
    const double least = least_[static_cast<std::size_t>(i)];
    const bool settles = i == leader_ && led_ == 0;
    if (settles) led_ = least;
    const double usual = i == leader_ ? std::max(best_, led_) : best_;
    if (!settles && least > (1 + options_.reopen) * usual) return true;
  }
  return false;
}

void PairSearch::move() {
  const auto of = [](int worker) { return static_cast<std::size_t>(worker); };
  const int multiple = options_.bounds.multiple;
  int leader = -1, straggler = 0;
  for (int i = 0; i < static_cast<int>(sums_.size()); ++i) {
    if (sums_[of(i)] > sums_[of(straggler)]) straggler = i;
    const bool room = batches_[of(i)] <= options_.bounds.high - multiple;
    if (room && (leader < 0 || sums_[of(i)] < sums_[of(leader)])) leader = i;
  }
  const double slowest = sums_[of(straggler)] / double(seen_);
  const bool ahead = leader >= 0 && sums_[of(leader)] < sums_[of(straggler)];
  const bool reversed = ahead && leader == straggler_ && straggler == leader_;
  if (reversed || (options_.halve_on_rise && slowest > slowest_)) {
    step_ = std::max(multiple, step_ / 2 / multiple * multiple);
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
  begin_window();
}

}  // namespace hopbench::allreduce
