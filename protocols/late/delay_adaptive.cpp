// Delay-adaptive asynchronous SGD: the later a gradient comes, the shorter its step. Koloskova, Stich, Jaggi: "Sharper
// Convergence Guarantees for Asynchronous SGD for Distributed and Federated Learning", NeurIPS 2022; Mishchenko, Bach,
// Even, Woodworth: "Asynchronous SGD Beats Minibatch SGD Under Arbitrary Delays", NeurIPS 2022. The older rule:
// Zhang, Gupta, Lian, Liu: "Staleness-Aware Async-SGD for Distributed Deep Learning", IJCAI 2016.
//
// The rule enforced here: each gradient is applied on arrival, with the learning rate times
//   min(1, n / delay)   if rule = "concurrency": delays up to the number of workers that compute at once cost nothing
//   1 / (delay + 1)     if rule = "inverse"
// where the delay is the number of updates since the gradient's weights were sent.
#include <algorithm>

#include "protocols/node/node.h"
#include "protocols/server/server.h"
#include "protocols/server/verdicts.h"

namespace hopbench::late::delay_adaptive {

bool is_inverse(const KnobValues& knobs) { return knobs.text("rule") == "inverse"; }

void delay_adaptive(Node& self, const KnobValues& knobs) {
  if (!self.is_server()) return server::work_marked(self, knobs);
  const bool inverse = is_inverse(knobs);
  const double n = self.worker_count();
  server::serve_deciding(self, {.rule = [inverse, n](const server::Arrival& gradient) {
                           const auto delay = static_cast<double>(gradient.delay());
                           return server::GradientVerdict{.scale = inverse ? 1 / (delay + 1) : n / std::max(n, delay)};
                         }});
}

// With equal workers every delay is n - 1: under "inverse" n steps of 1 / n already make one.
int gradients_per_update(const Setting& setting) { return is_inverse(setting.knobs) ? setting.workers : 1; }

const Protocol& delay_adaptive_protocol() {
  static const Protocol protocol = server::asynchronous(
      {.name = "delay_adaptive",
       .summary = "parameter server, asynchronous: the later a gradient comes, the shorter its step",
       .paper = "Koloskova, Stich, Jaggi: Sharper Convergence Guarantees for Asynchronous SGD for Distributed and "
                "Federated Learning, NeurIPS 2022",
       .family = Family::kLate,
       .knobs = server::with_server_knobs(
           {choice("rule", {"concurrency", "inverse"},
                   "factor of the step: min(1, workers / delay), or 1 / (delay + 1)", "memory M")}),
       .body = delay_adaptive,
       .gradients_per_update = gradients_per_update,
       .source = Source::kMemory,
       .reading = "late/A1-A3",
       .experimental = always<true>});  // the papers bound the factor by a constant over the delay
  return protocol;
}

}  // namespace hopbench::late::delay_adaptive
