// BSP: an update of a server is made of n gradients, one of each worker and all of one iteration, and no weights leave
// the server while an update is only partly applied.
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class BspRound : public Checker {
 public:
  explicit BspRound(const CheckedRun& run)
      : Checker("bsp_round"), workers_(run.workers), rounds_(std::size_t(run.servers)) {}

  void on(const Event& event) override {
    if (event.rank < workers_) return;
    Round& round = rounds_[std::size_t(event.rank - workers_)];
    if (event.what == EventKind::kApplied) {
      look();
      if (!round.applied.empty() && event.iter != round.iter) {
        fail(event.time, event.rank,
             "applied a gradient of iteration " + std::to_string(event.iter) + " to the update of " +
                 std::to_string(round.iter));
      }
      if (!round.applied.insert(event.peer).second) {
        fail(event.time, event.rank, "applied two gradients of rank " + std::to_string(event.peer) + " in one update");
      }
      round.iter = event.iter;
      if (int(round.applied.size()) == workers_) round.applied.clear();
    }
    if (event.what == EventKind::kSend && event.kind == kWeightsKind && !round.applied.empty()) {
      fail(event.time, event.rank,
           "sent weights after " + std::to_string(round.applied.size()) + " of " + std::to_string(workers_) +
               " gradients");
    }
  }

  void finish() override {
    for (std::size_t s = 0; s < rounds_.size(); ++s) {
      if (!rounds_[s].applied.empty()) fail(Time{}, workers_ + int(s), "its last update is incomplete");
    }
  }

 private:
  struct Round {
    Iter iter = 0;
    std::set<int> applied;
  };
  int workers_;
  std::vector<Round> rounds_;
};

}  // namespace

CheckerPtr bsp_round(const CheckedRun& run) { return std::make_unique<BspRound>(run); }

}  // namespace hopbench::checkers
