// Asynchronous DiLoCo: workers push outer gradients to servers without waiting for each other. Liu, Chhaparia,
// Douillard, Kale, Rusu, Shen, Szlam, Ranzato: "Asynchronous Local-SGD Training for Language Modeling", arXiv
// 2401.09135.
//
// Rules enforced here:
//   - a worker makes H local steps from the servers' x0 and pushes x0 - x. It goes on at once from their newest x0;
//   - delayed Nesterov: an outer gradient D moves x0 by lr D / N on arrival. Momentum is taken in with every N-th only:
//       m <- beta m + the mean of the last N        x0 <- x0 - lr (beta m + D / N)
//   - DyLU: a worker that is slower makes fewer local steps, in proportion to its speed, so that all push equally
//     often.
#include <algorithm>
#include <cmath>

#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::outer::async_diloco {

void train(Node& self, const KnobValues& knobs) {
  Vec x0 = self.initial(), x = x0;
  Optimizer inner = self.optimizer(x.size());
  Iter steps = knobs.integer("period"), done = 0;
  Time since = self.now();
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) {
      k = server::rejoin(self, k, x0);
      take_over(self, x, x0);
      done = 0, since = self.now();
    }
    self.enter(k);
    groups::local_step(self, x, inner, k);
    if (++done >= steps) {
      const Vec outer = combined(self, {{1, share(x0)}, {-1, share(x)}});
      server::push_gradient(self, k, outer, {done, (self.now() - since).count()});
      Words said;
      x0 = server::pull_weights(self, k, x0, &said);
      take_over(self, x, x0);
      steps = said[0], done = 0, since = self.now();
    }
    self.report(k + 1, x0);
  }
}

/// The servers' outer optimizer.
class DelayedNesterov {
 public:
  DelayedNesterov(const server::Shard& shard, double lr, double beta, int every)
      : lr_(lr),
        beta_(beta),
        every_(every),
        trained_(shard.trained()),
        momentum_(trained_, shard.weights().space()),
        sum_(trained_, shard.weights().space()) {}

  /// Moves w by an outer gradient. Running statistics move by its share of the mean.
  void step(Vec& w, const Payload& outer) {
    const Payload trained = outer.slice(0, trained_);
    sum_.add(trained);
    Vec part = Vec::copy_of(w.slice(0, trained_));
    part.axpy(static_cast<float>(-lr_ / every_), trained);
    if (++come_ % every_ == 0) {
      momentum_.scale(static_cast<float>(beta_));
      momentum_.axpy(static_cast<float>(1.0 / every_), share(sum_));
      part.axpy(static_cast<float>(-lr_ * beta_), share(momentum_));
      sum_.fill(0);
    }
    w.assign(0, share(part));
    if (trained_ == w.size()) return;
    Vec statistics = Vec::copy_of(w.slice(trained_, w.size() - trained_));
    statistics.axpy(static_cast<float>(-1.0 / every_), outer.slice(trained_, w.size() - trained_));
    w.assign(trained_, share(statistics));
  }

 private:
  const double lr_, beta_;
  const int every_;
  const std::size_t trained_;
  Vec momentum_, sum_;  // of the outer gradients since momentum was taken in last
  std::int64_t come_ = 0;
};

void serve(Node& self, const KnobValues& knobs) {
  server::Shard shard(self);
  DelayedNesterov outer(shard, knobs.real("outer_lr"), knobs.real("outer_momentum"),
                        knobs.integer("every", self.worker_count()));
  std::vector<double> speeds(self.workers().size(), 0);  // of each worker: local steps a second; 0: not known
  for (;;) {
    const Message push = self.recv(is(kPush), "an outer gradient");
    double& speed = speeds[static_cast<std::size_t>(push.from)];
    speed = static_cast<double>(push.words[0]) / std::max(1e-9, to_seconds(Duration(push.words[1])));
    shard.change(push, bytes_of(6 * push.body.size()), [&](Vec& w, const Payload& d) { outer.step(w, d); });
    const double share = knobs.flag("dylu") ? speed / *std::max_element(speeds.begin(), speeds.end()) : 1;
    shard.answer(push.from, push.iter, {std::max<Iter>(1, std::llround(share * knobs.integer("period")))});
  }
}

void async_diloco(Node& self, const KnobValues& knobs) {
  return self.is_server() ? serve(self, knobs) : train(self, knobs);
}

const Protocol& async_diloco_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "async_diloco",
       .summary = "DiLoCo without barriers: outer gradients are applied on arrival, with delayed Nesterov momentum",
       .paper = "Liu et al.: Asynchronous Local-SGD Training for Language Modeling, arXiv 2401.09135",
       .family = Family::kOuter,
       .knobs = {period_knob(),
                 knob("dylu", true, "slower workers make fewer local steps, in proportion to their speed", "memory H"),
                 knob("outer_lr", 0.7, 0, 1000, "learning rate of the outer step", "memory M"),
                 knob("outer_momentum", 0.9, 0, 0.999999, "beta of the delayed momentum", "memory M"),
                 knob("every", 0, 0, 100000,
                      "N: outer gradients from one use of momentum to the next; 0: as many as workers",
                      "memory H; the default: ours"),
                 server::servers_knob()},
       .body = async_diloco,
       .free_run = periods<1>,
       .source = Source::kMemory,
       .reading = "outer/A1-A4",
       .experimental = always<true>});  // the form of the delayed momentum is not checked
  return protocol;
}

}  // namespace hopbench::outer::async_diloco
