// Updates that wait in a mailbox. With tokens UpdateQ(i) holds at most (1 + max_ig) |N_in(i)| entries; held here sender
// by sender, which is stricter: tags k .. k+max_ig of each in-neighbour. One more where a worker that jumps on a
// directed graph waits for tag k-1; s more in staleness mode. Without tokens a neighbour j is at most len(i->j) (times
// s+1) ahead. With NOTIFY-ACK an edge holds one.
#include <algorithm>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class QueueCapacity : public Checker {
 public:
  explicit QueueCapacity(const CheckedRun& run) : Checker("queue_capacity"), graph_(run) {
    const std::int64_t stale = run.integer("staleness");
    const std::string control = run.text("gap_control");
    for (int i = 0; i < graph_.size(); ++i) {
      for (int j : graph_.in(i)) {
        std::int64_t most = 1 + stale + (stale + 1) * graph_.distance(i, j);  // queues only; len(i->j) bounds j's lead
        if (control == "tokens") most = 1 + stale + run.integer("max_ig");
        // A jump over a directed graph may have to wait for updates of the iteration before (decision H9).
        if (control == "tokens" && run.integer("max_jump") > 1 && !graph_.undirected()) most += 1;
        if (control == "notify_ack") most = 1;
        edges_[{i, j}].most = most;
      }
    }
  }

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    if (event.what == EventKind::kFinished) finished_.insert(event.rank);
    if (event.kind != kParamsKind) return;
    const auto found = edges_.find({event.rank, event.peer});
    if (found == edges_.end()) return;
    Waiting& waiting = found->second;
    if (event.what == EventKind::kDeliver) waiting.tags.insert(event.iter);
    if (event.what == EventKind::kTake || event.what == EventKind::kDrop) {
      const auto tag = waiting.tags.find(event.iter);  // a drop on arrival was never in
      if (tag != waiting.tags.end()) waiting.tags.erase(tag);
    }
    touched_.insert(found->first);
  }

  void settled(Time now) override {
    for (const auto& edge : touched_) {
      if (finished_.count(edge.first) != 0) continue;  // it reads no more
      const Waiting& waiting = edges_[edge];
      look();
      if (std::int64_t(waiting.tags.size()) > waiting.most) {
        fail(now, edge.first,
             std::to_string(waiting.tags.size()) + " updates of rank " + std::to_string(edge.second) +
                 " wait, room is for " + std::to_string(waiting.most));
      }
    }
    touched_.clear();
  }

 private:
  struct Waiting {
    std::multiset<Iter> tags;
    std::int64_t most = 0;
  };
  Graph graph_;
  std::map<std::pair<int, int>, Waiting> edges_;  // (receiver, sender)
  std::set<std::pair<int, int>> touched_;
  std::set<int> finished_;
};

}  // namespace

CheckerPtr queue_capacity(const CheckedRun& run) { return std::make_unique<QueueCapacity>(run); }

}  // namespace hopbench::checkers
