// DC-ASGD: asynchronous SGD whose late gradients are corrected. Zheng, Meng, Wang, Chen, Yu, Ma, Liu: "Asynchronous
// Stochastic Gradient Descent with Delay Compensation", ICML 2017.
//
// The rule enforced here: each gradient is applied on arrival, but not g itself. With w the weights as they are now and
// w' those that its worker was sent, a step is made with
//   g + c * g * g * (w - w')          number by number: g * g stands for the Hessian's diagonal
// where c is lambda (DC-ASGD-c), or lambda / sqrt(s) with s a moving mean of g * g (DC-ASGD-a). With lambda = 0 this is
// ps_asp. The server keeps w' of each worker: as many vectors as there are workers.
#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/shard.h"

namespace hopbench::late::dc_asgd {

float lambda_of(const KnobValues& knobs) {
  const double wanted = knobs.real("lambda");
  return static_cast<float>(wanted >= 0 ? wanted : knobs.text("variant") == "adaptive" ? 2 : 0.04);
}

class Compensator {
 public:
  Compensator(Node& self, const server::Shard& shard, const KnobValues& knobs)
      : self_(self),
        shard_(shard),
        by_{.lambda = lambda_of(knobs), .decay = static_cast<float>(knobs.real("decay"))},
        sent_(self.workers().size(), share(shard.weights())) {
    if (knobs.text("variant") == "adaptive") square_ = Vec(shard.trained(), shard.weights().space());
  }

  /// Records that the worker is sent the weights as they are.
  void sends(int worker) { sent_[static_cast<std::size_t>(worker)] = share(shard_.weights()); }

  /// Returns the compensated gradient, always dense. Running statistics stay as they are.
  Payload of(const Message& push) {
    Vec g = Vec::uninitialised(push.body.size(), shard_.weights().space());
    const Payload w = share(shard_.weights()), before = sent_[static_cast<std::size_t>(push.from)];
    const std::size_t passes = square_.size() > 0 ? 7 : 5;  // g is copied, g, w and w' are read, g is written
    self_.operate(bytes_of(passes * g.size()), [&] {
      if (push.body.sparse()) g.fill(0), g.add(push.body);
      if (!push.body.sparse()) g.assign(0, push.body);
      g.space().compensate(g.mutable_data(), w.data(), before.data(), square_.mutable_data(), by_, shard_.trained());
    });
    return share(g);
  }

 private:
  Node& self_;
  const server::Shard& shard_;
  const Space::Compensation by_;
  Vec square_;                 // empty: not adaptive
  std::vector<Payload> sent_;  // by worker
};

void dc_asgd(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return server::work(self, knobs);
  server::Shard shard(self);
  Compensator compensator(self, shard, knobs);
  shard.at_welcome([&](int worker) { compensator.sends(worker); });
  for (;;) {
    Message push = self.recv(is(kPush), "a gradient");
    shard.join(push);
    push.body = compensator.of(push);
    shard.apply(push);
    compensator.sends(push.from);
    shard.answer(push.from, push.iter);
  }
}

const Protocol& dc_asgd_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "dc_asgd",
       .summary = "parameter server, asynchronous: late gradients are corrected for how far the weights have moved",
       .paper = "Zheng et al.: Asynchronous Stochastic Gradient Descent with Delay Compensation, ICML 2017",
       .family = Family::kLate,
       .knobs = server::with_server_knobs(
           {choice("variant", {"constant", "adaptive"},
                   "the factor of the compensation: lambda, or lambda / sqrt(mean square)", "memory H"),
            knob("lambda", -1.0, -1, 100, "lambda; below 0: 0.04, or 2 for the adaptive variant", "memory H"),
            knob("decay", 0.95, 0, 0.999999, "adaptive: what the mean square keeps at each gradient", "memory H")}),
       .body = dc_asgd,
       .gradients_per_update = always<1>,
       .source = Source::kMemory,
       .reading = "late/D1-D3"});
  return protocol;
}

}  // namespace hopbench::late::dc_asgd
