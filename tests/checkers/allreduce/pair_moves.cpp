// LB-BSP's search: batches change at most once a window, and then samples move from one worker to one other, no more
// than the first step.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PairMoves : public Checker {
 public:
  explicit PairMoves(const CheckedRun& run)
      : Checker("pair_moves"),
        workers_(std::size_t(run.workers)),
        window_(run.integer("window")),
        step_(std::get<double>(run.knobs.at("step"))),
        multiple_(std::max<std::int64_t>(1, run.integer("multiple"))) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kGradient) return;
    std::map<int, std::int64_t>& batches = open_[event.iter];
    batches[event.rank] = event.count;
    if (batches.size() < workers_) return;
    look();
    if (!last_.empty()) compare(event, batches);
    last_ = batches;
    open_.erase(event.iter);
  }

 private:
  void compare(const Event& event, const std::map<int, std::int64_t>& batches) {
    std::vector<std::int64_t> changes;
    for (const auto& [rank, batch] : batches) {
      if (batch != last_[rank]) changes.push_back(batch - last_[rank]);
    }
    if (changes.empty()) return;
    if (first_step_ == 0) {
      first_step_ = std::max<std::int64_t>(1, std::llround(step_ * double(last_.begin()->second)));
      first_step_ = (first_step_ + multiple_ - 1) / multiple_ * multiple_;
    }
    const std::string where = " at iteration " + std::to_string(event.iter);
    if (changes.size() != 2 || changes[0] + changes[1] != 0 || std::abs(changes[0]) > first_step_)
      fail(event.time, event.rank, "more moved than a step between two workers" + where);
    if (event.iter - changed_ < window_) fail(event.time, event.rank, "batches changed within a window," + where);
    changed_ = event.iter;
  }

  std::size_t workers_;
  std::int64_t window_;
  double step_;
  std::int64_t multiple_;
  std::int64_t first_step_ = 0;  // in samples; known once the first batches are
  Iter changed_ = 0;
  std::map<int, std::int64_t> last_;
  std::map<Iter, std::map<int, std::int64_t>> open_;
};

}  // namespace

CheckerPtr pair_moves(const CheckedRun& run) { return std::make_unique<PairMoves>(run); }

}  // namespace hopbench::checkers
