// Backup workers: an update of a server is made of exactly n - b gradients, of a worker each, all computed with that
// server's newest weights; no weights leave while it is only partly applied; and a gradient is left out only if it was
// computed with older weights than those that answer it. Once workers have finished or died, as many as are left will
// do; those that a server knows to be dead it does not answer.
#include <algorithm>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class BackupRound : public Checker {
 public:
  explicit BackupRound(const CheckedRun& run)
      : Checker("backup_round"),
        workers_(run.workers),
        quorum_(run.workers - int(run.integer("backup"))),
        servers_(std::size_t(run.servers)) {
    for (int worker = 0; worker < workers_; ++worker) live_.insert(worker);
    for (Server& server : servers_) server.answered_at.assign(std::size_t(workers_), 0);
  }

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) live_.erase(event.rank);
      if (event.what == EventKind::kEnter) live_.insert(event.rank);
      return;
    }
    Server& server = servers_[std::size_t(event.rank - workers_)];
    // A worker that was away goes on with the number of updates in the first server's weights.
    if (event.what == EventKind::kSend && event.kind == kStateKind && event.rank == workers_) {
      for (Server& each : servers_) each.answered_at[std::size_t(event.peer)] = server.updates;
    }
    if (event.what == EventKind::kPeerDied) {
      server.gone.insert(event.peer);
      server.in.erase(event.peer);
    }
    const bool another = event.what == EventKind::kReduced || event.what == EventKind::kApplied;
    if (another && nobody_to_answer(server) && event.time != server.applied_at) complete(event, server);
    if (event.what == EventKind::kApplied) applied(event, server);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event, server);
  }

  void finish() override {
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      if (!servers_[s].open.empty() && !nobody_to_answer(servers_[s]))
        fail(Time{}, workers_ + int(s), "its last update is incomplete");
    }
  }

 private:
  struct Server {
    std::int64_t updates = 0;
    Time applied_at{};                      // its last gradient
    std::vector<std::int64_t> answered_at;  // by worker: how many updates are in the weights it has
    std::set<int> gone;                     // known to be dead
    std::set<int> open, in;                 // applied to the update under way; to the last one, not answered yet
  };

  /// The update under way is complete, although no answer shows it: all whose gradients are in it have died.
  static bool nobody_to_answer(const Server& server) {
    return !server.open.empty() &&
           std::includes(server.gone.begin(), server.gone.end(), server.open.begin(), server.open.end());
  }

  void applied(const Event& event, Server& server) {
    look();
    server.applied_at = event.time;
    if (!server.in.empty()) fail(event.time, event.rank, "began an update before all of the last one were answered");
    if (!server.open.insert(event.peer).second) {
      fail(event.time, event.rank, "applied two gradients of rank " + std::to_string(event.peer) + " in one update");
    }
    const std::int64_t of = server.answered_at[std::size_t(event.peer)];
    if (of != server.updates) {
      fail(event.time, event.rank,
           "applied a gradient of the weights of update " + std::to_string(of) + " to those of update " +
               std::to_string(server.updates));
    }
  }

  void answered(const Event& event, Server& server) {
    if (!server.open.empty()) complete(event, server);
    std::int64_t& of = server.answered_at[std::size_t(event.peer)];
    if (server.in.erase(event.peer) == 0 && of == server.updates) {
      fail(event.time, event.rank, "left out a gradient of rank " + std::to_string(event.peer) + " that was not late");
    }
    of = server.updates;
  }

  void complete(const Event& event, Server& server) {
    const int size = int(server.open.size());
    if (size > quorum_ || size < std::min(quorum_, int(live_.size()))) {
      fail(event.time, event.rank,
           "made an update of " + std::to_string(size) + " gradients instead of " + std::to_string(quorum_));
    }
    ++server.updates;
    server.in.swap(server.open);
    for (const int dead : server.gone) server.in.erase(dead);
    server.open.clear();
  }

  int workers_, quorum_;
  std::set<int> live_;  // workers
  std::vector<Server> servers_;
};

}  // namespace

CheckerPtr backup_round(const CheckedRun& run) { return std::make_unique<BackupRound>(run); }

}  // namespace hopbench::checkers
