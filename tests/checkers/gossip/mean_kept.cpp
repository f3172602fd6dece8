// On an undirected graph the mixing weights that all workers use in one iteration are doubly stochastic: what the
// workers give to one worker's vector sums to 1 too, so averaging keeps the mean of the models. Not so with backup
// workers or staleness, with uniform weights on an irregular graph, nor once somebody has finished early.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class MeanKept : public Checker {
 public:
  explicit MeanKept(const CheckedRun& run) : Checker("mean_kept"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kReduced || event.rank >= workers_) return;
    Round& round = rounds_[event.iter];
    round.shares.resize(std::size_t(workers_), 0.0);
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      round.shares[std::size_t(event.senders[i])] += double(event.weights[i]);
    }
    if (++round.reduced < workers_) return;
    look();
    for (int j = 0; j < workers_; ++j) {
      const double share = round.shares[std::size_t(j)];
      if (std::abs(share - 1.0) > 1e-5) {
        fail(event.time, j,
             "its vector got weights that sum to " + std::to_string(share) + " in iteration " +
                 std::to_string(event.iter));
      }
    }
    rounds_.erase(event.iter);
  }

 private:
  struct Round {
    std::vector<double> shares;
    int reduced = 0;
  };
  int workers_;
  std::map<Iter, Round> rounds_;
};

}  // namespace

CheckerPtr mean_kept(const CheckedRun& run) { return std::make_unique<MeanKept>(run); }

}  // namespace hopbench::checkers
