// The weights of a Reduce are positive, sum to 1, and are linear in freshness: with staleness s an update tagged t has
// weight t - (k - s) + 1 before normalising (k - 1 for k right after a jump); without it all weigh the same, or
// D-PSGD's have Metropolis's weights on an undirected graph: 1 / (1 + the larger degree) for a neighbour, the rest for
// itself. The sum goes by ascending sender: that fixes its bits.
#include <algorithm>
#include <cmath>

#include "tests/checkers/on_reduce.h"

namespace hopbench::checkers {
namespace {

class ReduceWeights : public OnReduce {
 public:
  explicit ReduceWeights(const CheckedRun& run)
      : OnReduce("reduce_weights", run),
        s_(run.integer("staleness")),
        metropolis_(run.text("weights") == "metropolis" && graph().undirected()) {}

 private:
  void reduced(const Event& event, const Worker& worker) override {
    const Iter base = worker.at - (worker.jumped ? 1 : 0) - s_;
    double total = 0;
    for (Iter tag : event.tags) total += due(tag, base);
    const double own = own_weight(event.rank);
    if (!std::is_sorted(event.senders.begin(), event.senders.end()))
      fail(event.time, event.rank, "summed in another order than by ascending sender");
    for (std::size_t i = 0; i < event.weights.size(); ++i) {
      const int sender = event.senders[i];
      const double weight = !metropolis_           ? due(event.tags[i], base) / total
                            : sender == event.rank ? own
                                                   : metropolis(event.rank, sender);
      if (!(std::abs(double(event.weights[i]) - weight) < 1e-5) || !(event.weights[i] > 0)) {
        fail(event.time, event.rank,
             "gave rank " + std::to_string(event.senders[i]) + " the weight " + std::to_string(event.weights[i]) +
                 " instead of " + std::to_string(weight));
      }
    }
  }

  double due(Iter tag, Iter base) const { return s_ > 0 ? double(tag - base + 1) : 1.0; }

  double metropolis(int a, int b) const {
    return 1.0 / double(1 + std::max(graph().in(a).size(), graph().in(b).size()));
  }
  double own_weight(int rank) const {
    double rest = 1;
    for (const int other : graph().in(rank)) rest -= metropolis(rank, other);
    return rest;
  }

  std::int64_t s_;
  bool metropolis_;
};

}  // namespace

CheckerPtr reduce_weights(const CheckedRun& run) { return std::make_unique<ReduceWeights>(run); }

}  // namespace hopbench::checkers
