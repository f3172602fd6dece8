// The groups of two rounds that follow each other connect all workers: so what one of them learns reaches all.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class RoundsConnect : public Checker {
 public:
  explicit RoundsConnect(const CheckedRun& run) : Checker("rounds_connect"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.what != EventKind::kReduced || event.rank >= workers_) return;
    Round& round = rounds_[event.iter];
    for (const int sender : event.senders) round.pairs.emplace_back(event.rank, sender);
    if (++round.rows < workers_) return;
    complete(event, event.iter);
    complete(event, event.iter + 1);
  }

 private:
  struct Round {
    std::vector<std::pair<int, int>> pairs;  // in one group
    int rows = 0;
  };

  // Looks at rounds `last` - 1 and `last`, once both are complete.
  void complete(const Event& event, Iter last) {
    const auto before = rounds_.find(last - 1), after = rounds_.find(last);
    if (before == rounds_.end() || after == rounds_.end()) return;
    if (before->second.rows < workers_ || after->second.rows < workers_) return;
    look();
    // Workers that are connected get the least rank among them.
    std::vector<int> least(std::size_t(workers_), 0);
    for (int i = 0; i < workers_; ++i) least[std::size_t(i)] = i;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto* round : {&before->second, &after->second}) {
        for (const auto& [a, b] : round->pairs) changed = merge(least, std::size_t(a), std::size_t(b)) || changed;
      }
    }
    for (const int first : least) {
      if (first == 0) continue;
      fail(event.time, first,
           "rounds " + std::to_string(last - 1) + " and " + std::to_string(last) + " do not connect it with rank 0");
      return;
    }
  }

  static bool merge(std::vector<int>& least, std::size_t a, std::size_t b) {
    if (least[a] == least[b]) return false;
    least[a] = least[b] = std::min(least[a], least[b]);
    return true;
  }

  int workers_;
  std::map<Iter, Round> rounds_;
};

}  // namespace

CheckerPtr rounds_connect(const CheckedRun& run) { return std::make_unique<RoundsConnect>(run); }

}  // namespace hopbench::checkers
