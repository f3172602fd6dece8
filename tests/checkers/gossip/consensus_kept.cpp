// CHOCO-SGD: in each iteration a worker counts its own model once, and what all workers together add of one worker's
// public model is taken off again: the weights of each public model sum to 0. So averaging keeps the mean of the
// models.
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ConsensusKept : public Checker {
 public:
  explicit ConsensusKept(const CheckedRun& run) : Checker("consensus_kept"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kReduced || event.rank >= workers_) return;
    Round& round = rounds_[event.iter];
    double own = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      if (event.tags[i] == event.iter) {
        own += event.senders[i] == event.rank ? double(event.weights[i]) : NAN;
      } else {
        round.sums[event.senders[i]] += double(event.weights[i]);
      }
    }
    if (own != 1) fail(event.time, event.rank, "counted its own model with weight " + std::to_string(own));
    if (++round.reduced < workers_) return;
    look();
    for (const auto& [owner, sum] : round.sums) {
      if (std::abs(sum) < 1e-5) continue;
      fail(event.time, owner,
           "the weights of its public model sum to " + std::to_string(sum) + " in iteration " +
               std::to_string(event.iter));
    }
    rounds_.erase(event.iter);
  }

 private:
  struct Round {
    std::map<int, double> sums;
    int reduced = 0;
  };
  int workers_;
  std::map<Iter, Round> rounds_;
};

}  // namespace

CheckerPtr consensus_kept(const CheckedRun& run) { return std::make_unique<ConsensusKept>(run); }

}  // namespace hopbench::checkers
