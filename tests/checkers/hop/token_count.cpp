// |TokenQ(i->j)| = max_ig + Iter(i) - Iter(j) >= 0 for every edge j -> i, also after a jump. The queue is what lies in
// j's hands (granted, not yet spent) and what is on its way to j. And j spends nothing that has not arrived.
//
// A worker spends, enters and grants within one turn, so the equation is looked at when everybody waits. A finished
// worker owes no tokens: its queues are no longer looked at.
#include <deque>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class TokenCount : public Checker {
 public:
  explicit TokenCount(const CheckedRun& run)
      : Checker("token_count"),
        graph_(run),
        max_ig_(run.integer("max_ig")),
        at_(std::size_t(run.workers), -1),
        finished_(std::size_t(run.workers), 0) {
    for (int i = 0; i < run.workers; ++i) {
      for (int j : graph_.in(i)) queues_[{i, j}] = Queue{max_ig_, {}};
    }
  }

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    if (event.what == EventKind::kEnter) at_[std::size_t(event.rank)] = event.iter;
    if (event.what == EventKind::kFinished) finished_[std::size_t(event.rank)] = 1;
    const bool token = event.kind == kTokenKind;
    if (event.what == EventKind::kSend && token) granted(event);
    if ((event.what == EventKind::kDeliver || event.what == EventKind::kDrop) && token) arrived(event);
    if (event.what == EventKind::kSpend) spent(event);
    changed_ = changed_ || event.what == EventKind::kEnter || event.what == EventKind::kSpend || token;
  }

  void settled(Time now) override {
    if (!changed_) return;
    changed_ = false;
    for (const auto& [edge, queue] : queues_) {
      const auto [i, j] = edge;
      const Iter at_i = at_[std::size_t(i)], at_j = at_[std::size_t(j)];
      if (finished_[std::size_t(i)] || finished_[std::size_t(j)] || at_i < 0 || at_j < 0) continue;
      look();
      std::int64_t size = queue.here;
      for (std::int64_t n : queue.under_way) size += n;
      if (size != max_ig_ + at_i - at_j || size < 0) {
        fail(now, i,
             "TokenQ(" + std::to_string(i) + "->" + std::to_string(j) + ") holds " + std::to_string(size) +
                 " tokens, but max_ig + Iter(i) - Iter(j) = " + std::to_string(max_ig_) + " + " + std::to_string(at_i) +
                 " - " + std::to_string(at_j));
      }
    }
  }

 private:
  struct Queue {
    std::int64_t here = 0;
    std::deque<std::int64_t> under_way;
  };

  Queue* queue(const Event& event, int owner, int user) {
    const auto found = queues_.find({owner, user});
    if (found != queues_.end()) return &found->second;
    fail(event.time, event.rank,
         "there is no TokenQ(" + std::to_string(owner) + "->" + std::to_string(user) + "): no such edge");
    return nullptr;
  }

  void granted(const Event& event) {
    if (Queue* q = queue(event, event.rank, event.peer)) q->under_way.push_back(event.count);
  }

  void arrived(const Event& event) {
    Queue* q = queue(event, event.peer, event.rank);
    if (q == nullptr || q->under_way.empty()) return;  // delivered and dropped afterwards
    q->here += q->under_way.front();
    q->under_way.pop_front();
  }

  void spent(const Event& event) {
    Queue* q = queue(event, event.peer, event.rank);
    if (q == nullptr) return;
    q->here -= event.count;
    if (q->here < 0 && !finished_[std::size_t(event.peer)]) {
      fail(event.time, event.rank,
           "spent " + std::to_string(event.count) + " tokens of rank " + std::to_string(event.peer) + ", " +
               std::to_string(-q->here) + " more than had arrived");
    }
  }

  Graph graph_;
  std::int64_t max_ig_;
  std::vector<Iter> at_;
  std::vector<char> finished_;
  std::map<std::pair<int, int>, Queue> queues_;  // (owner i, user j)
  bool changed_ = false;
};

}  // namespace

CheckerPtr token_count(const CheckedRun& run) { return std::make_unique<TokenCount>(run); }

}  // namespace hopbench::checkers
