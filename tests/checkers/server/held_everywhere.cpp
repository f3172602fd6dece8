// SSP, DSSP, FlexRR: no server lets a worker go on before the others do. Each, the first or not, answers push k of a
// worker once it has itself applied that push and what the decision rests on: of every worker that has not finished as
// many gradients as the rule asks for. All but the first also await the first one's decision.
//
// SSP asks for k + 1 - s, DSSP for k + 1 - s_L or, where the controller has granted the push, for nothing. It has not
// where the first server held the worker, that is, answered after it had applied another push; nor where it answered at
// once, within s_L, and the worker has gone through what it can have been granted last, r_max answers. Elsewhere it may
// have, and nothing is asked.
#include <algorithm>
#include <set>
#include <utility>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class HeldEverywhere : public Checker {
 public:
  HeldEverywhere(const CheckedRun& run, std::int64_t staleness)
      : Checker("held_everywhere"),
        workers_(run.workers),
        staleness_(staleness),
        grants_(run.protocol == "dssp"),
        r_max_(run.integer("r_max")),
        servers_(std::size_t(run.servers), Server{.applied = std::vector<Iter>(std::size_t(run.workers), 0)}),
        live_(std::size_t(run.workers), 1),
        granted_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
      if (event.what == EventKind::kEnter && !std::exchange(live_[std::size_t(event.rank)], 1)) {
        for (Server& server : servers_) server.applied[std::size_t(event.rank)] = event.iter;  // it was away
      }
      return;
    }
    Server& server = servers_[std::size_t(event.rank - workers_)];
    if (event.what == EventKind::kApplied) {
      server.applied[std::size_t(event.peer)] = event.iter + 1;
      server.last = {event.peer, event.iter};
    }
    if (event.what == EventKind::kTake && event.kind == kClockKind)
      server.decided.emplace(int(event.count), event.iter);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event, server);
  }

 private:
  using Push = std::pair<int, Iter>;  // a worker, its iteration
  struct Server {
    std::vector<Iter> applied;  // of each worker
    Push last{-1, -1};          // applied last
    std::set<Push> decided{};   // that the first server has said it answers
  };

  void answered(const Event& event, Server& server) {
    look();
    const Push push{event.peer, event.iter};
    const std::string answers = "answers push " + std::to_string(event.iter) + " of rank " + std::to_string(event.peer);
    const bool first = event.rank == workers_;
    if (first) note(push, server);
    if (!first && server.decided.count(push) == 0) fail(event.time, event.rank, answers + " before it is told to");
    if (server.applied[std::size_t(event.peer)] <= event.iter)
      fail(event.time, event.rank, answers + " before it has applied it");
    if (grants_ && rests_.count(push) == 0) return;
    for (std::size_t w = 0; w < live_.size(); ++w) {
      if (live_[w] && server.applied[w] < event.iter + 1 - staleness_) {
        fail(event.time, event.rank,
             answers + " with " + std::to_string(server.applied[w]) + " gradients of rank " + std::to_string(w));
      }
    }
  }

  /// Notes whether the first server's decision to answer this push rests on the others' gradients for certain.
  void note(const Push& push, const Server& first) {
    std::int64_t& granted = granted_[std::size_t(push.first)];
    const bool somebody_left = std::count(live_.begin(), live_.end(), 0) > 0;  // it may not know yet
    if (first.last != push) {
      granted = 0;
      rests_.insert(push);
    } else if (somebody_left ||
               push.second + 1 - *std::min_element(first.applied.begin(), first.applied.end()) > staleness_) {
      granted = r_max_;
    } else if (granted > 0) {
      --granted;
    } else {
      rests_.insert(push);
    }
  }

  int workers_;
  std::int64_t staleness_;
  bool grants_;
  std::int64_t r_max_;
  std::vector<Server> servers_;
  std::vector<char> live_;
  std::vector<std::int64_t> granted_;  // to each worker at the most: so many further answers
  std::set<Push> rests_;               // what is answered not by a grant
};

}  // namespace

CheckerPtr held_everywhere(const CheckedRun& run, std::int64_t staleness) {
  return std::make_unique<HeldEverywhere>(run, staleness);
}

}  // namespace hopbench::checkers
