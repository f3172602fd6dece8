// Partial Reduce: the weights of an average sum to 1. They are alike, or, dynamic, fall with staleness: a model whose
// tag is s behind the newest has decay^s times its weight. All members of a group use the same tags.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class GroupWeights : public Checker {
 public:
  explicit GroupWeights(const CheckedRun& run)
      : Checker("group_weights"),
        workers_(run.workers),
        decay_(run.text("weights") == "dynamic" ? std::get<double>(run.knobs.at("decay")) : 1.0),
        number_(std::size_t(run.workers), 0) {}

  void on(const Event& event) override {
    if (event.rank >= workers_) return;
    if (names_group(event)) number_[std::size_t(event.rank)] = event.iter;
    if (event.what != EventKind::kReduced) return;
    look();
    const Iter newest = *std::max_element(event.tags.begin(), event.tags.end());
    const auto due = [&](std::size_t i) { return std::pow(decay_, double(newest - event.tags[i])); };
    double total = 0, sum = 0;
    for (std::size_t i = 0; i < event.tags.size(); ++i) total += due(i);
    for (std::size_t i = 0; i < event.tags.size(); ++i) {
      sum += double(event.weights[i]);
      if (!(std::abs(double(event.weights[i]) - due(i) / total) < 1e-5)) {
        fail(event.time, event.rank,
             "gave rank " + std::to_string(event.senders[i]) + " the weight " + std::to_string(event.weights[i]) +
                 " instead of " + std::to_string(due(i) / total));
      }
    }
    if (!(std::abs(sum - 1) < 1e-5)) fail(event.time, event.rank, "its weights sum to " + std::to_string(sum));
    const auto& [first, fresh] = tags_.emplace(number_[std::size_t(event.rank)], event.tags);
    if (!fresh && first->second != event.tags) fail(event.time, event.rank, "weighs by other tags than its group");
  }

 private:
  int workers_;
  double decay_;
  std::vector<Iter> number_;                // of the group a worker is in
  std::map<Iter, std::vector<Iter>> tags_;  // by group
};

}  // namespace

CheckerPtr group_weights(const CheckedRun& run) { return std::make_unique<GroupWeights>(run); }

}  // namespace hopbench::checkers
