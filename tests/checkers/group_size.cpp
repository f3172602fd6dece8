// Partial Reduce: a group has P members, neither more nor less; each of them averages the models of just these, its own
// among them.
#include <algorithm>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GroupSize : public Checker {
 public:
  explicit GroupSize(const CheckedRun& run)
      : Checker("group_size"), workers_(run.workers), size_(std::size_t(run.integer("group_size"))) {}

  void on(const Event& event) override {
    if (event.rank >= workers_ && event.what == EventKind::kSend && event.kind == kReplyKind && event.iter >= 0)
      told_[event.iter].insert(event.peer);
    if (event.rank >= workers_ || event.what != EventKind::kReduced) return;
    look();
    const std::set<int> members(event.senders.begin(), event.senders.end());
    if (event.senders.size() != size_ || members.size() != size_ || members.count(event.rank) == 0)
      fail(event.time, event.rank, "averaged " + std::to_string(members.size()) + " models");
  }

  void finish() override {
    for (const auto& [group, members] : told_) {
      if (members.size() != size_)
        fail(Time{}, *members.begin(), "was in a group of " + std::to_string(members.size()));
    }
  }

 private:
  int workers_;
  std::size_t size_;
  std::map<Iter, std::set<int>> told_;
};

}  // namespace

CheckerPtr group_size(const CheckedRun& run) { return std::make_unique<GroupSize>(run); }

}  // namespace hopbench::checkers
