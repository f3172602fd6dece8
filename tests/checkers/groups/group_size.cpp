// Partial Reduce: a group has P members, neither more nor less; each of them averages the models of just these, its own
// among them. But for the models of those that died before they had sent them.
#include <algorithm>
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GroupSize : public Checker {
 public:
  explicit GroupSize(const CheckedRun& run)
      : Checker("group_size"),
        workers_(run.workers),
        size_(std::size_t(run.integer("group_size"))),
        number_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (event.rank >= workers_ && event.what == EventKind::kSend && event.kind == kReplyKind && event.iter >= 0)
      told_[event.iter].insert(event.peer);
    if (is_death(event)) dead_.insert(event.rank);
    if (event.rank < workers_ && names_group(event)) number_[std::size_t(event.rank)] = event.iter;
    if (event.rank >= workers_ || event.what != EventKind::kReduced) return;
    look();
    std::set<int> members(event.senders.begin(), event.senders.end());
    const bool twice = members.size() != event.senders.size();
    for (const int member : told_[number_[std::size_t(event.rank)]]) {
      if (dead_.count(member) != 0) members.insert(member);
    }
    if (twice || members.size() != size_ || members.count(event.rank) == 0)
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
  std::vector<Iter> number_;  // of the group a worker is in
  std::set<int> dead_;
  std::map<Iter, std::set<int>> told_;
};

}  // namespace

CheckerPtr group_size(const CheckedRun& run) { return std::make_unique<GroupSize>(run); }

}  // namespace hopbench::checkers
