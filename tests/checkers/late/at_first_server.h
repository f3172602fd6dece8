// The common part of checkers of what the first server does with each gradient: uses it in an update, or loses it.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/checkers/checkers.h"
#include "tests/checkers/server_updates.h"

namespace hopbench::checkers {

class AtFirstServer : public Checker {
 public:
  AtFirstServer(std::string name, const CheckedRun& run)
      : Checker(std::move(name)), workers_(run.workers), updates_(run.workers) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kPeerDied) dead_.insert(event.peer);
    if (event.what == EventKind::kLost && event.rank < workers_) return lost_by(event);
    if (event.rank != workers_) return;
    const bool push = event.what == EventKind::kTake && event.kind == kPushKind;
    const auto update = updates_.on(event);
    if (push) open_[{event.peer, event.iter}] = updates_.age(event.peer, event.iter);
    if (push) took(event);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event);
    if (!update) return;
    look();
    for (const UsedGradient& g : update->gradients) {
      if (open_.erase({g.worker, g.iter}) == 0) fail(update->when, event.rank, "used a gradient that it had not taken");
    }
    updated(*update, event);
  }

 protected:
  /// An update, just made.
  virtual void updated(const ServerUpdate& update, const Event& event) = 0;
  /// A gradient whose worker was told that it is lost. `age`: updates between its weights and its arrival.
  virtual void lost(const Event& event, std::int64_t age) = 0;
  virtual void took(const Event&) {}
  virtual void answered(const Event&) {}

  int workers() const { return workers_; }
  std::int64_t made() const { return updates_.made(); }
  /// Returns the number of gradients that were taken and neither used nor lost. The dead do not say what is lost.
  std::size_t open() const {
    return std::size_t(std::count_if(open_.begin(), open_.end(), [&](auto& g) { return !dead(g.first.first); }));
  }
  bool dead(int worker) const { return dead_.count(worker) > 0; }
  bool is_open(int worker, Iter k) const { return open_.count({worker, k}) > 0; }

 private:
  void lost_by(const Event& event) {
    look();
    const auto at = open_.find({event.rank, event.iter});
    if (at == open_.end()) return fail(event.time, event.rank, "lost a gradient that was not taken, or was used");
    const std::int64_t age = at->second;
    open_.erase(at);
    lost(event, age);
  }

  int workers_;
  ServerUpdates updates_;
  std::set<int> dead_;
  std::map<std::pair<int, Iter>, std::int64_t> open_;  // taken: its age then
};

}  // namespace hopbench::checkers
