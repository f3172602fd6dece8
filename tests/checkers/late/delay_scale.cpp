// Delay-adaptive SGD: each gradient makes a step of its own, scaled by its delay as the rule says. None is lost.
#include <algorithm>
#include <cmath>

#include "tests/checkers/late/at_first_server.h"

namespace hopbench::checkers {
namespace {

class DelayScale : public AtFirstServer {
 public:
  explicit DelayScale(const CheckedRun& run)
      : AtFirstServer("delay_scale", run), inverse_(run.text("rule") == "inverse"), workers_(run.workers) {}

 private:
  void updated(const ServerUpdate& update, const Event& event) override {
    if (update.gradients.size() != 1) return fail(event.time, event.rank, "made a step with several gradients");
    const double age = double(update.gradients[0].age);
    const double due = inverse_ ? 1 / (1 + age) : age <= workers_ ? 1 : workers_ / age;
    if (std::abs(update.gradients[0].weight - due) > 1e-9)
      fail(event.time, event.rank,
           "scaled a step of delay " + std::to_string(update.gradients[0].age) + " by " +
               std::to_string(update.gradients[0].weight));
  }
  void lost(const Event& event, std::int64_t) override { fail(event.time, event.rank, "lost a gradient"); }

  bool inverse_;
  double workers_;
};

}  // namespace

CheckerPtr delay_scale(const CheckedRun& run) { return std::make_unique<DelayScale>(run); }

}  // namespace hopbench::checkers
