// ElasticBSP: from one barrier to the next a worker pushes R gradients at most, and the last of them (no iteration left
// is said with it) is answered only when every worker has pushed its last one. Those that have finished are not waited
// for.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ElasticBarrier : public Checker {
 public:
  explicit ElasticBarrier(const CheckedRun& run)
      : Checker("elastic_barrier"),
        workers_(run.workers),
        most_(run.integer("r")),
        live_(std::size_t(run.workers), 1),
        servers_(std::size_t(run.servers), std::vector<Worker>(std::size_t(run.workers))) {}

  void on(const Event& event) override {
    if (event.rank < workers_) {
      if (event.what == EventKind::kFinished) live_[std::size_t(event.rank)] = 0;
      if (event.what == EventKind::kEnter) live_[std::size_t(event.rank)] = 1;
      return;
    }
    std::vector<Worker>& workers = servers_[std::size_t(event.rank - workers_)];
    if (event.what == EventKind::kTake && event.kind == kPushKind) pushed(event, workers);
    if (event.what == EventKind::kSend && event.kind == kWeightsKind) answered(event, workers);
  }

 private:
  struct Worker {
    std::int64_t pushes = 0;  // since the barrier
    bool waits = false, released = false;
  };

  void pushed(const Event& event, std::vector<Worker>& workers) {
    for (Worker& each : workers) each.released = false;  // the barrier is over
    Worker& worker = workers[std::size_t(event.peer)];
    look();
    worker.waits = event.count == 0;
    if (++worker.pushes > most_) {
      fail(
          event.time, event.peer,
          "pushed " + std::to_string(worker.pushes) + " times since the barrier, allowed are " + std::to_string(most_));
    }
  }

  void answered(const Event& event, std::vector<Worker>& workers) {
    Worker& worker = workers[std::size_t(event.peer)];
    if (!worker.waits) return;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      if (live_[w] && !workers[w].waits && !workers[w].released) {
        fail(event.time, event.peer, "went on from the barrier before rank " + std::to_string(w) + " was there");
      }
    }
    worker = {.pushes = 0, .waits = false, .released = true};
  }

  int workers_;
  std::int64_t most_;
  std::vector<char> live_;
  std::vector<std::vector<Worker>> servers_;
};

}  // namespace

CheckerPtr elastic_barrier(const CheckedRun& run) { return std::make_unique<ElasticBarrier>(run); }

}  // namespace hopbench::checkers
