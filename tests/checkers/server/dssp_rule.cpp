// DSSP: Algorithms 1 and 2 played along with what the deciding server takes, decision by decision: 0 <= r[i] <= r_max,
// a worker is granted more iterations when the controller says so and no other time, and one that is held is answered
// by the very push of the slowest that brings the difference to s_L. The controller is searched over its whole grid.
// Once a worker has finished, who is fastest and slowest depends on when the server hears of it: from then on nothing
// is asked.
#include <algorithm>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class DsspRule : public Checker {
 public:
  explicit DsspRule(const CheckedRun& run)
      : Checker("dssp_rule"),
        decides_(run.workers),
        s_l_(run.integer("s_l")),
        r_max_(run.integer("r_max")),
        capped_(run.text("mode") == "capped"),
        workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    over_ = over_ || event.what == EventKind::kFinished;
    if (over_ || event.rank != decides_) return;
    if (event.what == EventKind::kTake && event.kind == kPushKind) taken(event);
    if (event.what == EventKind::kApplied) applied_ = event.time;
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event);
  }

 private:
  struct Worker {
    std::int64_t t = 0, r = 0;
    Time latest{}, before{};
  };

  void taken(const Event& push) {
    for (const int w : due_) fail(push.time, w, "was not answered when it should have been");
    due_.clear();
    Worker& p = workers_[std::size_t(push.peer)];
    ++p.t;
    p.before = p.latest;
    p.latest = push.time;
    look();
    if (goes_on(p)) {
      due_.insert(push.peer);
    } else {
      held_.insert(push.peer);
    }
    for (const int h : held_) {
      if (workers_[std::size_t(h)].t - slowest().t <= s_l_) due_.insert(h);
    }
    for (const int w : due_) held_.erase(w);
  }

  void answered(const Event& answer) {
    if (due_.erase(answer.peer) == 0) fail(answer.time, answer.peer, "was answered while it was to be held");
    if (answer.time != applied_) fail(answer.time, answer.peer, "was answered some time after the push that frees it");
  }

  bool goes_on(Worker& p) {
    if (p.r > 0) {
      --p.r;
      return true;
    }
    const Worker& slow = slowest();
    const std::int64_t difference = p.t - slow.t;
    if (difference <= s_l_) return true;
    const bool fastest = std::all_of(workers_.begin(), workers_.end(), [&](const Worker& w) { return w.t <= p.t; });
    if (!fastest || p.t < 2 || slow.t < 2) return false;
    p.r = best_r(p, slow);
    if (!capped_) return p.r > 0;
    const std::int64_t room = s_l_ + r_max_ + 1 - difference;
    const std::int64_t pushes = std::min(p.r, room);
    p.r = std::max<std::int64_t>(pushes - 1, 0);
    return pushes > 0;
  }

  const Worker& slowest() const {
    return *std::min_element(workers_.begin(), workers_.end(),
                             [](const Worker& a, const Worker& b) { return a.t < b.t; });
  }

  std::int64_t best_r(const Worker& p, const Worker& slow) const {
    std::int64_t best = 0;
    Duration least = Duration::max();
    for (std::int64_t r = 0; r <= r_max_; ++r) {
      for (std::int64_t k = 0; k <= r_max_; ++k) {
        const Time mine = p.latest + r * (p.latest - p.before);
        const Time theirs = slow.latest + (k + 1) * (slow.latest - slow.before);
        const Duration apart = mine < theirs ? theirs - mine : mine - theirs;
        if (apart < least) {
          least = apart;
          best = r;
        }
      }
    }
    return best;
  }

  int decides_;  // the first server's rank
  std::int64_t s_l_, r_max_;
  bool capped_, over_ = false;
  std::vector<Worker> workers_;
  std::set<int> due_, held_;  // to be answered now; later
  Time applied_{};
};

}  // namespace

CheckerPtr dssp_rule(const CheckedRun& run) { return std::make_unique<DsspRule>(run); }

}  // namespace hopbench::checkers
