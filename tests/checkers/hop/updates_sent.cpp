// A worker leaves no iteration it ran before it has sent its update, tagged with that iteration, to every out-neighbour
// that is still there; and it sends each tag once. With check_receiver it may leave out those that are past its use: of
// update k in an iteration after k (plus the staleness, plus one where a jump may come back for the one before).
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class UpdatesSent : public Checker {
 public:
  explicit UpdatesSent(const CheckedRun& run)
      : Checker("updates_sent"), graph_(run), at_(std::size_t(run.workers), -1), sent_(std::size_t(run.workers)) {
    if (!run.flag("check_receiver")) return;
    const bool late_use = run.integer("max_jump") > 1 && !graph_.undirected();
    in_use_ = run.integer("staleness") + (late_use ? 1 : 0);
  }

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    const std::size_t rank = std::size_t(event.rank);
    if (event.what == EventKind::kFinished) finished_.insert(event.rank);
    if (event.what == EventKind::kSend && event.kind == kParamsKind) sends(event);
    if (event.what != EventKind::kEnter) return;
    if (at_[rank] >= 0) {
      for (int peer : graph_.out(event.rank)) {
        look();
        const bool past = in_use_ >= 0 && at_[std::size_t(peer)] > at_[rank] + in_use_;
        if (sent_[rank].count(peer) == 0 && finished_.count(peer) == 0 && !past) {
          fail(event.time, event.rank,
               "left iteration " + std::to_string(at_[rank]) + " without an update to rank " + std::to_string(peer));
        }
      }
    }
    sent_[rank].clear();
    at_[rank] = event.iter;
  }

 private:
  void sends(const Event& event) {
    const std::size_t rank = std::size_t(event.rank);
    if (event.iter != at_[rank]) {
      fail(event.time, event.rank,
           "sent an update tagged " + std::to_string(event.iter) + " in iteration " + std::to_string(at_[rank]));
    }
    if (!sent_[rank].insert(event.peer).second) {
      fail(event.time, event.rank,
           "sent its update " + std::to_string(event.iter) + " to rank " + std::to_string(event.peer) + " twice");
    }
  }

  Graph graph_;
  std::vector<Iter> at_;
  std::vector<std::set<int>> sent_;
  std::set<int> finished_;
  std::int64_t in_use_ = -1;  // an update is of use so many iterations after its own; -1: all are sent
};

}  // namespace

CheckerPtr updates_sent(const CheckedRun& run) { return std::make_unique<UpdatesSent>(run); }

}  // namespace hopbench::checkers
