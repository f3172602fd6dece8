// R2SP: a server applies the workers' gradients in one fixed cyclic order, 0 to n - 1, and so each with a staleness of
// n - 1: between the weights that a worker gets and its next gradient there is one of each other. Those that have
// finished are left out.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class RoundRobin : public Checker {
 public:
  explicit RoundRobin(const CheckedRun& run)
      : Checker("round_robin"),
        workers_(run.workers),
        live_(std::size_t(run.workers), 1),
        servers_(std::size_t(run.servers), {.last = run.workers - 1, .updates = 0, .answered_at = {}}) {
    for (Server& server : servers_) server.answered_at.assign(std::size_t(workers_), -1);
  }

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
      return;
    }
    Server& server = servers_[std::size_t(event.rank - workers_)];
    std::int64_t& answered_at = server.answered_at[std::size_t(event.peer < 0 ? 0 : event.peer)];
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered_at = server.updates;
    if (event.what != EventKind::kApplied) return;
    look();
    for (int w = (server.last + 1) % workers_; w != event.peer; w = (w + 1) % workers_) {
      if (!live_[std::size_t(w)]) continue;
      fail(event.time, event.rank,
           "applied a gradient of rank " + std::to_string(event.peer) + " when it was rank " + std::to_string(w) +
               "'s turn");
      break;
    }
    const std::int64_t staleness = server.updates - answered_at;
    const bool all_live = std::count(live_.begin(), live_.end(), 1) == workers_;
    if (answered_at >= 0 && all_live && staleness != workers_ - 1) {
      fail(event.time, event.rank,
           "a gradient of rank " + std::to_string(event.peer) + " is " + std::to_string(staleness) + " updates old");
    }
    server.last = event.peer;
    ++server.updates;
  }

 private:
  struct Server {
    int last;  // whose gradient was applied last
    std::int64_t updates;
    std::vector<std::int64_t> answered_at;  // by worker: how many updates were in the weights it got; -1: none yet
  };
  int workers_;
  std::vector<char> live_;
  std::vector<Server> servers_;
};

}  // namespace

CheckerPtr round_robin(const CheckedRun& run) { return std::make_unique<RoundRobin>(run); }

}  // namespace hopbench::checkers
