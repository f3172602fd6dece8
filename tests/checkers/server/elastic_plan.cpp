// ElasticBSP: at a barrier the first server predicts each worker's next R pushes, as far apart as its last one was from
// the answer before it, and chooses one of each, so that the first and the last of those chosen are as close together
// as can be; of several such choices the earliest. A worker comes to the barrier with the push that was chosen.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ElasticPlan : public Checker {
 public:
  explicit ElasticPlan(const CheckedRun& run)
      : Checker("elastic_plan"), plans_(run.workers), most_(run.integer("r")), workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank < plans_ && event.what == EventKind::kFinished) workers_[std::size_t(event.rank)].gone = true;
    if (event.rank < plans_ && event.what == EventKind::kEnter) workers_[std::size_t(event.rank)].gone = false;
    if (event.rank != plans_) return;
    if (event.what == EventKind::kTake && event.kind == kPushKind) pushed(event);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) {
      Worker& worker = workers_[std::size_t(event.peer)];
      worker.answered = event.time;
      if (!std::exchange(worker.waits, false)) return;
      when_ = event.time;
      worker.left = event.count;
      plan_.push_back({worker.iteration, event.count});
    }
  }

  void finish() override { judge(); }

 private:
  struct Worker {
    Time answered{};
    Duration iteration{};
    std::int64_t left = 1;  // pushes to the barrier
    bool waits = false, gone = false;
  };
  struct Chosen {
    Duration iteration;
    std::int64_t pushes;
  };

  void pushed(const Event& event) {
    judge();
    Worker& worker = workers_[std::size_t(event.peer)];
    worker.iteration = event.time - worker.answered;
    worker.waits = event.count == 0;
    look();
    if (--worker.left != event.count)
      fail(event.time, event.peer,
           "has " + std::to_string(event.count) + " pushes left to the barrier, planned were " +
               std::to_string(worker.left));
  }

  /// The width of the choice that begins at `first`; the others' pushes are the first that are not before it.
  Duration width_from(Duration first) const {
    Duration last = first;
    for (const Chosen& each : plan_) {
      std::int64_t j = 1;
      while (j <= most_ && j * each.iteration < first) ++j;
      if (j > most_) return Duration::max();
      last = std::max(last, j * each.iteration);
    }
    return last - first;
  }

  void judge() {
    if (plan_.empty()) return;
    // A worker that died while it waited is part of the plan, but no event shows its part.
    const bool lost =
        std::any_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.waits && worker.gone; });
    if (lost) return plan_.clear();
    look();
    Duration least = Duration::max(), first = Duration::max(), last{}, earliest = Duration::max();
    for (const Chosen& each : plan_) {
      for (std::int64_t j = 1; j <= most_; ++j) {
        const Duration from = j * each.iteration, width = width_from(from);
        if (width < least || (width == least && from < earliest)) earliest = from;
        least = std::min(least, width);
      }
      first = std::min(first, each.pushes * each.iteration);
      last = std::max(last, each.pushes * each.iteration);
      if (each.pushes < 1 || each.pushes > most_)
        fail(when_, plans_, "planned " + std::to_string(each.pushes) + " pushes to the barrier");
    }
    if (last - first == least && first != earliest && least != Duration::max())
      fail(when_, plans_, "put the barrier later than where workers are as close together");
    if (last - first > least) {
      fail(when_, plans_,
           "put the barrier where workers are " + std::to_string((last - first).count()) +
               " ns apart: " + std::to_string(least.count()) + " were possible");
    }
    plan_.clear();
  }

  int plans_;
  std::int64_t most_;
  std::vector<Worker> workers_;
  std::vector<Chosen> plan_;  // of the barrier that was left last
  Time when_{};
};

}  // namespace

CheckerPtr elastic_plan(const CheckedRun& run) { return std::make_unique<ElasticPlan>(run); }

}  // namespace hopbench::checkers
