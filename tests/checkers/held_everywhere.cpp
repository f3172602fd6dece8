// SSP, DSSP, FlexRR: no server lets a worker go on before the others do. Each, the first or not, answers push k of a
// worker once it has itself applied that push and what the decision rests on: of every worker that has not finished as
// many gradients as the rule asks for. All but the first also await the first one's decision.
//
// SSP asks for k + 1 - s. DSSP asks for k + 1 - s_L where its first server held the worker, that is, answered after it
// had applied another push; where it answered at once, it may have granted, and of the others nothing is asked.
#include <algorithm>
#include <set>

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
        servers_(std::size_t(run.servers), Server{.applied = std::vector<Iter>(std::size_t(run.workers), 0)}),
        live_(std::size_t(run.workers), 1) {}

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
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
    if (first && server.last != push) held_.insert(push);
    if (!first && server.decided.count(push) == 0) fail(event.time, event.rank, answers + " before it is told to");
    if (server.applied[std::size_t(event.peer)] <= event.iter)
      fail(event.time, event.rank, answers + " before it has applied it");
    if (grants_ && held_.count(push) == 0) return;
    for (std::size_t w = 0; w < live_.size(); ++w) {
      if (live_[w] && server.applied[w] < event.iter + 1 - staleness_) {
        fail(event.time, event.rank,
             answers + " with " + std::to_string(server.applied[w]) + " gradients of rank " + std::to_string(w));
      }
    }
  }

  int workers_;
  std::int64_t staleness_;
  bool grants_;
  std::vector<Server> servers_;
  std::vector<char> live_;
  std::set<Push> held_;  // by the first server
};

}  // namespace

CheckerPtr held_everywhere(const CheckedRun& run, std::int64_t staleness) {
  return std::make_unique<HeldEverywhere>(run, staleness);
}

}  // namespace hopbench::checkers
