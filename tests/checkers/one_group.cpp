// Groups are serialised: a worker is told of one group at a time, each of a higher number than the last, and a group
// starts (its first member is told) only when each of its members is done with its earlier one. A member is done when
// it says so (an acknowledgement) or asks for its next group. Every request is answered, once.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class OneGroup : public Checker {
 public:
  explicit OneGroup(const CheckedRun& run) : Checker("one_group"), workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank < int(workers_.size())) return;
    ++now_;
    if (event.what == EventKind::kDeliver && (event.kind == kRequestKind || event.kind == kAckKind)) {
      Worker& worker = workers_[std::size_t(event.peer)];
      if (worker.in_group) worker.done = now_;
      worker.in_group = false;
      if (event.kind == kRequestKind) ++worker.requests;
    }
    if (event.what == EventKind::kSend && event.kind == kReplyKind) told(event, workers_[std::size_t(event.peer)]);
  }

  void finish() override {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (workers_[w].requests != 0)
        fail(Time{}, int(w), "has " + std::to_string(workers_[w].requests) + " requests that nobody answered");
    }
  }

 private:
  struct Worker {
    int requests = 0;  // not answered
    bool in_group = false;
    Iter group = -1;
    std::int64_t done = 0;  // when, with the group before
  };

  void told(const Event& event, Worker& worker) {
    look();
    if (--worker.requests < 0) fail(event.time, event.peer, "was given a group it had not asked for");
    if (event.iter < 0) return;  // none: it goes on alone
    const std::int64_t start = started_.emplace(event.iter, now_).first->second;
    const std::string group = "group " + std::to_string(event.iter);
    if (worker.in_group) fail(event.time, event.peer, "was given " + group + " while it was in another");
    if (event.iter <= worker.group)
      fail(event.time, event.peer, "was given " + group + " after " + std::to_string(worker.group));
    if (worker.done > start) fail(event.time, event.peer, group + " had started when it was in another");
    worker.group = event.iter;
    worker.in_group = true;
  }

  std::vector<Worker> workers_;
  std::map<Iter, std::int64_t> started_;  // by group
  std::int64_t now_ = 0;                  // events of the server so far
};

}  // namespace

CheckerPtr one_group(const CheckedRun& run) { return std::make_unique<OneGroup>(run); }

}  // namespace hopbench::checkers
