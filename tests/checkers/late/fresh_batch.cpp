// Rennala SGD: an update is made of exactly S gradients, all computed at the newest weights, with equal weights. Only
// late ones are lost.
#include "tests/checkers/late/at_first_server.h"

namespace hopbench::checkers {
namespace {

class FreshBatch : public AtFirstServer {
 public:
  explicit FreshBatch(const CheckedRun& run)
      : AtFirstServer("fresh_batch", run), batch_(run.integer("batch") > 0 ? run.integer("batch") : run.workers) {}

  void finish() override {
    if (std::int64_t(open()) >= batch_) fail(Time{}, workers(), "has more gradients left than make an update");
  }

 private:
  void updated(const ServerUpdate& update, const Event& event) override {
    if (std::int64_t(update.gradients.size()) != batch_)
      fail(event.time, event.rank, "made an update of " + std::to_string(update.gradients.size()) + " gradients");
    for (const UsedGradient& g : update.gradients) {
      if (g.age != 0) fail(event.time, event.rank, "used a late gradient of rank " + std::to_string(g.worker));
      if (g.weight * double(batch_) < 0.9999 || g.weight * double(batch_) > 1.0001)
        fail(event.time, event.rank, "weighed a gradient otherwise than the others");
    }
  }
  void lost(const Event& event, std::int64_t age) override {
    if (age == 0) fail(event.time, event.rank, "lost a gradient at the newest weights");
  }

  std::int64_t batch_;
};

}  // namespace

CheckerPtr fresh_batch(const CheckedRun& run) { return std::make_unique<FreshBatch>(run); }

}  // namespace hopbench::checkers
