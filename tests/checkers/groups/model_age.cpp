// Partial Reduce: a model's tag counts the steps on the longest way from the initial model to it. Each gradient adds
// one, and a model that was averaged is as new as the newest that went into it.
#include <algorithm>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class ModelAge : public Checker {
 public:
  explicit ModelAge(const CheckedRun& run) : Checker("model_age"), tags_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (std::size_t(event.rank) >= tags_.size()) return;
    Iter& tag = tags_[std::size_t(event.rank)];
    if (event.what == EventKind::kGradient) ++tag;
    if (event.what != EventKind::kReduced) return;
    look();
    for (std::size_t i = 0; i < event.senders.size(); ++i) {
      if (event.senders[i] != event.rank || event.tags[i] == tag) continue;
      fail(event.time, event.rank,
           "averages its model as one of " + std::to_string(event.tags[i]) + " steps, it has " + std::to_string(tag));
    }
    tag = *std::max_element(event.tags.begin(), event.tags.end());
  }

 private:
  std::vector<Iter> tags_;  // of each worker's model
};

}  // namespace

CheckerPtr model_age(const CheckedRun& run) { return std::make_unique<ModelAge>(run); }

}  // namespace hopbench::checkers
