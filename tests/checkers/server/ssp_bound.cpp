// SSP: a worker that has pushed t times is released only while t - min(t) <= s, so push counts, as the deciding server
// receives them, differ by at most s + 1. Capped DSSP: the same of s_U. Workers that have finished push no more and do
// not count.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class SspBound : public Checker {
 public:
  SspBound(const CheckedRun& run, std::int64_t staleness)
      : Checker("ssp_bound"),
        decides_(run.workers),
        bound_(staleness + 1),
        pushes_(std::size_t(run.workers), 0),
        live_(std::size_t(run.workers), 1) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kFinished && event.rank < decides_) live_[std::size_t(event.rank)] = 0;
    if (event.what == EventKind::kEnter && event.rank < decides_ && !live_[std::size_t(event.rank)]) {
      live_[std::size_t(event.rank)] = 1;  // it was away
      pushes_[std::size_t(event.rank)] = event.iter;
    }
    if (event.what != EventKind::kDeliver || event.kind != kPushKind || event.rank != decides_) return;
    const std::int64_t mine = pushes_[std::size_t(event.peer)] = event.iter + 1;
    look();
    for (std::size_t w = 0; w < pushes_.size(); ++w) {
      if (live_[w] && mine - pushes_[w] > bound_) {
        fail(event.time, event.peer,
             "pushed " + std::to_string(mine) + " times, rank " + std::to_string(w) + " only " +
                 std::to_string(pushes_[w]) + "; the counts may differ by " + std::to_string(bound_));
      }
    }
  }

 private:
  int decides_;  // the first server's rank
  std::int64_t bound_;
  std::vector<std::int64_t> pushes_;
  std::vector<char> live_;
};

}  // namespace

CheckerPtr ssp_bound(const CheckedRun& run, std::int64_t staleness) {
  return std::make_unique<SspBound>(run, staleness);
}

}  // namespace hopbench::checkers
