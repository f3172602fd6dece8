// Sync-Switch: a server's updates are rounds first, each the gradients of one iteration of every worker that is there,
// and then, for good, single gradients. All servers make the same number of rounds: offline as many as the fraction
// says, online at most as many.
#include <cmath>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class OneSwitch : public Checker {
 public:
  explicit OneSwitch(const CheckedRun& run)
      : Checker("one_switch"),
        workers_(run.workers),
        end_(run.iterations),
        online_(run.text("online") != "off"),
        fraction_(run.real("fraction")),
        servers_(std::size_t(run.servers)) {}

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) finished_.insert(event.rank);
      return;
    }
    Server& server = servers_[std::size_t(event.rank - workers_)];
    if (event.what == EventKind::kReduced) round(event, server);
    if (event.what == EventKind::kApplied) applied(event, server);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind && !server.open.empty())
      fail(event.time, event.rank, "sent weights in the middle of a round");
  }

  void finish() override {
    std::int64_t due = std::llround(fraction_ * double(end_));
    if (fraction_ > 0) due = std::max<std::int64_t>(due, 1);
    for (std::size_t s = 0; s < servers_.size(); ++s) {
      const std::int64_t rounds = servers_[s].rounds;
      const std::string made = "made " + std::to_string(rounds) + " rounds, ";
      const int rank = workers_ + int(s);
      if (rounds != servers_[0].rounds)
        fail(Time{}, rank, made + "the first server " + std::to_string(servers_[0].rounds));
      if (end_ == 0) continue;  // credits: how many rounds are due is not known here
      if (online_ ? rounds > due : rounds != due) fail(Time{}, rank, made + std::to_string(due) + " are due");
    }
  }

 private:
  struct Server {
    std::int64_t rounds = 0;
    bool switched = false;
    std::set<int> open;  // whose gradients of this round are still to be applied
  };

  void round(const Event& event, Server& server) {
    look();
    if (server.switched) fail(event.time, event.rank, "went back to rounds");
    server.open = std::set<int>(event.senders.begin(), event.senders.end());
    for (const Iter tag : event.tags) {
      if (tag != server.rounds) fail(event.time, event.rank, "a round with a gradient of " + std::to_string(tag));
    }
    if (server.open.size() != event.senders.size()) fail(event.time, event.rank, "a round with a gradient twice");
    for (int worker = 0; worker < workers_; ++worker) {
      if (server.open.count(worker) == 0 && finished_.count(worker) == 0)
        fail(event.time, event.rank, "a round without rank " + std::to_string(worker));
    }
    ++server.rounds;
  }

  void applied(const Event& event, Server& server) {
    look();
    if (server.open.erase(event.peer) > 0) {
      if (event.iter != server.rounds - 1)
        fail(event.time, event.rank, "a round with a gradient of iteration " + std::to_string(event.iter));
      return;
    }
    if (!server.open.empty()) fail(event.time, event.rank, "applied a single gradient in the middle of a round");
    server.switched = true;
  }

  int workers_;
  Iter end_;
  bool online_;
  double fraction_;
  std::vector<Server> servers_;
  std::set<int> finished_;
};

}  // namespace

CheckerPtr one_switch(const CheckedRun& run) { return std::make_unique<OneSwitch>(run); }

}  // namespace hopbench::checkers
