// Methods that cut gradients: the micro-batches of an iteration are from the front of the worker's batch, one after the
// other, one at the least, and at most a batch. DropCompute: whole batches while times are measured, and then one time
// limit for all: no worker begins a micro-batch later after its first than another has stopped.
#include <algorithm>
#include <limits>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class FrontParts : public Checker {
 public:
  explicit FrontParts(const CheckedRun& run)
      : Checker("front_parts"),
        workers_(run.workers),
        batch_(run.batch),
        measured_(run.has("measured") ? run.integer("measured") : -1),
        at_(std::size_t(run.workers)) {}

  void on(const Event& event) override {
    if (event.rank >= workers_) return;
    At& at = at_[std::size_t(event.rank)];
    if (event.what == EventKind::kGradient) part(event, at);
    if (measured_ >= 0 && event.what == EventKind::kSend && at.samples > 0 && !at.over) over(event, at);
    if (event.what == EventKind::kEnter) at = {.entered = event.time};
  }

 private:
  struct At {
    Time entered{};
    std::int64_t samples = 0;
    bool over = false;  // it has gone on to average
  };

  void part(const Event& event, At& at) {
    look();
    const std::int64_t begin = event.iter * batch_ + at.samples;
    if (event.first != begin || at.over || at.samples + event.count > batch_)
      fail(event.time, event.rank,
           "computed samples " + std::to_string(event.first) + " on in iteration " + std::to_string(event.iter) +
               ", not the next ones of its batch");
    const Duration begun = at.samples == 0 ? Duration{} : event.since - at.entered;
    at.samples += event.count;
    if (measured_ < 0 || event.iter < measured_) return;
    latest_begun_ = std::max(latest_begun_, begun);
    hold(event);
  }

  void over(const Event& event, At& at) {
    at.over = true;
    if (at.samples == batch_) return;
    if (event.iter < measured_) return fail(event.time, event.rank, "dropped samples while times were measured");
    earliest_stop_ = std::min(earliest_stop_, event.time - at.entered);
    hold(event);
  }

  void hold(const Event& event) {
    if (latest_begun_ > earliest_stop_) fail(event.time, event.rank, "two workers had different time limits");
  }

  int workers_;
  std::int64_t batch_, measured_;  // measured_: -1: there is no time limit
  std::vector<At> at_;
  Duration latest_begun_{}, earliest_stop_ = Duration::max();
};

}  // namespace

CheckerPtr front_parts(const CheckedRun& run) { return std::make_unique<FrontParts>(run); }

}  // namespace hopbench::checkers
