// No iteration goes without its average: after k iterations a worker has averaged as often as `period` fits into them,
// less those whose average is still to come (`late`).
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class RoundsDue : public Checker {
 public:
  RoundsDue(const CheckedRun& run, Iter period, Iter late)
      : Checker("rounds_due"), averaged_(std::size_t(run.workers), 0), period_(period), late_(late) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= averaged_.size()) return;
    if (event.what == EventKind::kReduced) ++averaged_[std::size_t(event.rank)];
    if (event.what == EventKind::kEnter) check(event, event.iter);
    if (event.what == EventKind::kFinished) check(event, event.iter + 1);
  }

 private:
  void check(const Event& event, Iter iterations) {
    look();
    const Iter due = std::max<Iter>(0, iterations - late_) / period_;
    if (averaged_[std::size_t(event.rank)] == due) return;
    fail(event.time, event.rank,
         "did " + std::to_string(iterations) + " iterations and " + std::to_string(averaged_[std::size_t(event.rank)]) +
             " averages, due were " + std::to_string(due));
  }

  std::vector<Iter> averaged_;
  Iter period_, late_;
};

}  // namespace

CheckerPtr rounds_due(const CheckedRun& run, Iter period, Iter late) {
  return std::make_unique<RoundsDue>(run, period, late);
}

}  // namespace hopbench::checkers
