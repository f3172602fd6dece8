// R2SP: round-robin synchronous parallel. Workers update a parameter server one after another, evenly spread over the
// iteration, so that they do not meet on its link.
// Chen, Wang, Li: "Round-Robin Synchronization: Mitigating Communication Bottlenecks in Parameter Servers", INFOCOM
// 2019. Without its batch tuning.
//
// One rule is enforced here: gradients are applied and answered in one fixed cyclic order of the workers, at least r T
// / n apart. T is the moving average of the time between two updates of a worker. A push asks for leave to go on, and
// the answer, the new weights, gives it. So between two updates of a worker there is one of each other worker, and
// staleness is always n - 1.
//
// The order needs no agreement between servers. Each server spaces its updates by the T that it sees.
#include <algorithm>

#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::server::r2sp {

void r2sp(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return work(self, knobs);
  const double apart = knobs.real("r") / self.worker_count(), weight = knobs.real("ema");
  const auto here = [&](int worker) { return self.present(worker); };
  Shard shard(self);
  const Time start = self.now();
  std::vector<Time> updated(self.workers().size(), start);  // by worker
  Time last = start;                                        // update of any worker
  Duration t{};                                             // T; 0: nothing is known yet

  while (std::any_of(self.workers().begin(), self.workers().end(), here)) {
    for (const int worker : self.workers()) {
      self.until([&] { return self.has(is_from(kPush, worker)) || !here(worker); }, "the worker whose turn it is");
      if (!self.has(is_from(kPush, worker))) continue;  // it has left
      const Time turn = last + scaled(t, apart);
      if (turn > self.now()) self.sleep(turn - self.now(), "the time of the next update");
      const Message push = *self.take(is_from(kPush, worker));
      last = self.now();
      const Duration iteration = last - updated[static_cast<std::size_t>(worker)];
      t = t == Duration{} ? iteration : t + scaled(iteration - t, weight);
      updated[static_cast<std::size_t>(worker)] = last;
      shard.apply(push);
      shard.answer(worker, push.iter);
    }
  }
}

const Protocol& r2sp_protocol() {
  static const Protocol protocol{
      .name = "r2sp",
      .summary = "parameter server, round-robin: workers update in a fixed order, spread over the iteration",
      .paper =
          "Chen, Wang, Li: Round-Robin Synchronization: Mitigating Communication Bottlenecks in Parameter "
          "Servers, INFOCOM 2019",
      .family = Family::kServer,
      .knobs = with_server_knobs(
          {knob("r", 0.8, 0, 1, "updates are at least r T / n apart, T being an iteration's time", "paper"),
           knob("ema", 0.1, 0.001, 1, "weight of the newest iteration's time in T", "ours")}),
      .body = r2sp,
      .extra_ranks = server_count,
      .links = server_links,
      .gradients_per_update = always<1>,
      .gap_bound = [](const Setting&) -> std::optional<std::int64_t> { return 2; },
      .source = Source::kFullText,
      .reading = "r2sp/R1-R4"};
  return protocol;
}

}  // namespace hopbench::server::r2sp
