// Bounded staleness: a Reduce of iteration k uses exactly one update of every in-neighbour and of itself, each tagged
// k - s or later, and of no sender an older one than it used before. Right after a jump to k the bound is k - 1 - s and
// the own update is left out (unless skip_keep_self, or nothing else is there). A neighbour that has finished sends no
// newer ones and may be absent. Without `reuse` no update of another worker is used twice, and a neighbour of which no
// newer one has come since is absent.
#include <algorithm>
#include <set>

#include "tests/checkers/on_reduce.h"

namespace hopbench::checkers {
namespace {

class Staleness : public OnReduce {
 public:
  explicit Staleness(const CheckedRun& run)
      : OnReduce("staleness", run),
        s_(run.integer("staleness")),
        keeps_self_(run.flag("skip_keep_self")),
        once_(run.has("reuse") && !run.flag("reuse")),
        sees_messages_(run.virtual_time) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kTake && event.kind == kParamsKind) taken_[{event.rank, event.peer}] = event.iter;
    OnReduce::on(event);
  }

 private:
  bool nothing_new(int rank, int sender) {
    const auto of = [&](std::map<std::pair<int, int>, Iter>& tags) {
      return tags.try_emplace({rank, sender}, -1).first->second;
    };
    return once_ && (!sees_messages_ || of(taken_) <= of(newest_));
  }

  void reduced(const Event& event, const Worker& worker) override {
    const Iter oldest = (worker.jumped ? worker.at - 1 : worker.at) - s_;
    std::set<int> used;
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      const int sender = event.senders[i];
      const Iter tag = event.tags[i];
      if (!used.insert(sender).second) fail(event.time, event.rank, "used rank " + std::to_string(sender) + " twice");
      if (sender == event.rank && worker.jumped) continue;
      if (tag < oldest) {
        fail(event.time, event.rank,
             "used an update of rank " + std::to_string(sender) + " tagged " + std::to_string(tag) +
                 ", the oldest allowed is " + std::to_string(oldest));
      }
      Iter& newest = newest_.try_emplace({event.rank, sender}, -1).first->second;
      if (tag < newest) {
        fail(event.time, event.rank, "used an older update of rank " + std::to_string(sender) + " than before");
      }
      if (once_ && tag == newest && sender != event.rank) {
        fail(event.time, event.rank, "used an update of rank " + std::to_string(sender) + " in two averages");
      }
      newest = tag;
    }
    std::set<int> due(graph().in(event.rank).begin(), graph().in(event.rank).end());
    const bool alone = used == std::set<int>{event.rank};
    if (!worker.jumped || keeps_self_ || alone) due.insert(event.rank);
    for (int sender : due) {
      if (used.erase(sender) == 0 && !state(sender).finished && !nothing_new(event.rank, sender)) {
        fail(event.time, event.rank, "left out rank " + std::to_string(sender));
      }
    }
    for (int sender : used) fail(event.time, event.rank, "should not have used rank " + std::to_string(sender));
  }

  std::int64_t s_;
  bool keeps_self_, once_, sees_messages_;
  std::map<std::pair<int, int>, Iter> newest_, taken_;  // averaged, and here; by receiver and sender
};

}  // namespace

CheckerPtr staleness(const CheckedRun& run) { return std::make_unique<Staleness>(run); }

}  // namespace hopbench::checkers
