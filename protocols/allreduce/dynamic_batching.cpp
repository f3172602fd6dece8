// Dynamic batching: a proportional controller of the workers' batches.
// Tyagi, Sharma: "Taming Resource Heterogeneity in Distributed ML Training with Dynamic Batching", ACSOS 2020.
//
// Rules enforced here, at the barriers of BSP:
//   - a worker's error is its time minus the mean of all, tau_k = t_k - t; its batch is corrected by -b_k / t_k tau_k,
//     that is b_k <- b_k t / t_k, then all are rescaled to the constant sum (the printed rule alone lets it drift)
//   - unless all corrections are within the dead band. t_k: moving average of the times since the last change
//   - a batch stays within its bounds; the upper one falls to the old batch where growing it made a worker slower
// The mean weighs each gradient by lambda_k = b_k / sum of b (protocols/allreduce/balanced.h).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "protocols/allreduce/balanced.h"

namespace hopbench::allreduce::dynamic_batching {

BatchBounds bounds_of(int batch, const KnobValues& knobs) {
  return bounds_around(batch, knobs.real("min_batch"), knobs.real("max_batch"), knobs);
}

class Controller final : public BatchRule {
 public:
  Controller(Node& self, const KnobValues& knobs)
      : dead_band_(knobs.real("dead_band")),
        weight_(knobs.real("ewma_weight")),
        total_(std::int64_t{self.batch()} * self.worker_count()),
        batches_(self.workers().size(), self.batch()),
        times_(batches_.size(), 0.0),
        bounds_(batches_.size(), bounds_of(self.batch(), knobs)) {}

  void observe(std::span<const Timing> timings) override {
    for (std::size_t i = 0; i < timings.size(); ++i) {
      const double seconds = timings[i].seconds;
      times_[i] = times_[i] == 0 ? seconds : times_[i] + weight_ * (seconds - times_[i]);
    }
  }

  std::vector<int> batches() override {
    lower_bounds_of_those_slowed();
    const double mean = std::accumulate(times_.begin(), times_.end(), 0.0) / double(times_.size());
    std::vector<double> corrected;
    double largest = 0;  // correction, as a share of the batch
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      corrected.push_back(batches_[i] * mean / times_[i]);
      largest = std::max(largest, std::abs(mean / times_[i] - 1));
    }
    if (largest <= dead_band_) return batches_;
    std::vector<int> next = proportional(total_, corrected, bounds_);
    if (next == batches_) return batches_;
    before_.clear();
    for (std::size_t i = 0; i < batches_.size(); ++i) before_.push_back({batches_[i], batches_[i] / times_[i]});
    std::fill(times_.begin(), times_.end(), 0.0);
    batches_ = std::move(next);
    return batches_;
  }

 private:
  struct Before {  // the last change
    int batch;
    double throughput;
  };

  /// Only as far as the bounds leave room for the sum.
  void lower_bounds_of_those_slowed() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const bool slower = batches_[i] / times_[i] < (1 - dead_band_) * before_[i].throughput;
      if (batches_[i] <= before_[i].batch || !slower) continue;
      const int high = std::exchange(bounds_[i].high, std::min(bounds_[i].high, before_[i].batch));
      std::int64_t room = 0;
      for (const BatchBounds& bounds : bounds_) room += bounds.high;
      if (room < total_) bounds_[i].high = high;
    }
  }

  double dead_band_, weight_;
  std::int64_t total_;
  std::vector<int> batches_;
  std::vector<double> times_;  // since the last change; 0: none yet
  std::vector<BatchBounds> bounds_;
  std::vector<Before> before_;  // empty: nothing has changed yet
};

void dynamic_batching(Node& self, const KnobValues& knobs) {
  balanced_bsp(self, knobs,
               [](Node& manager, const KnobValues& k) { return std::make_unique<Controller>(manager, k); });
}

std::string note(const Setting&) {
  return "an upper bound that one slow iteration has lowered never rises, as in the paper: where slowness comes and "
         "goes, batches soon stay as they are, as in BSP";
}

const Protocol& dynamic_batching_protocol() {
  static const Protocol protocol = with_balanced_batches(
      {.name = "dynamic_batching",
       .summary = "BSP whose batches a proportional controller adjusts until all workers take the same time",
       .paper =
           "Tyagi, Sharma: Taming Resource Heterogeneity in Distributed ML Training with Dynamic Batching, ACSOS 2020",
       .family = Family::kAllReduce,
       .knobs = {knob("dead_band", 0.05, 0, 1, "no change while no batch would change by more than this share",
                      "paper"),
                 knob("ewma_weight", 0.2, 0.001, 1, "of the newest time in the moving average", "ours"),
                 knob("min_batch", 0.0, 0, 1, "b_min, in first batches; one sample at least", "paper"),
                 knob("max_batch", 1000.0, 1, 1000, "b_max, in first batches", "paper")},
       .body = dynamic_batching,
       .note = note,
       .batches = [](const Setting& s) { return balanced_batches(s, bounds_of(s.batch, s.knobs)); },
       .source = Source::kFullText,
       .reading = "dynamic_batching/rescaled"});
  return protocol;
}

}  // namespace hopbench::allreduce::dynamic_batching
