// The weights of a Reduce are positive, sum to 1, and are linear in freshness: with staleness s an update tagged t has
// weight t - (k - s) + 1 before normalising (k - 1 for k right after a jump); without it all weigh the same. The sum
// goes by ascending sender: that fixes its bits.
#include <algorithm>
#include <cmath>

#include "tests/checkers/on_reduce.h"

namespace hopbench::checkers {
namespace {

class ReduceWeights : public OnReduce {
 public:
  explicit ReduceWeights(const CheckedRun& run) : OnReduce("reduce_weights", run), s_(run.integer("staleness")) {}

 private:
  void reduced(const Event& event, const Worker& worker) override {
    const Iter base = worker.at - (worker.jumped ? 1 : 0) - s_;
    double total = 0;
    for (Iter tag : event.tags) total += due(tag, base);
    if (!std::is_sorted(event.senders.begin(), event.senders.end()))
      fail(event.time, event.rank, "summed in another order than by ascending sender");
    for (std::size_t i = 0; i < event.weights.size(); ++i) {
      const double weight = due(event.tags[i], base) / total;
      if (!(std::abs(double(event.weights[i]) - weight) < 1e-5) || !(event.weights[i] > 0)) {
        fail(event.time, event.rank,
             "gave rank " + std::to_string(event.senders[i]) + " the weight " + std::to_string(event.weights[i]) +
                 " instead of " + std::to_string(weight));
      }
    }
  }

  double due(Iter tag, Iter base) const { return s_ > 0 ? double(tag - base + 1) : 1.0; }

  std::int64_t s_;
};

}  // namespace

CheckerPtr reduce_weights(const CheckedRun& run) { return std::make_unique<ReduceWeights>(run); }

}  // namespace hopbench::checkers
