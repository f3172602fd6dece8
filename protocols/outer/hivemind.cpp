// hivemind's target batch: workers add up gradients until all of them together have enough samples, and then make one
// step. Ryabinin, Borzunov, Diskin, et al.: hivemind (Optimizer), github.com/learning-at-home/hivemind; Diskin et al.:
// "Distributed Deep Learning in Open Collaborations", NeurIPS 2021.
//
// Rules enforced here:
//   - a worker adds up its gradients at the same weights, and reports the samples of each to a tracker;
//   - once the samples since the last step are `target` or more, the tracker tells all workers. Each finishes its
//     gradient and joins an all-reduce of the sums. The step is with the mean over all samples, and as long as their
//     number asks for. A schedule of the learning rate goes by the samples of all steps before, in batches of all;
//   - a worker that has finished its iterations goes on joining until all have. Samples that are then too few for a
//     step are left.
// So a fast worker gives more samples to a step than a slow one, and waits only for the gradients under way.

#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::outer::hivemind {

constexpr Kind kSamples = kClock, kDone = kRequest, kStep = kToken, kOver = kSkip;

/// The sum of a worker's gradients since the last step.
class Accumulated {
 public:
  explicit Accumulated(Node& self, std::size_t n, Space& space) : self_(self), sum_(n, space) {}

  void add(const Gradient& g) {
    self_.operate(bytes_of(3 * sum_.size()), [&] { sum_.axpy(static_cast<float>(g.samples), share(g.values)); });
    samples_ += g.samples;
  }

  struct Mean {
    Payload gradient;
    std::int64_t samples = 0;  // of all workers
  };
  /// Returns the mean over the samples of all workers, and begins anew.
  Mean all_reduced(Iter round) {
    Vec mean = Vec::uninitialised(sum_.size(), sum_.space());
    const RingMean ring =
        ring_mean(self_, self_.workers(), round, share(sum_), mean, 0, "gradients of all workers", samples_);
    const double n = self_.worker_count();
    self_.operate(bytes_of(3 * sum_.size()), [&] {
      mean.scale(static_cast<float>(n / static_cast<double>(ring.count)));
      sum_ = Vec(sum_.size(), sum_.space());
    });
    averaged_by_counts(self_, self_.workers(), round, ring);
    samples_ = 0;
    return {share(mean), ring.count};
  }

 private:
  Node& self_;
  Vec sum_;
  std::int64_t samples_ = 0;  // of this worker
};

void work(Node& self) {
  const int tracker = self.servers().front();
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());
  optimizer.goes_by_its_steps();
  Accumulated sum(self, x.size(), x.space());
  const std::int64_t batch_of_all = std::int64_t{self.worker_count()} * self.batch();
  std::int64_t stepped = 0;  // samples of all steps so far
  Iter round = 0, k = 0;
  const auto step_if_due = [&] {
    if (!self.take(is_from(kStep, tracker, round))) return;
    const auto [gradient, samples] = sum.all_reduced(round);
    optimizer.step(x, gradient, stepped / batch_of_all, self.per_sample(samples));
    stepped += samples;
    ++round;
  };
  for (; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    sum.add(g);
    self.send(tracker, kSamples, round, {}, {g.samples});
    self.poll();
    step_if_due();
    self.report(k + 1, x);
  }
  self.send(tracker, kDone, round);
  self.retire();
  for (bool over = false; !over;) {
    self.until([&] { return self.has(is(kStep)) || self.has(is(kOver)); }, "workers that have not finished");
    over = !self.has(is(kStep)) && self.take(is(kOver));
    step_if_due();
  }
  self.report(k, x);
}

void track(Node& self, std::int64_t target) {
  std::int64_t samples = 0;
  Iter round = 0;
  const auto tell = [&](Kind what) {
    for (const int worker : self.workers()) self.send(worker, what, round, {}, {samples});
  };
  for (int done = 0; done < self.worker_count();) {
    self.until([&] { return self.has(is(kSamples)) || self.has(is(kDone)); }, "reports of samples");
    if (const auto report = self.take(is(kSamples)); report && report->iter == round) samples += report->words[0];
    if (samples >= target) {
      tell(kStep);
      ++round;
      samples = 0;
    }
    if (!self.has(is(kSamples)) && self.take(is(kDone))) ++done;
  }
  tell(kOver);
}

void hivemind(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self);
  track(self, knobs.integer("target", self.worker_count() * self.batch()));
}

std::vector<Edge> links(const Setting& setting) {
  return groups::joined(groups::ring_links(setting), groups::star_links(setting));
}

const Protocol& hivemind_protocol() {
  static const Protocol protocol{
      .name = "hivemind",
      .summary = "gradients are added up until all workers together have a target number of samples, then all-reduced",
      .paper = "Diskin et al.: Distributed Deep Learning in Open Collaborations, NeurIPS 2021",
      .family = Family::kOuter,
      .knobs = {knob("target", 0, 0, 1'000'000'000, "samples of a step, at least; 0: a batch of each worker",
                     "memory H")},
      .body = hivemind,
      .extra_ranks = always<1>,
      .links = links,
      .control = always<Control::kSchedule>,
      .source = Source::kMemory,
      .reading = "outer/H1-H4",
      .experimental = always<true>};  // which gradients a step takes is not checked
  return protocol;
}

}  // namespace hopbench::outer::hivemind
