// D2, decentralised training over decentralised data: D-PSGD without the error that different data of the workers
// cause. Tang, Lian, Yan, Zhang, Liu: "D2: Decentralized Training over Decentralized Data", ICML 2018.
//
// Rules enforced here:
//   - x_1 = W (x_0 - lr g_0), and then x_{k+1} = W (2 x_k - x_{k-1} - lr_k g_k + lr_{k-1} g_{k-1});
//   - W is symmetric and doubly stochastic (Metropolis), and its smallest eigenvalue is above -1/3 + 0.02. On other
//     graphs the weights are (I + W) / 2, and this is Exact Diffusion.
// Worked out, x_{k+1} is W (psi_k + x_k - psi_{k-1}) with psi_k = x_k - lr_k g_k.
#include "protocols/skewed/bias_corrected.h"

namespace hopbench::skewed::d2 {

/// An iteration multiplies what differs between the models along an eigenvector of W by v - sqrt(v^2 - v), where its
/// eigenvalue v is below 0. At -1/3 that is -1. By this much above, it is -0.955, and a difference is halved within 15
/// iterations.
constexpr double kLimit = -1.0 / 3, kMargin = 0.02;

bool lazy_on(const Topology& graph) { return smallest_mixing_eigenvalue(graph) <= kLimit + kMargin; }

void d2(Node& self, const KnobValues&) {
  train_bias_corrected(self, gossip::with_neighbours(self, lazy_on(self.graph())));
}

std::string note(const Setting& setting) {
  if (!setting.graph.undirected() || !lazy_on(setting.graph)) return "";
  const double smallest = smallest_mixing_eigenvalue(setting.graph);
  const char* why = smallest < kLimit + 1e-9 ? "With one at or below -1/3 D2 does not converge"
                                             : "With one so little above -1/3 D2 converges slowly";
  return "W of topology '" + setting.graph.name() + "' has the eigenvalue " + std::to_string(smallest) + ". " + why +
         ": it averages with (I + W) / 2, as exact_diffusion does";
}

const Protocol& d2_protocol() {
  static const Protocol protocol{
      .name = "d2",
      .summary = "D-PSGD with the last two models and gradients in each step; for skewed data",
      .paper = "Tang, Lian, Yan, Zhang, Liu: D2: Decentralized Training over Decentralized Data, ICML 2018",
      .family = Family::kSkewed,
      .body = d2,
      .refuse = gossip::not_symmetric,
      .note = note,
      .gap_bound = gossip::diameter_of,
      .source = Source::kMemory,
      .reading = "skewed/D1-D3"};
  return protocol;
}

}  // namespace hopbench::skewed::d2
