// AD-PSGD: each exchange between two workers keeps the sum of their models. What shows it: both average the same two
// vectors, half and half, exactly once; an active worker's model does not change between its request and its average,
// nor a passive one's between its answer and its average. And only an edge of the graph between an even and an odd rank
// is used. An exchange is void, for the one that asked, where the other died before it answered; nobody answers one
// that it knows to be dead.
#include <algorithm>
#include <optional>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PairSum : public Checker {
 public:
  explicit PairSum(const CheckedRun& run) : Checker("pair_sum"), graph_(run), workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    if (event.what == EventKind::kSend && event.kind == kRequestKind) asks(event);
    if (event.what == EventKind::kSend && event.kind == kReplyKind) answers(event);
    if (event.what == EventKind::kReduced) averages(event);
    if (event.what == EventKind::kPeerDied) dies(event);
    if (event.what == EventKind::kTake && event.kind == kAwayKind) dies(event);  // for a while
    if (event.what == EventKind::kTake && event.kind == kBackKind) at(event.rank).knows_dead.erase(event.peer);
    if (event.what == EventKind::kApplied && at(event.rank).fixed_for) {
      fail(event.time, event.rank, "changed its model in the middle of an exchange");
    }
  }

  void finish() override {
    for (int r = 0; r < graph_.size(); ++r) {
      if (at(r).fixed_for && !at(r).dead)
        fail(Time{}, r, "did not end its exchange with rank " + std::to_string(*at(r).fixed_for));
    }
  }

 private:
  struct Worker {
    std::optional<int> fixed_for{};  // its model may not change before it is averaged with this rank's
    bool answered = false;           // of an active worker: the answer is on its way, or here
    bool dead = false;
    std::set<int> knows_dead{};
  };
  Worker& at(int rank) { return workers_[std::size_t(rank)]; }

  void asks(const Event& event) {
    const std::vector<int>& near = graph_.in(event.rank);
    if (event.rank % 2 != 0 || event.peer % 2 == 0 || std::find(near.begin(), near.end(), event.peer) == near.end()) {
      fail(event.time, event.rank, "may not ask rank " + std::to_string(event.peer));
    }
    if (at(event.rank).fixed_for) fail(event.time, event.rank, "asked again before its exchange was over");
    if (at(event.rank).knows_dead.count(event.peer) != 0) fail(event.time, event.rank, "asked a dead one");
    at(event.rank).fixed_for = event.peer;
    at(event.rank).answered = false;
  }

  void answers(const Event& event) {
    Worker& active = at(event.peer);
    if (active.fixed_for != event.rank || active.answered) {
      fail(event.time, event.rank, "answered rank " + std::to_string(event.peer) + ", which had not asked");
    }
    if (at(event.rank).fixed_for) fail(event.time, event.rank, "answered again before it averaged");
    if (at(event.rank).knows_dead.count(event.peer) != 0) fail(event.time, event.rank, "answered a dead one");
    active.answered = true;
    at(event.rank).fixed_for = event.peer;
  }

  void averages(const Event& event) {
    look();
    Worker& worker = at(event.rank);
    const int other = worker.fixed_for.value_or(-1);
    const bool theirs = event.senders == std::vector<int>{std::min(event.rank, other), std::max(event.rank, other)};
    if (!theirs) fail(event.time, event.rank, "averaged with somebody it had not exchanged models with");
    if (event.rank % 2 == 0 && !worker.answered) fail(event.time, event.rank, "averaged before it was answered");
    if (event.weights != std::vector<float>{0.5f, 0.5f}) fail(event.time, event.rank, "averaged with weights not 1/2");
    worker.fixed_for.reset();
    worker.answered = false;
  }

  void dies(const Event& event) {
    Worker& worker = at(event.rank);
    if (event.rank == event.peer) {
      worker.dead = true;
      return;
    }
    worker.knows_dead.insert(event.peer);
    if (worker.fixed_for == event.peer && !worker.answered) worker.fixed_for.reset();
  }

  Graph graph_;
  std::vector<Worker> workers_;
};

}  // namespace

CheckerPtr pair_sum(const CheckedRun& run) { return std::make_unique<PairSum>(run); }

}  // namespace hopbench::checkers
