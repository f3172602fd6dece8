// Ringmaster ASGD: each gradient makes a step of its own if its delay is under R, and is lost otherwise.
#include "tests/checkers/late/at_first_server.h"

namespace hopbench::checkers {
namespace {

class DelayLimit : public AtFirstServer {
 public:
  explicit DelayLimit(const CheckedRun& run)
      : AtFirstServer("delay_limit", run), limit_(run.integer("delay") > 0 ? run.integer("delay") : run.workers) {}

  void finish() override {
    if (open() > 0) fail(Time{}, workers(), "has neither used nor lost some gradients");
  }

 private:
  void updated(const ServerUpdate& update, const Event& event) override {
    if (update.gradients.size() != 1) fail(event.time, event.rank, "made a step with several gradients");
    if (update.gradients[0].age >= limit_)
      fail(event.time, event.rank, "used a gradient of delay " + std::to_string(update.gradients[0].age));
  }
  void lost(const Event& event, std::int64_t age) override {
    if (age < limit_) fail(event.time, event.rank, "lost a gradient of delay " + std::to_string(age));
  }

  std::int64_t limit_;
};

}  // namespace

CheckerPtr delay_limit(const CheckedRun& run) { return std::make_unique<DelayLimit>(run); }

}  // namespace hopbench::checkers
