// SelSync: workers train locally and average their models only when some worker's gradient has changed enough.
// Tyagi, Swany: "Accelerating Distributed ML Training via Selective Synchronization", CLUSTER 2023.
//
// One rule is enforced here: an iteration ends with the average of all workers' parameters if one of them raised its
// flag in it, and with each worker's own local step otherwise. A worker raises its flag if its gradient's smoothed
// squared norm changed by `delta` or more, and always in the first `window` iterations. Every worker has all flags of
// iteration k before k ends, so all decide alike, and no worker is more than one iteration ahead.
#include <algorithm>

#include "protocols/allreduce/gradient_change.h"
#include "protocols/groups/groups.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"

namespace hopbench::allreduce::selsync {

/// Returns the weight of the newest norm in the average: N / 100 in the paper.
double smoothing_factor(const Node& self, const KnobValues& knobs) {
  const double given = knobs.real("smoothing");
  return given > 0 ? given : std::min(1.0, self.worker_count() / 100.0);
}

/// Sends this worker's flag of iteration k to all others. Returns true if any worker raised its flag.
bool any_flag(Node& self, Iter k, bool mine) {
  const auto flags = exchanged(self, kRequest, k, {}, {mine ? 1 : 0}, "flags of all workers");
  return std::any_of(flags.begin(), flags.end(), [](const Message& flag) { return flag.words[0] != 0; });
}

void selsync(Node& self, const KnobValues& knobs) {
  const double delta = knobs.real("delta");
  const int window = knobs.integer("window");
  GradientChange gradient_change(window, smoothing_factor(self, knobs));
  Vec x = self.initial();
  Optimizer optimizer = self.optimizer(x.size());

  for (Iter k = 0; self.running(k); ++k) {
    self.enter(k);
    const Gradient g = self.gradient(x, k);
    const double change =
        self.computed(bytes_of(x.size()), [&] { return gradient_change.next(squared_norm(self.trained(g.values))); });
    optimizer.step(x, share(g.values), k);
    self.applied(self.rank, k);

    const bool unlike = !(change < delta);  // NaN raises the flag, too
    if (any_flag(self, k, k < window || unlike)) {
      Vec mean = Vec::uninitialised(x.size(), x.space());
      ring_mean(self, self.workers(), k, share(x), mean, 0, "parameters of the other workers");
      x = std::move(mean);
    }
    self.report(k + 1, x);
  }
}

// With delta = 0 every iteration is synchronised, whatever the gradients are.
Control control(const KnobValues& knobs) {
  return knobs.real("delta") > 0 ? Control::kLockstepByValues : Control::kLockstep;
}

const Protocol& selsync_protocol() {
  static const Protocol protocol{
      .name = "selsync",
      .summary = "local SGD that averages all models when some worker's gradient has changed enough",
      .paper = "Tyagi, Swany: Accelerating Distributed ML Training via Selective Synchronization, CLUSTER 2023",
      .family = Family::kAllReduce,
      .knobs = {knob("delta", 0.3, 0, 1e9, "change of the gradient from which on a worker raises its flag; 0: BSP",
                     "paper"),
                knob("window", 25, 1, 100000, "norms that are averaged; so many first iterations are synchronised",
                     "paper"),
                knob("smoothing", 0.0, 0, 1, "weight of the newest norm in their average; 0: workers / 100", "paper")},
      .body = selsync,
      .links = groups::all_pairs,
      .control = control,
      .changes = always<Changes::kWork>,  // without a flag no worker hears of another
      .gap_bound = one_ahead,
      .source = Source::kFullText,
      .reading = "selsync/norms smoothed, ring"};
  return protocol;
}

}  // namespace hopbench::allreduce::selsync
