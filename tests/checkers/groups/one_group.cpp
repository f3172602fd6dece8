// Groups are serialised. A group starts when its first member is told of it; from then on it has a lock on every
// member, told or not, until that member has been told and is done: it says so (an acknowledgement) or asks for its
// next group. A group starts only when none of its members is locked, a worker is told only of groups it is in, each of
// a higher number than the last, and every request of a worker that lives is answered, once.
//
// The members of a group are read from what the members are told: a bit for each worker. The events have the first 64
// of them; that a further one is in the group is known when it is told, and then looked back at. That it is looked at
// when the group starts, and for all members, matters: a group that started too early may well end in a deadlock before
// the member that it should have waited for is told.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class OneGroup : public Checker {
 public:
  explicit OneGroup(const CheckedRun& run) : Checker("one_group"), workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (is_death(event) && event.rank < int(workers_.size())) workers_[std::size_t(event.rank)].dead = true;
    if (event.rank < int(workers_.size())) return;
    if (event.what == EventKind::kDeliver && (event.kind == kRequestKind || event.kind == kAckKind)) {
      Worker& worker = workers_[std::size_t(event.peer)];
      if (worker.lock != kFree && worker.lock == worker.told) {
        worker.lock = kFree;
        worker.freed = ++clock_;
      }
      if (event.kind == kRequestKind) ++worker.requests;
    }
    if (event.what == EventKind::kSend && event.kind == kReplyKind) told(event, workers_[std::size_t(event.peer)]);
  }

  void finish() override {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].requests != 0 && !workers_[w].dead)
        fail(Time{}, int(w), "has " + std::to_string(workers_[w].requests) + " requests that nobody answered");
    }
  }

 private:
  static constexpr Iter kFree = -1;
  static constexpr int kInFirstWord = 64;
  struct Worker {
    int requests = 0;  // not answered
    bool dead = false;
    Iter told = kFree;       // of which group last
    Iter lock = kFree;       // the started group that it is not done with
    std::int64_t freed = 0;  // when it was last done with one
  };

  void told(const Event& event, Worker& worker) {
    look();
    if (--worker.requests < 0) fail(event.time, event.peer, "was given a group it had not asked for");
    if (event.iter < 0) return;  // none: it goes on alone
    if (started_.emplace(event.iter, ++clock_).second) start(event);
    if (event.peer >= kInFirstWord) look_back(event, worker);
    const std::string group = "group " + std::to_string(event.iter);
    if (event.iter <= worker.told)
      fail(event.time, event.peer, "was given " + group + " after " + std::to_string(worker.told));
    if (worker.lock != event.iter)
      fail(event.time, event.peer, "was given " + group + ", which it is not in, or is done with");
    worker.told = event.iter;
  }

  void start(const Event& event) {
    for (std::size_t w = 0; w < std::min<std::size_t>(workers_.size(), kInFirstWord); ++w) {
      if ((std::uint64_t(event.count) >> w & 1) == 0) continue;
      Iter& lock = workers_[w].lock;
      if (lock != kFree) {
        fail(event.time, int(w),
             "group " + std::to_string(event.iter) + " started when it was in group " + std::to_string(lock));
      }
      lock = event.iter;
    }
  }

  // The same, of a member that the events did not name then.
  void look_back(const Event& event, Worker& worker) {
    if (worker.lock != kFree || worker.freed > started_.at(event.iter)) {
      fail(event.time, event.peer,
           "group " + std::to_string(event.iter) + " started when it was in group " + std::to_string(worker.told));
    }
    worker.lock = event.iter;
  }

  std::vector<Worker> workers_;
  std::map<Iter, std::int64_t> started_;  // when
  std::int64_t clock_ = 0;                // counts starts and ends
};

}  // namespace

CheckerPtr one_group(const CheckedRun& run) { return std::make_unique<OneGroup>(run); }

}  // namespace hopbench::checkers
