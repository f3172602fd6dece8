// DSGD-AAU: the controller lets all workers that are done go on exactly when two of them are neighbours over a link
// that is new in its epoch, or nobody else is left (as long as no worker has finished); and a worker's weights are
// Metropolis weights among those.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ActiveRounds : public Checker {
 public:
  explicit ActiveRounds(const CheckedRun& run) : Checker("active_rounds"), workers_(run.workers), graph_(run) {
    for (int w = 0; w < workers_; ++w) here_.insert(w);
  }

  void on(const Event& event) override {
    const bool controls = event.rank == workers_;
    if (is_death(event)) dead_.insert(event.rank);
    if (controls && event.what == EventKind::kPeerDied) leave(event.peer);
    if (event.what == EventKind::kFinished && event.rank < workers_ && dead_.count(event.rank) == 0) exact_ = false;
    if (controls && event.what == EventKind::kTake && event.kind == kRequestKind) {
      if (exact_ && here_.count(event.peer) > 0 && event.time > taken_ && new_link())
        fail(event.time, event.rank, "waited for more than it needed");
      taken_ = event.time;  // all of one instant count
      if (here_.count(event.peer) > 0) done_.insert(event.peer);
    }
    if (controls && event.what == EventKind::kSend && event.kind == kReplyKind) answered(event);
    if (event.what == EventKind::kReduced && event.rank < workers_) averaged(event);
  }

 private:
  void leave(int worker) {
    here_.erase(worker);
    done_.erase(worker);
  }

  bool new_link() const {
    for (const int a : done_) {
      for (const int b : graph_.out(a)) {
        if (b > a && done_.count(b) > 0 && used_.count({a, b}) == 0) return true;
      }
    }
    return false;
  }

  void answered(const Event& event) {
    if (event.iter != round_) {
      look();
      round_ = event.iter;
      if (exact_ && !new_link() && done_.size() < here_.size())
        fail(event.time, event.rank, "let workers go on too early");
      group_ = done_;
      done_.clear();
      close_round();
    }
    if (group_.count(event.peer) == 0) fail(event.time, event.rank, "answered a worker that was not done");
    active_[round_].insert(event.peer);
  }

  void close_round() {
    for (const int a : group_) {
      for (const int b : graph_.out(a)) {
        if (b > a && group_.count(b) > 0) used_.insert({a, b});
      }
    }
    if (here_.empty()) return;
    std::set<int> reached{*here_.begin()};
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [a, b] : used_) {
        if (here_.count(a) == 0 || here_.count(b) == 0 || reached.count(a) == reached.count(b)) continue;
        reached.insert({a, b});
        grows = true;
      }
    }
    if (reached.size() == here_.size()) used_.clear();
  }

  void averaged(const Event& event) {
    double sum = 0;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      sum += double(event.weights[i]);
      const int peer = event.senders[i];
      if (peer == event.rank) continue;
      // The round with both in it that was announced last.
      const auto round = std::find_if(active_.rbegin(), active_.rend(), [&](const auto& each) {
        return each.second.count(peer) > 0 && each.second.count(event.rank) > 0;
      });
      if (round == active_.rend()) return fail(event.time, event.rank, "averaged with a worker that was not active");
      const auto degree = [&](int w) {
        const auto& next = graph_.in(w);
        return std::count_if(next.begin(), next.end(), [&](int each) { return round->second.count(each) > 0; });
      };
      const double due = 1.0 / double(1 + std::max(degree(event.rank), degree(peer)));
      if (std::abs(double(event.weights[i]) - due) > 1e-5)
        fail(event.time, event.rank, "gave rank " + std::to_string(peer) + " another weight than Metropolis");
    }
    if (std::abs(sum - 1) > 1e-5) fail(event.time, event.rank, "its weights sum to " + std::to_string(sum));
  }

  int workers_;
  Graph graph_;
  std::set<int> here_, dead_, done_, group_;  // here_: as the controller knows
  std::set<std::pair<int, int>> used_;
  Iter round_ = -1;
  Time taken_{};                          // when it took a request last
  bool exact_ = true;                     // until a worker finishes, of which the controller hears some time later
  std::map<Iter, std::set<int>> active_;  // by round
};

}  // namespace

CheckerPtr active_rounds(const CheckedRun& run) { return std::make_unique<ActiveRounds>(run); }

}  // namespace hopbench::checkers
