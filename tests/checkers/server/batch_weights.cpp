// Batches that differ: a server's mean of iteration k has every worker's gradient of k, each with the share that its
// samples have in all of them.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class BatchWeights : public Checker {
 public:
  explicit BatchWeights(const CheckedRun& run) : Checker("batch_weights"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kGradient) samples_[event.iter][event.rank] = event.count;
    if (event.what != EventKind::kReduced || event.rank < workers_) return;
    look();
    const std::map<int, std::int64_t>& samples = samples_[event.iter];
    std::int64_t all = 0;
    for (const auto& [rank, count] : samples) all += count;
    if (event.senders.size() != std::size_t(workers_) || samples.size() != std::size_t(workers_))
      fail(event.time, event.rank, "averaged " + std::to_string(event.senders.size()) + " gradients");
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const auto found = samples.find(event.senders[i]);
      const double due = found == samples.end() ? 0 : double(found->second) / double(all);
      if (event.tags[i] == event.iter && std::abs(double(event.weights[i]) - due) < 1e-5) continue;
      fail(event.time, event.rank,
           "gave rank " + std::to_string(event.senders[i]) + " the weight " + std::to_string(event.weights[i]) +
               " instead of " + std::to_string(due));
    }
    samples_.erase(samples_.begin(), samples_.lower_bound(event.iter));
  }

 private:
  int workers_;
  std::map<Iter, std::map<int, std::int64_t>> samples_;
};

}  // namespace

CheckerPtr batch_weights(const CheckedRun& run) { return std::make_unique<BatchWeights>(run); }

}  // namespace hopbench::checkers
