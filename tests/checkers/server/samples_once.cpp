// FlexRR: every sample of a worker's iteration is computed exactly once, by the worker or by a helper, before the
// worker adds up; and the sum holds each of those gradients, weighed by its samples. In everybody's order the batch of
// worker w in iteration k begins at (k n + w) b.
#include <algorithm>
#include <cmath>

#include "tests/checkers/checkers.h"

namespace hopbench::checkers {
namespace {

class SamplesOnce : public Checker {
 public:
  explicit SamplesOnce(const CheckedRun& run) : Checker("samples_once"), workers_(run.workers), batch_(run.batch) {}

  void on(const Event& event) override {
    if (event.what == EventKind::kGradient) computed(event);
    if (event.what == EventKind::kReduced && event.rank < workers_) added_up(event);
  }

  void finish() override {
    for (const auto& [batch, by] : open_) {
      if (!by.empty()) fail(Time{}, int(batch % workers_), "computed on samples of" + text(batch) + " for nothing");
    }
  }

 private:
  struct Batch {
    std::map<int, std::int64_t> by;  // rank -> how many of the samples it computed
    std::vector<char> done;          // by sample
    bool empty() const { return by.empty(); }
  };

  std::string text(std::int64_t batch) const {
    return " worker " + std::to_string(batch % workers_) + "'s iteration " + std::to_string(batch / workers_);
  }

  void computed(const Event& event) {
    const std::int64_t number = event.first / batch_, from = event.first % batch_;
    if (from + event.count > batch_)
      return fail(event.time, event.rank, "computed on samples of two batches, one of them" + text(number));
    if (used_[number]) fail(event.time, event.rank, "computed on samples of" + text(number) + ", which is over");
    if (event.rank == number % workers_ && event.iter != number / workers_)
      fail(event.time, event.rank, "computed in iteration " + std::to_string(event.iter) + " on" + text(number));
    Batch& batch = open_[number];
    batch.done.resize(std::size_t(batch_), 0);
    batch.by[event.rank] += event.count;
    for (std::int64_t i = from; i < from + event.count; ++i) {
      if (std::exchange(batch.done[std::size_t(i)], 1) != 0)
        fail(event.time, event.rank, "computed sample " + std::to_string(i) + " of" + text(number) + " once more");
    }
  }

  void added_up(const Event& event) {
    look();
    const std::int64_t number = event.iter * workers_ + event.rank;
    used_[number] = true;
    Batch batch = open_[number];
    open_.erase(number);
    const auto done = std::count(batch.done.begin(), batch.done.end(), char{1});
    if (done != batch_) fail(event.time, event.rank, "added up " + std::to_string(done) + " samples of" + text(number));
    std::map<int, double> weights;
    for (std::size_t i = 0; i < event.senders.size(); ++i) weights[event.senders[i]] += event.weights[i];
    for (const auto& [rank, samples] : batch.by) weights[rank] -= double(samples) / double(batch_);
    for (const auto& [rank, off] : weights) {
      if (std::abs(off) > 1e-5)
        fail(event.time, event.rank, "rank " + std::to_string(rank) + "'s weight is off by " + std::to_string(off));
    }
  }

  std::int64_t workers_, batch_;
  std::map<std::int64_t, Batch> open_;  // by the number of the batch in everybody's order
  std::map<std::int64_t, bool> used_;
};

}  // namespace

CheckerPtr samples_once(const CheckedRun& run) { return std::make_unique<SamplesOnce>(run); }

}  // namespace hopbench::checkers
