// Batches that differ: in every iteration each worker computes one gradient, and their samples sum to what they sum to
// in the first and are multiples of the knob; all are equal until the warm-up is over; each is within its bounds, given
// as multiples of that.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

double real_or(const CheckedRun& run, const std::string& knob, double fallback) {
  const auto found = run.knobs.find(knob);
  return found == run.knobs.end() ? fallback : std::get<double>(found->second);
}

class BatchSum : public Checker {
 public:
  explicit BatchSum(const CheckedRun& run)
      : Checker("batch_sum"),
        workers_(std::size_t(run.workers)),
        warmup_(std::max<Iter>(1, run.integer("warmup_steps"))),
        multiple_(std::max<std::int64_t>(1, run.integer("multiple"))),
        low_(real_or(run, "min_batch", 0)),
        high_(std::min(real_or(run, "max_batch", 1e9), real_or(run, "memory_limit", 1e9))) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kGradient) return;
    std::map<int, std::int64_t>& batches = open_[event.iter];
    if (!batches.emplace(event.rank, event.count).second)
      fail(event.time, event.rank, "computed two gradients in iteration " + std::to_string(event.iter));
    if (event.count % multiple_ != 0)
      fail(event.time, event.rank, "computed on " + std::to_string(event.count) + " samples, not a multiple");
    if (event.iter >= warmup_ && first_ > 0) bounds(event);
    if (batches.size() < workers_) return;
    look();
    if (event.iter == 0) first_ = batches.begin()->second;
    whole(event, batches);
    open_.erase(event.iter);
  }

  void finish() override {
    for (const auto& [k, batches] : open_)
      fail(Time{}, -1, "iteration " + std::to_string(k) + " has " + std::to_string(batches.size()) + " gradients only");
  }

 private:
  void bounds(const Event& event) {
    const double b = double(event.count), least = std::max(1.0, low_ * double(first_));
    if (b < least || b > high_ * double(first_))
      fail(event.time, event.rank, "computed on " + std::to_string(event.count) + " samples, out of its bounds");
  }

  void whole(const Event& event, const std::map<int, std::int64_t>& batches) {
    std::int64_t sum = 0;
    bool equal = true;
    for (const auto& [rank, batch] : batches) {
      sum += batch;
      equal = equal && batch == first_;
    }
    const std::int64_t due = first_ * std::int64_t(workers_);
    const std::string where = " in iteration " + std::to_string(event.iter);
    if (sum != due)
      fail(event.time, event.rank,
           "all computed on " + std::to_string(sum) + " samples" + where + " instead of " + std::to_string(due));
    if (event.iter < warmup_ && !equal) fail(event.time, event.rank, "batches differ" + where + ", in the warm-up");
  }

  std::size_t workers_;
  Iter warmup_;
  std::int64_t multiple_;
  double low_, high_;
  std::int64_t first_ = 0;  // the batch that all begin with
  std::map<Iter, std::map<int, std::int64_t>> open_;
};

}  // namespace

CheckerPtr batch_sum(const CheckedRun& run) { return std::make_unique<BatchSum>(run); }

}  // namespace hopbench::checkers
