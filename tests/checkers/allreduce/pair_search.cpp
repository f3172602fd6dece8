// LB-BSP's search, played along: once a window is over, a step of samples moves from the straggler, who took longest in
// it, to the leader, who took least of those with room. When the two have changed places since the last move, or, with
// halve_on_rise, the longest mean time rose, the step halves and windows grow. Of equal times the lowest rank counts.
// Steps and bounds are multiples: the first step is rounded up, all else down.
// Once all times of a worker in a stretch of the first window's length are above 1 + reopen of the least longest mean
// time, the search begins anew. In the first stretch after a move the leader is left out; later its time counts that it
// had then, if that is longer.
//
// A worker computes from when it is told its batch (of iteration 0: from when it enters it) to its gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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
        multiple_(std::max<std::int64_t>(1, run.integer("multiple"))),
        most_(std::int64_t(run.real("memory_limit") * run.batch) / multiple_ * multiple_),
        step_(in_multiples(std::max<std::int64_t>(1, std::llround(run.real("step") * run.batch)) + multiple_ - 1)),
        first_window_(window_),
        first_step_(step_),
        growth_(run.real("window_growth")),
        reopen_(run.real("reopen")),
        on_rise_(run.flag("halve_on_rise")),
        due_(workers_, run.batch),
        sums_(workers_, 0.0),
        least_(workers_, kNever),
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
      least_[worker] = std::min(least_[worker], computed.seconds);
    }
    ++seen_;
    ++stretch_;
    if (event.iter + 1 >= warmup_) decide();
    open_.erase(event.iter);
  }

  std::int64_t in_multiples(std::int64_t samples) const { return samples / multiple_ * multiple_; }

  void decide() {
    if (reopen_ > 0 && stretch_ >= first_window_) {
      if (became_slower()) {
        step_ = first_step_;
        window_ = first_window_;
        leader_ = straggler_ = kNobody;
        longest_ = shortest_ = kNever;
        forget();
      }
      stretch_ = 0;
      std::fill(least_.begin(), least_.end(), kNever);
    }
    if (seen_ >= window_) move();
  }

  bool became_slower() {
    bool slower = false;
    for (std::size_t w = 0; w < workers_; ++w) {
      const bool first_after_a_move = w == leader_ && !led_;
      const double usual = w == leader_ && led_ ? std::max(shortest_, *led_) : shortest_;
      if (first_after_a_move) led_ = least_[w];
      slower = slower || (!first_after_a_move && least_[w] > (1 + reopen_) * usual);
    }
    return slower;
  }

  void forget() {
    seen_ = stretch_ = 0;
    led_.reset();
    std::fill(sums_.begin(), sums_.end(), 0.0);
    std::fill(least_.begin(), least_.end(), kNever);
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
    if (too_far || (on_rise_ && longest > longest_)) {
      step_ = std::max(multiple_, in_multiples(step_ / 2));
      window_ = std::max(window_, Iter(double(window_) * growth_));
    }
    if (moves) {
      const std::int64_t moved = std::min({step_, most_ - due_[leader], due_[straggler] - multiple_});
      due_[leader] += moved;
      due_[straggler] -= moved;
      leader_ = leader;
      straggler_ = straggler;
    }
    longest_ = longest;
    shortest_ = std::min(shortest_, longest);
    forget();
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  std::size_t workers_;
  Iter warmup_, window_;
  std::int64_t multiple_, most_, step_;  // in samples; the last two are multiples
  Iter first_window_;
  std::int64_t first_step_;
  double growth_, reopen_;
  bool on_rise_;
  std::vector<std::int64_t> due_;     // batches
  std::vector<double> sums_, least_;  // of each worker's times: in this window, in this stretch
  std::vector<Time> begun_;
  Iter seen_ = 0, stretch_ = 0;
  std::size_t leader_ = kNobody, straggler_ = kNobody;  // of the last move
  double longest_ = kNever, shortest_ = kNever;         // mean times of stragglers: the last, the least
  std::optional<double> led_;                           // the leader's least time in the first stretch after its move
  std::map<Iter, std::map<std::size_t, Computed>> open_;
};

}  // namespace

CheckerPtr pair_search(const CheckedRun& run) { return std::make_unique<PairSearch>(run); }

}  // namespace hopbench::checkers
