// Decoupled DiLoCo: a merge has a quorum of learners, each once, or all that are there; and what it makes goes to all.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class QuorumMerges : public Checker {
 public:
  explicit QuorumMerges(const CheckedRun& run) : Checker("quorum_merges"), workers_(run.workers) {
    const auto wanted = int(run.integer("quorum"));
    quorum_ = wanted > 0 ? std::min(wanted, workers_) : (workers_ + 1) / 2;
  }

  void on(const Event& event) override {
    if (event.what == EventKind::kFinished && event.rank < workers_) left_.insert(event.rank);
    if (event.what == EventKind::kFault && event.rank < workers_ && std::string_view(event.text) == "away")
      away_.insert(event.rank);
    if (event.rank < workers_) return;
    if (event.what == EventKind::kSend && event.kind == kStateKind) away_.erase(event.peer);  // it is back
    if (event.what == EventKind::kTake && event.kind == kPushKind) pushed_[event.count].insert(event.peer);
    if (event.what == EventKind::kApplied && int(left_.size()) < workers_) {  // else the merge is sent to no learner
      if (!merged_.insert(event.peer).second) fail(event.time, event.rank, "merged a learner twice");
    }
    if (event.what == EventKind::kSend && event.kind == kWeightsKind && !merged_.empty()) merge(event);
  }

 private:
  void merge(const Event& event) {
    look();
    if (merged_ != pushed_[event.count])
      fail(event.time, event.rank, "merged other learners than had sent fragment " + std::to_string(event.count));
    std::set<int> gone = left_;
    gone.insert(away_.begin(), away_.end());
    if (int(merged_.size()) < std::min(quorum_, workers_ - int(gone.size())))
      fail(event.time, event.rank, "merged " + std::to_string(merged_.size()) + " learners");
    merged_.clear();
    pushed_[event.count].clear();
  }

  int workers_, quorum_ = 1;
  std::set<int> left_, away_, merged_;
  std::map<std::int64_t, std::set<int>> pushed_;  // by fragment, since its last merge
};

}  // namespace

CheckerPtr quorum_merges(const CheckedRun& run) { return std::make_unique<QuorumMerges>(run); }

}  // namespace hopbench::checkers
