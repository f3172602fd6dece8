// Every gradient that a worker pushed is applied exactly once, by every server, and in the worker's order.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class PushApplied : public Checker {
 public:
  explicit PushApplied(const CheckedRun& run) : Checker("push_applied"), workers_(run.workers) {}

  void on(const Event& event) override {
    if (event.rank < workers_) return;
    auto& open = open_[{event.rank, event.peer}];
    if (event.what == EventKind::kDeliver && event.kind == kPushKind) open.push_back(event.iter);
    if (event.what != EventKind::kApplied) return;
    look();
    if (open.empty() || open.front() != event.iter) {
      fail(event.time, event.rank,
           "applied a gradient of rank " + std::to_string(event.peer) + ", iteration " + std::to_string(event.iter) +
               ", which is not the next one it got");
    } else {
      open.erase(open.begin());
    }
  }

  void finish() override {
    for (const auto& [pair, open] : open_) {
      if (!open.empty()) {
        fail(Time{}, pair.first,
             "never applied " + std::to_string(open.size()) + " gradients of rank " + std::to_string(pair.second));
      }
    }
  }

 private:
  int workers_;
  std::map<std::pair<int, int>, std::vector<Iter>> open_;  // (server, worker): iterations that wait to be applied
};

}  // namespace

CheckerPtr push_applied(const CheckedRun& run) { return std::make_unique<PushApplied>(run); }

}  // namespace hopbench::checkers
