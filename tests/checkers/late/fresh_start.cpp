// SpecSync: the first server tells a worker to begin again exactly if enough gradients of others came within the window
// after its answer. A worker that obeys pulls the weights before anything else, does so once in an iteration, and
// pushes a gradient of its whole batch at the weights that it has then.
#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class FreshStart : public Checker {
 public:
  explicit FreshStart(const CheckedRun& run)
      : Checker("fresh_start"),
        share_(run.real("window")),
        enough_(run.real("rate") * run.workers),
        batch_(run.batch),
        windows_(std::size_t(run.workers)),
        workers_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank < int(workers_.size())) return of_worker(event, workers_[std::size_t(event.rank)]);
    if (event.rank != int(workers_.size())) return;
    const bool push = event.kind == kPushKind || event.kind == kPullKind;
    if (event.what == EventKind::kTake && push) took(event);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event);
    if (event.what == EventKind::kSend && event.kind == kSkipKind) told(event);
  }

 private:
  struct Window {
    bool open = false;
    Iter next = 0;
    Iter pushed = -1;  // answered next
    Time answered{}, ends{};
    double pushes = 0;
    bool left = false;  // its worker has been away since it opened, and may not have been told
  };
  struct Worker {
    bool here = true, must_pull = false;
    Iter restarted = -1;
    std::int64_t samples = 0;  // of the gradient that it is computing
  };

  void took(const Event& event) {
    for (std::size_t worker = 0; worker < windows_.size(); ++worker) {
      Window& window = windows_[worker];
      if (window.open && window.ends <= event.time) {
        if (window.pushes >= enough_ && workers_[worker].here && !window.left)
          fail(event.time, event.rank, "did not tell rank " + std::to_string(worker) + " to begin again");
        window.open = false;
      }
      if (event.kind == kPushKind) ++window.pushes;
    }
    if (event.kind == kPushKind) windows_[std::size_t(event.peer)].pushed = event.iter;
  }
  void answered(const Event& event) {
    Window& window = windows_[std::size_t(event.peer)];
    if (window.pushed != event.iter) return;  // the answer to a pull
    const Time ends = event.time + scaled(event.time - window.answered, share_);
    window = {true, event.iter + 1, -1, event.time, ends, 0};
  }
  void told(const Event& event) {
    look();
    Window& window = windows_[std::size_t(event.peer)];
    if (!window.open || window.next != event.iter)
      return fail(event.time, event.rank, "told a worker without a window");
    if (window.pushes < enough_) fail(event.time, event.rank, "told a worker whose weights are fresh");
    if (event.time < window.ends) fail(event.time, event.rank, "told a worker before its window ended");
    window.open = false;
  }

  void of_worker(const Event& event, Worker& worker) {
    if (event.what == EventKind::kFinished) {
      worker.here = false;
      windows_[std::size_t(event.rank)].left = true;
    }
    if (event.what == EventKind::kEnter) worker = {true, false, worker.restarted, 0};
    if (event.what == EventKind::kGradient) gradient(event, worker);
    if (event.what == EventKind::kTake && event.kind == kSkipKind) {
      look();
      if (worker.restarted == event.iter) fail(event.time, event.rank, "began an iteration a third time");
      worker.restarted = event.iter;
      worker.must_pull = true;
      worker.samples = 0;
    }
    if (event.what == EventKind::kTake && event.kind == kWeightsKind) worker.must_pull = false;
    if (event.what == EventKind::kSend && event.kind == kPushKind) pushed(event, worker);
  }
  void gradient(const Event& event, Worker& worker) {
    if (worker.must_pull) fail(event.time, event.rank, "went on with stale weights");
    if (event.first != event.iter * batch_ + worker.samples) fail(event.time, event.rank, "left samples out");
    worker.samples += event.count;
  }
  void pushed(const Event& event, const Worker& worker) {
    look();
    if (worker.must_pull) fail(event.time, event.rank, "pushed a gradient that it should drop");
    if (worker.samples != batch_) fail(event.time, event.rank, "pushed a gradient of a part of its batch");
  }

  double share_, enough_;
  std::int64_t batch_;
  std::vector<Window> windows_;  // by worker
  std::vector<Worker> workers_;
};

}  // namespace

CheckerPtr fresh_start(const CheckedRun& run) { return std::make_unique<FreshStart>(run); }

}  // namespace hopbench::checkers
