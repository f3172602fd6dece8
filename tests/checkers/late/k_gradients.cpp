// K-async and K-batch-async: an update is the mean of K gradients, of K workers in K-async; there a worker gets no
// answer before the update with its gradient, in K-batch-async it gets one at once. Once workers have finished or died,
// K-async makes do with those that are left.
#include <algorithm>
#include <set>

#include "tests/checkers/late/at_first_server.h"

namespace hopbench::checkers {
namespace {

class KGradients : public AtFirstServer {
 public:
  explicit KGradients(const CheckedRun& run)
      : AtFirstServer("k_gradients", run),
        held_(run.protocol == "k_async"),
        k_(run.integer("k") > 0 ? run.integer("k") : std::max(1, run.workers / 2)) {
    for (int worker = 0; worker < run.workers; ++worker) live_.insert(worker);
  }

  void on(const Event& event) override {
    if (event.rank < workers() && event.what == EventKind::kFinished) live_.erase(event.rank);
    if (event.rank < workers() && event.what == EventKind::kEnter) live_.insert(event.rank);
    AtFirstServer::on(event);
  }

 private:
  void updated(const ServerUpdate& update, const Event& event) override {
    const auto size = std::int64_t(update.gradients.size());
    std::set<int> whose;
    for (const UsedGradient& g : update.gradients) {
      whose.insert(g.worker);
      if (g.weight * double(size) < 0.9999 || g.weight * double(size) > 1.0001)
        fail(event.time, event.rank, "gave a gradient another weight");
    }
    if (held_ && std::int64_t(whose.size()) != size) fail(event.time, event.rank, "used two gradients of one worker");
    const bool others = std::any_of(live_.begin(), live_.end(), [&](int worker) { return whose.count(worker) == 0; });
    if (size > k_ || (size < k_ && (!held_ || others)))
      fail(event.time, event.rank,
           "made an update of " + std::to_string(size) + " gradients instead of " + std::to_string(k_));
  }
  void took(const Event& event) override {
    for (const auto& [worker, iter] : taken_) {
      if (!held_ && !dead(worker) && answered_.count({worker, iter}) == 0)
        fail(event.time, event.rank, "held an answer back");
    }
    taken_[event.peer] = event.iter;
  }
  void answered(const Event& event) override {
    const Iter iter = taken_[event.peer];
    answered_.insert({event.peer, iter});
    if (held_ && is_open(event.peer, iter)) fail(event.time, event.rank, "answered a worker before the update");
    if (!held_ && open() > std::size_t(k_)) fail(event.time, event.rank, "has more gradients than make an update");
  }
  void lost(const Event& event, std::int64_t) override { fail(event.time, event.rank, "lost a gradient"); }

  bool held_;
  std::int64_t k_;
  std::set<int> live_;
  std::set<std::pair<int, Iter>> answered_;
  std::map<int, Iter> taken_;  // by worker: the iteration of its last push
};

}  // namespace

CheckerPtr k_gradients(const CheckedRun& run) { return std::make_unique<KGradients>(run); }

}  // namespace hopbench::checkers
