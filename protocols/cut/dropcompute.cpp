// DropCompute: synchronous SGD in which a worker computes micro-batches up to a time limit, and joins the all-reduce
// with what it has. Giladi, Gottlieb, Shkolnik, Karnieli, Banner, Hoffer, Levy, Soudry: "DropCompute: Simple and More
// Robust Distributed Synchronous Training via Compute Variance Reduction", NeurIPS 2023.
//
// Rules enforced here:
//   - the step of an iteration is with the mean over the samples that all workers have computed, the same on all;
//   - in the first `measured` iterations nothing is dropped, and all workers' times are shared. From then on a worker
//     begins no micro-batch later than the limit after it began its first;
//   - the limit is the same on all workers: the one that would have made those iterations fastest for the samples that
//     it keeps, if it gains a hundredth (protocols/cut/drop_times.h).
#include "protocols/cut/drop_times.h"
#include "protocols/cut/sample_mean.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::cut::dropcompute {

constexpr const char* kWhy = "gradients of all workers";

/// The times of this worker's measured iterations, and what all make of them.
class Limit {
 public:
  Limit(Node& self, std::int64_t measured) : self_(self), measured_(measured) {}

  bool is_known() const { return known_; }
  Duration value() const { return limit_; }

  void began() {
    start_ = self_.now();
    begins_ = {0};
  }
  void begins_another() { begins_.push_back(seconds()); }
  void computed() { end_ = seconds(); }
  /// The all-reduce is over.
  void reduced() {
    if (known_) return;
    numbers_.push_back(static_cast<float>(begins_.size()));
    for (const double begin : begins_) numbers_.push_back(static_cast<float>(begin));
    numbers_.push_back(static_cast<float>(end_));
    numbers_.push_back(static_cast<float>(seconds() - end_));
    if (--measured_ <= 0) share_times();
  }

 private:
  double seconds() const { return to_seconds(self_.now() - start_); }

  /// Sends this worker's times to all others, and finds the limit from those of all.
  void share_times() {
    std::vector<std::vector<float>> all;
    for (const Message& said : exchanged(self_, kClock, 0, Vec::from_host(numbers_).share(), {}, "times"))
      all.push_back(Vec::copy_of(said.body).to_host());
    if (const auto best = best_limit(iterations_in(all, self_.batch()))) limit_ = seconds_to_duration(*best);
    known_ = true;
  }

  static std::vector<MeasuredIteration> iterations_in(const std::vector<std::vector<float>>& all, int batch) {
    std::vector<MeasuredIteration> iterations;
    for (const std::vector<float>& numbers : all) {
      std::size_t k = 0;
      for (std::size_t at = 0; at < numbers.size(); ++k) {
        if (k == iterations.size()) iterations.push_back({.workers = {}, .communication = 1e30});
        MicroBatchTimes times;
        const auto parts = static_cast<std::size_t>(numbers[at++]);
        for (std::size_t p = 0; p < parts; ++p) {
          times.begins.push_back(static_cast<double>(numbers[at++]));
          times.samples.push_back(part_of(batch, static_cast<int>(parts), static_cast<int>(p)).count);
        }
        times.end = static_cast<double>(numbers[at++]);
        // The slowest worker waits for nobody: what is left of its time is the all-reduce.
        iterations[k].communication = std::min(iterations[k].communication, static_cast<double>(numbers[at++]));
        iterations[k].workers.push_back(std::move(times));
      }
    }
    return iterations;
  }

  Node& self_;
  std::int64_t measured_;
  bool known_ = false;
  Duration limit_ = Duration::max();  // nothing is dropped
  Time start_{};
  std::vector<double> begins_;
  double end_ = 0;
  std::vector<float> numbers_;
};

void dropcompute(Node& self, const KnobValues& knobs) {
  const int parts = knobs.integer("parts");
  Limit limit(self, knobs.integer("measured"));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Time start = self.now();
    limit.began();
    CutGradient g = gradient_in_parts(self, x, k, parts, [&] {
      limit.begins_another();
      return !limit.is_known() || self.now() - start <= limit.value();
    });
    limit.computed();
    const SampleMean mean = mean_over_samples(self, k, std::move(g), kWhy);
    limit.reduced();
    optimizer.step(x, share(mean.values), k, self.per_sample(mean.samples));
    self.report(k + 1, x);
  }
}

const Protocol& dropcompute_protocol() {
  static const Protocol protocol{
      .name = "dropcompute",
      .summary = "all-reduce of what each worker has computed within a time limit",
      .paper =
          "Giladi et al.: DropCompute: Simple and More Robust Distributed Synchronous Training via Compute Variance "
          "Reduction, NeurIPS 2023",
      .family = Family::kCut,
      .knobs = {knob("measured", 20, 1, 100000, "first iterations, in which nothing is dropped", "ours"),
                parts_knob(8)},
      .body = dropcompute,
      .links = groups::all_pairs,
      .follows_times = always<true>,
      .changes = always<Changes::kWork>,
      .gap_bound = one_ahead,
      .source = Source::kMemory,
      .reading = "cut/D1-D5"};
  return protocol;
}

}  // namespace hopbench::cut::dropcompute
