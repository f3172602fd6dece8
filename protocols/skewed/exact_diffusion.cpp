// Exact Diffusion: D-PSGD with a correction, after which workers with different data agree on the best model for all.
// Yuan, Ying, Zhao, Sayed: "Exact Diffusion for Distributed Optimization and Learning", IEEE Transactions on Signal
// Processing, 2019.
//
// Rules enforced here:
//   - adapt:    psi_k = x_k - lr gradient at x_k
//   - correct:  phi_k = psi_k + x_k - psi_{k-1}, where psi_{-1} = x_0
//   - combine:  x_{k+1} = (I + W) / 2 phi_k, with all neighbours of this iteration, no earlier and no later ones. W is
//     symmetric and doubly stochastic (Metropolis).
#include "protocols/skewed/bias_corrected.h"

namespace hopbench::skewed::exact_diffusion {

void exact_diffusion(Node& self, const KnobValues&) { train_bias_corrected(self, gossip::with_neighbours(self, true)); }

const Protocol& exact_diffusion_protocol() {
  static const Protocol protocol{
      .name = "exact_diffusion",
      .summary = "D-PSGD whose models are corrected by what the last average took away; for skewed data",
      .paper =
          "Yuan, Ying, Zhao, Sayed: Exact Diffusion for Distributed Optimization and Learning, IEEE Transactions on "
          "Signal Processing, 2019",
      .family = Family::kSkewed,
      .body = exact_diffusion,
      .refuse = gossip::not_symmetric,
      .gap_bound = gossip::diameter_of,
      .source = Source::kMemory,
      .reading = "skewed/E1-E3"};
  return protocol;
}

}  // namespace hopbench::skewed::exact_diffusion
