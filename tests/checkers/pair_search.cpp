// LB-BSP's search, played along: once a window is over, a step of samples moves from the straggler, who took longest in
// it, to the leader, who took least of those with room. When the two have changed places since the last move, or, with
// halve_on_rise, the longest mean time rose, the step halves and windows grow. When the longest mean time is above
// 1 + reopen of its least, and not of the worker that got samples last, step and window are those of the start again.
// Of equal times the lowest rank counts.
//
// A worker computes from when it is told its batch (of iteration 0: from when it enters it) to its gradient.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PairSearch : public Checker {
 public:
  explicit PairSearch(const CheckedRun& run)
      : Checker("pair_search"),
        workers_(std::size_t(run.workers)),
        warmup_(run.integer("warmup_steps")),
        window_(run.integer("window")),
        most_(std::int64_t(run.real("memory_limit") * run.batch)),
        step_(std::max<std::int64_t>(1, std::llround(run.real("step") * run.batch))),
        first_window_(window_),
        first_step_(step_),
        growth_(run.real("window_growth")),
        reopen_(run.real("reopen")),
        on_rise_(run.flag("halve_on_rise")),
        due_(workers_, run.batch),
        sums_(workers_, 0.0),
        begun_(workers_) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= workers_) return;
    const auto worker = std::size_t(event.rank);
    const bool told = event.what == EventKind::kTake && event.kind == kReplyKind;
    if (told || (event.what == EventKind::kEnter && event.iter == 0)) begun_[worker] = event.time;
    if (event.what != EventKind::kGradient) return;
    auto& all = open_[event.iter];
    all[worker] = {event.count, to_seconds(std::max(Duration{1}, event.time - begun_[worker]))};
    if (all.size() == workers_) whole(event, all);
  }

 private:
  struct Computed {
    std::int64_t batch;
    double seconds;
  };

  void whole(const Event& event, const std::map<std::size_t, Computed>& all) {
    for (const auto& [worker, computed] : all) {
      if (computed.batch != due_[worker]) {
        fail(event.time, int(worker),
             "computes " + std::to_string(computed.batch) + " samples of iteration " + std::to_string(event.iter) +
                 " instead of " + std::to_string(due_[worker]));
      }
      due_[worker] = computed.batch;
      sums_[worker] += computed.seconds;
    }
    ++seen_;
    if (event.iter + 1 >= warmup_ && seen_ >= window_) move();
    open_.erase(event.iter);
  }

  void move() {
    look();
    std::size_t leader = workers_;
    const std::size_t straggler = std::size_t(std::max_element(sums_.begin(), sums_.end()) - sums_.begin());
    for (std::size_t w = 0; w < workers_; ++w) {
      if (due_[w] < most_ && (leader == workers_ || sums_[w] < sums_[leader])) leader = w;
    }
    const double longest = sums_[straggler] / double(seen_);
    const bool moves = leader < workers_ && sums_[leader] < sums_[straggler];
    const bool too_far = moves && leader == straggler_ && straggler == leader_;
    if (reopen_ > 0 && straggler != leader_ && longest > (1 + reopen_) * least_) {
      step_ = first_step_;
      window_ = first_window_;
      least_ = longest;
    } else if (too_far || (on_rise_ && longest > longest_)) {
      step_ = std::max<std::int64_t>(1, step_ / 2);
      window_ = std::max(window_, Iter(double(window_) * growth_));
    }
    if (moves) {
      const std::int64_t moved = std::min({step_, most_ - due_[leader], due_[straggler] - 1});
      due_[leader] += moved;
      due_[straggler] -= moved;
      leader_ = leader;
      straggler_ = straggler;
    }
    longest_ = longest;
    least_ = std::min(least_, longest);
    seen_ = 0;
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }

  std::size_t workers_;
  Iter warmup_, window_;
  std::int64_t most_, step_;  // in samples
  Iter first_window_;
  std::int64_t first_step_;
  double growth_, reopen_;
  bool on_rise_;
  std::vector<std::int64_t> due_;  // batches
  std::vector<double> sums_;       // of each worker's times in this window
  std::vector<Time> begun_;
  Iter seen_ = 0;                                                                       // of this window
  std::size_t leader_ = std::numeric_limits<std::size_t>::max(), straggler_ = leader_;  // of the last move
  double longest_ = std::numeric_limits<double>::infinity(), least_ = longest_;  // mean times: the last, the least
  std::map<Iter, std::map<std::size_t, Computed>> open_;
};

}  // namespace

CheckerPtr pair_search(const CheckedRun& run) { return std::make_unique<PairSearch>(run); }

}  // namespace hopbench::checkers
