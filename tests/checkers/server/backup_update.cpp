// DBW: update t is made of exactly k_t gradients, one a worker and all of version t of the weights, where k_t is what
// the server announced with that version, between 1 and n (n before the first announcement). Fewer only where nobody is
// left who could send one. What is sent is always the newest version.
//
// The version of a gradient is not that of its label but that which its worker had: the version that was last sent to
// it when the server took the gradient, as it pushes once for each and waits. So a late one is found under any label.
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class BackupUpdate : public Checker {
 public:
  explicit BackupUpdate(const CheckedRun& run)
      : Checker("backup_update"), workers_(run.workers), has_(std::size_t(run.workers), 0), of_(has_) {
    announced_[0] = run.workers;
  }

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) finished_.insert(event.rank);
      if (event.what == EventKind::kEnter) finished_.erase(event.rank);
      return;
    }
    if (event.what == EventKind::kTake && event.kind == kPushKind)
      of_[std::size_t(event.peer)] = has_[std::size_t(event.peer)];
    if (event.what == EventKind::kReduced) update(event);
    if (event.what == EventKind::kApplied) applied(event);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) announce(event);
    if (event.what == EventKind::kSend && event.kind == kStateKind) has_[std::size_t(event.peer)] = updates_;
  }

 private:
  void announce(const Event& event) {
    look();
    if (event.iter != updates_) {
      fail(event.time, event.rank,
           "sent version " + std::to_string(event.iter) + ", the newest is " + std::to_string(updates_));
    }
    if (!open_.empty()) fail(event.time, event.rank, "sent weights in the middle of an update");
    if (event.count < 1 || event.count > workers_)
      fail(event.time, event.rank, "waits for " + std::to_string(event.count) + " gradients");
    const auto [known, first] = announced_.emplace(event.iter, event.count);
    if (known->second != event.count)
      fail(event.time, event.rank, "changed its mind on how many gradients to wait for");
    has_[std::size_t(event.peer)] = event.iter;
  }

  void applied(const Event& event) {
    const std::string name = "applied a gradient of rank " + std::to_string(event.peer);
    if (open_.erase(event.peer) == 0) fail(event.time, event.rank, name + " outside an update");
    if (event.iter != updates_ - 1)
      fail(event.time, event.rank, name + " that is of version " + std::to_string(event.iter));
  }

  void update(const Event& event) {
    look();
    const std::string name = "update " + std::to_string(event.iter);
    if (event.iter != updates_) fail(event.time, event.rank, name + " comes after " + std::to_string(updates_ - 1));
    for (const Iter tag : event.tags) {
      if (tag != event.iter) fail(event.time, event.rank, name + " has a gradient of version " + std::to_string(tag));
    }
    for (const int sender : event.senders) {
      const Iter of = of_[std::size_t(sender)];
      if (of == event.iter) continue;
      fail(event.time, event.rank,
           name + " has a gradient of rank " + std::to_string(sender) + " that was late: of version " +
               std::to_string(of));
    }
    open_ = std::set<int>(event.senders.begin(), event.senders.end());
    if (open_.size() != event.senders.size()) fail(event.time, event.rank, name + " has a worker's gradient twice");
    const auto announced = announced_.find(event.iter);
    if (announced == announced_.end())
      return void(++updates_);  // all whom the last one was to be announced to are dead
    const std::int64_t due = announced->second, made_of = std::int64_t(event.senders.size());
    const std::string number = name + " is made of " + std::to_string(made_of) + " gradients, ";
    if (made_of > due) fail(event.time, event.rank, number + std::to_string(due) + " were announced");
    for (int worker = 0; worker < workers_ && made_of < due; ++worker) {
      if (open_.count(worker) == 0 && finished_.count(worker) == 0) {
        fail(event.time, event.rank, number + std::to_string(due) + " were announced and not everybody has left");
        break;
      }
    }
    ++updates_;
  }

  int workers_;
  Iter updates_ = 0;  // so far: the newest version
  std::map<Iter, std::int64_t> announced_;
  std::vector<Iter> has_;  // worker -> the version that it was sent last
  std::vector<Iter> of_;   // worker -> of which version the gradient is that was taken last
  std::set<int> open_;     // whose gradients of this update are still to be applied
  std::set<int> finished_;
};

}  // namespace

CheckerPtr backup_update(const CheckedRun& run) { return std::make_unique<BackupUpdate>(run); }

}  // namespace hopbench::checkers
