// NetMax: a worker is drawn towards the one neighbour that it asked in this iteration, by weights that sum to 1, of
// which its own is at least half.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class Pulls : public Checker {
 public:
  explicit Pulls(const CheckedRun& run) : Checker("pulls"), graph_(run), asked_(std::size_t(run.workers), -1) {}

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    int& asked = asked_[std::size_t(event.rank)];
    if (event.what == EventKind::kEnter) asked = -1;
    if (event.what == EventKind::kSend && event.kind == kRequestKind) {
      const auto& next = graph_.in(event.rank);
      if (asked >= 0 || std::find(next.begin(), next.end(), event.peer) == next.end())
        fail(event.time, event.rank, "asked rank " + std::to_string(event.peer));
      asked = event.peer;
    }
    if (event.what != EventKind::kReduced) return;
    look();
    double sum = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const double weight = double(event.weights[i]);
      sum += weight;
      const bool own = event.senders[i] == event.rank, known = own || event.senders[i] == asked;
      if (!known || weight < 0 || weight > (own ? 1 : 0.5))
        fail(event.time, event.rank,
             "gave rank " + std::to_string(event.senders[i]) + " the weight " + std::to_string(weight));
    }
    if (std::abs(sum - 1) > 1e-5) fail(event.time, event.rank, "its weights sum to " + std::to_string(sum));
  }

 private:
  Graph graph_;
  std::vector<int> asked_;  // in this iteration; -1: nobody
};

}  // namespace

CheckerPtr pulls(const CheckedRun& run) { return std::make_unique<Pulls>(run); }

}  // namespace hopbench::checkers
