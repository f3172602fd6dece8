// hivemind: the tracker has a step made exactly when the samples that it was told of since the last one reach the
// target; each worker takes part in every step, in order, with the same number of steps in the end.
#include <set>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class TargetBatch : public Checker {
 public:
  explicit TargetBatch(const CheckedRun& run)
      : Checker("target_batch"),
        workers_(run.workers),
        target_(run.integer("target") > 0 ? run.integer("target") : std::int64_t{run.workers} * run.batch),
        steps_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (event.rank == workers_) return of_tracker(event);
    if (event.what != EventKind::kReduced) return;
    look();
    if (event.iter != steps_[std::size_t(event.rank)]++) fail(event.time, event.rank, "left out a step");
    if (int(event.senders.size()) != workers_) fail(event.time, event.rank, "made a step without some workers");
  }

  void finish() override {
    for (int w = 0; w < workers_; ++w) {
      if (steps_[std::size_t(w)] != round_) fail(Time{}, w, "made another number of steps than were told");
    }
  }

 private:
  void of_tracker(const Event& event) {
    if (event.what == EventKind::kTake && event.kind == kClockKind) {
      if (samples_ >= target_) fail(event.time, event.rank, "did not have a step made that was due");
      if (event.iter == round_) samples_ += event.count;
    }
    if (event.what != EventKind::kSend || event.kind != kTokenKind) return;
    look();
    if (samples_ < target_) fail(event.time, event.rank, "had a step made of too few samples");
    told_.insert(event.peer);
    if (int(told_.size()) < workers_) return;
    told_.clear();
    samples_ = 0;
    ++round_;
  }

  int workers_;
  std::int64_t target_, samples_ = 0;
  Iter round_ = 0;
  std::set<int> told_;       // of the step under way
  std::vector<Iter> steps_;  // by worker
};

}  // namespace

CheckerPtr target_batch(const CheckedRun& run) { return std::make_unique<TargetBatch>(run); }

}  // namespace hopbench::checkers
