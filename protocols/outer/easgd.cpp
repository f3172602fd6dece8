// EASGD, elastic averaging: every worker and a centre pull each other. Zhang, Choromanska, LeCun: "Deep Learning with
// Elastic Averaging SGD", NeurIPS 2015. This is the asynchronous form (Algorithm 1; with momentum in the local steps:
// EAMSGD).
//
// The rule enforced here: after every H local steps a worker sends its model x to the servers, which keep the centre z.
// With the x and z of that moment
//   x <- x - a (x - z)      at the worker          z <- z + a (x - z)      at the servers,       a = beta / n
// No worker waits for another. The centre is the model that is handed over.
#include "protocols/groups/group_average.h"
#include "protocols/node/collectives.h"
#include "protocols/node/node.h"
#include "protocols/outer/outer_optimizer.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::outer::easgd {

/// Moves `from` towards `to` by that share of the way.
Vec moved(const Payload& from, const Payload& to, double share_of_way) {
  return combined({{1 - share_of_way, from}, {share_of_way, to}});
}

void explore(Node& self, const KnobValues& knobs, double pull) {
  const Iter period = knobs.integer("period");
  Vec x = self.initial();
  Optimizer inner = self.optimizer(x.size());
  for (Iter k = 0; self.running(k); ++k) {
    if (self.returned()) k = server::rejoin(self, k, x);
    if (groups::inner_step(self, x, inner, k, period)) {
      server::push_gradient(self, k, x);
      const Vec centre = server::pull_weights(self, k, x);
      self.operate(bytes_of(3 * x.size()), [&] { x = moved(share(x), share(centre), pull); });
    }
    self.report(k + 1, x);
  }
}

void easgd(Node& self, const KnobValues& knobs) {
  const double pull = knobs.real("beta") / self.worker_count();
  if (!self.is_server()) return explore(self, knobs, pull);
  server::Shard centre(self);
  for (;;) {
    const Message push = self.recv(is(kPush), "a model");
    centre.answer(push.from, push.iter);
    centre.change(push, bytes_of(3 * push.body.size()),
                  [&](Vec& z, const Payload& x) { z = moved(share(z), x, pull); });
  }
}

const Protocol& easgd_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "easgd",
       .summary = "elastic averaging, asynchronous: each worker and a centre at the servers pull each other",
       .paper = "Zhang, Choromanska, LeCun: Deep Learning with Elastic Averaging SGD, NeurIPS 2015",
       .family = Family::kOuter,
       .knobs = {period_knob(),
                 knob("beta", 0.9, 0, 1, "n times the share of the way by which a worker and the centre meet",
                      "memory H"),
                 server::servers_knob()},
       .body = easgd,
       .free_run = periods<1>,
       .source = Source::kMemory,
       .reading = "outer/E1-E3"});
  return protocol;
}

}  // namespace hopbench::outer::easgd
