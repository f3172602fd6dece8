// The weights of an average sum to 1.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class WeightsSum : public Checker {
 public:
  explicit WeightsSum(const CheckedRun&) : Checker("weights_sum") {}

  void on(const Event& event) override {
    if (event.what != EventKind::kReduced) return;
    look();
    double sum = 0;
    for (const float weight : event.weights) sum += weight;
    if (std::abs(sum - 1) > 1e-5)
      fail(event.time, event.rank, "averaged with weights that sum to " + std::to_string(sum));
  }
};

}  // namespace

CheckerPtr weights_sum(const CheckedRun& run) { return std::make_unique<WeightsSum>(run); }

}  // namespace hopbench::checkers
