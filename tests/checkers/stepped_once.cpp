// A worker steps with each of its gradients once before it goes on. Where Hop decides a jump before the step
// (jump_momentum = "drop" in the parallel form), it steps with a gradient or declares it lost, never both.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class SteppedOnce : public Checker {
 public:
  explicit SteppedOnce(const CheckedRun& run)
      : Checker("stepped_once"),
        drops_(run.integer("max_jump") > 1 && run.text("form") == "parallel" && !run.flag("skip_keep_self") &&
               run.text("jump_momentum") == "drop"),
        workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= workers_.size()) return;
    Worker& worker = workers_[std::size_t(event.rank)];
    if (event.what == EventKind::kEnter) leave(event, worker);
    if (event.what == EventKind::kGradient) worker = {.computed = event.iter};
    if (event.what == EventKind::kApplied) settle(event, worker, worker.steps);
    const bool of_an_earlier_step = event.iter < worker.computed;
    if (event.what == EventKind::kLost && drops_ && !of_an_earlier_step) settle(event, worker, worker.losses);
  }

 private:
  struct Worker {
    Iter computed = -1;
    int steps = 0, losses = 0;
  };

  void settle(const Event& event, Worker& worker, int& times) {
    ++times;
    if (event.iter != worker.computed || worker.steps + worker.losses > 1)
      fail(event.time, event.rank, "settled the gradient of iteration " + std::to_string(event.iter) + " again");
  }

  void leave(const Event& event, const Worker& worker) {
    if (worker.computed < 0) return;
    look();
    if (worker.steps + worker.losses == 0) {
      fail(event.time, event.rank,
           "neither stepped with its gradient of iteration " + std::to_string(worker.computed) + " nor lost it");
    }
  }

  bool drops_;
  std::vector<Worker> workers_;
};

}  // namespace

CheckerPtr stepped_once(const CheckedRun& run) { return std::make_unique<SteppedOnce>(run); }

}  // namespace hopbench::checkers
