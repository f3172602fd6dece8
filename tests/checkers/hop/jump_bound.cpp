// A jump: a worker advances by J > 1 only if it is at least skip_trigger behind every out-neighbour, by at most
// max_jump, and lands ahead of none of them: the one it would overtake could wait for a tag that is never sent.
// Out-neighbours that have finished are not counted.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class JumpBound : public Checker {
 public:
  explicit JumpBound(const CheckedRun& run)
      : Checker("jump_bound"),
        graph_(run),
        longest_(run.integer("max_jump")),
        trigger_(run.integer("skip_trigger")),
        at_(std::size_t(run.workers), 0),
        live_(std::size_t(run.workers), 1) {}

  void on(const Event& event) override {
    if (event.rank >= graph_.size()) return;
    Iter& at = at_[std::size_t(event.rank)];
    if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
    if (event.what != EventKind::kEnter) return;
    look();
    const Iter before = at;
    at = event.iter;
    if (at <= before + 1) return;
    const std::string jump = "jumped from " + std::to_string(before) + " to " + std::to_string(at);
    if (at - before > longest_) fail(event.time, event.rank, jump + ", at most " + std::to_string(longest_));
    for (int peer : graph_.out(event.rank)) {
      if (!live_[std::size_t(peer)]) continue;
      const Iter there = at_[std::size_t(peer)];
      if (there < at || there - before < trigger_) {
        fail(event.time, event.rank, jump + " with rank " + std::to_string(peer) + " at " + std::to_string(there));
      }
    }
  }

 private:
  Graph graph_;
  std::int64_t longest_, trigger_;
  std::vector<Iter> at_;
  std::vector<char> live_;
};

}  // namespace

CheckerPtr jump_bound(const CheckedRun& run) { return std::make_unique<JumpBound>(run); }

}  // namespace hopbench::checkers
