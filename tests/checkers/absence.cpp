// Workers that are away for a while. Between its departure and its return a worker does nothing of its protocol: it
// enters no iteration, computes, sends and takes nothing (but what nodes say to each other about absences). Before it
// then enters an iteration it has taken a state: of every server; else of another worker, if its protocol has one that
// serves and one is there. Under a clock (SSP, DSSP) it goes on with the count of the slowest worker that the first
// server knows to be there, if that is ahead of its own; elsewhere with its own.
#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class AbsenceChecker : public Checker {
 public:
  explicit AbsenceChecker(const CheckedRun& run)
      : Checker("absence"),
        workers_(run.workers),
        servers_(run.servers),
        clock_(run.protocol == "ps_ssp" || run.protocol == "dssp"),
        pairs_(run.protocol == "adpsgd"),
        from_a_worker_(pairs_ || (run.servers == 0 && replicas().count(run.protocol) > 0)),
        jumps_(run.integer("max_jump") > 1),
        graph_(run),
        of_(std::size_t(run.workers)),
        applied_(std::size_t(run.workers), 0),
        known_away_(std::size_t(run.workers), 0) {
    static const std::set<std::string> kOwnState = {"prague",   "partial_reduce", "flexrr", "ds_sync", "hivemind",
                                                    "dsgd_aau", "dybw",           "netmax", "halos"};
    if (kOwnState.count(run.protocol) > 0) servers_ = 0;
  }

  void on(const Event& event) override {
    if (event.rank >= workers_) return at_server(event);
    Worker& worker = of_[std::size_t(event.rank)];
    const std::string_view text = event.text;
    if (event.what == EventKind::kFault && text == "away") worker = {.away = true, .next = worker.next};
    if (event.what == EventKind::kFault && text == "return") returns(event, worker);
    if (event.what == EventKind::kFinished) worker.ended = !worker.away;
    if (event.what == EventKind::kFinished || worker.away) {
      worker.finished = true;
      for (Worker& each : of_) each.there.erase(event.rank);
    }
    if (worker.away) acts(event);
    if (worker.back && event.what == EventKind::kTake && event.kind == kStateKind) worker.states.insert(event.peer);
    if (event.what != EventKind::kEnter) return;
    if (worker.back) enters(event, worker);
    worker.back = worker.finished = false;
    worker.next = event.iter + 1;
  }

 private:
  struct Worker {
    bool away = false, back = false;
    bool finished = false, ended = false;  // ended, or away; ended
    Iter next = 0;                         // the iteration that follows its last one
    Iter due = -1, least_due = -1;         // under a clock: with which it is to go on
    std::set<int> states{};                // ranks whose state it has taken since its return
    std::set<int> there{};                 // workers whose state it could take, there since it returned
  };
  static const std::set<std::string>& replicas() {
    static const std::set<std::string> all = {"allreduce", "lb_bsp", "dynamic_batching"};
    return all;
  }

  void at_server(const Event& event) {
    if (event.rank != workers_) return;  // the first one decides
    if (event.what == EventKind::kApplied) applied_[std::size_t(event.peer)] = event.iter + 1;
    if (event.what == EventKind::kTake && event.peer < workers_ && event.kind == kAwayKind)
      known_away_[std::size_t(event.peer)] = 1;
    if (event.what != EventKind::kSend || event.kind != kStateKind) return;
    known_away_[std::size_t(event.peer)] = 0;  // it is back once it is given the state
    if (clock_) decides(event);
  }

  void decides(const Event& event) {
    constexpr Iter kNobody = std::numeric_limits<Iter>::max();
    Iter least = kNobody, least_of_all = kNobody;  // with those that have ended: the server may not know yet
    for (int w = 0; w < workers_; ++w) {
      if (w == event.peer || known_away_[std::size_t(w)]) continue;
      least_of_all = std::min(least_of_all, applied_[std::size_t(w)]);
      if (!of_[std::size_t(w)].ended) least = std::min(least, applied_[std::size_t(w)]);
    }
    Worker& worker = of_[std::size_t(event.peer)];
    const auto raised = [&](Iter to) { return to == kNobody ? worker.next : std::max(worker.next, to); };
    worker.due = raised(least);
    worker.least_due = std::min(worker.due, raised(least_of_all));
    applied_[std::size_t(event.peer)] = event.iter;
  }

  void returns(const Event& event, Worker& worker) {
    look();
    worker.away = false;
    worker.back = true;
    for (int w = 0; w < workers_; ++w) {
      const std::vector<int>& near = graph_.in(event.rank);
      const bool partner = (w + event.rank) % 2 == 1 && std::find(near.begin(), near.end(), w) != near.end();
      if (w != event.rank && !of_[std::size_t(w)].finished && (partner || !pairs_)) worker.there.insert(w);
    }
  }

  void acts(const Event& event) {
    const bool of_nodes = event.kind >= kAwayKind;
    const bool message = event.what == EventKind::kSend || event.what == EventKind::kTake;
    const bool work = event.what == EventKind::kEnter || event.what == EventKind::kGradient ||
                      event.what == EventKind::kReduced || event.what == EventKind::kApplied;
    if (work || (message && !of_nodes)) fail(event.time, event.rank, "does something although it is away");
  }

  void enters(const Event& event, const Worker& worker) {
    for (int server = workers_; server < workers_ + servers_; ++server) {
      if (worker.states.count(server) == 0)
        fail(event.time, event.rank, "goes on without the weights of rank " + std::to_string(server));
    }
    if (from_a_worker_ && !worker.there.empty() && worker.states.empty())
      fail(event.time, event.rank, "goes on without the model of another worker");
    const bool chosen = clock_ && worker.due >= 0;
    const Iter due = chosen ? worker.due : worker.next, least_due = chosen ? worker.least_due : worker.next;
    if (!jumps_ && (event.iter < least_due || event.iter > due)) {
      fail(event.time, event.rank,
           "goes on with iteration " + std::to_string(event.iter) + " instead of " + std::to_string(due));
    }
  }

  int workers_, servers_;
  bool clock_, pairs_, from_a_worker_, jumps_;
  Graph graph_;
  std::vector<Worker> of_;
  std::vector<Iter> applied_;     // by worker: gradients at the first server
  std::vector<char> known_away_;  // by worker: to the first server
};

}  // namespace

CheckerPtr absence(const CheckedRun& run) { return std::make_unique<AbsenceChecker>(run); }

}  // namespace hopbench::checkers
