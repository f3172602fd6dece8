// The common loop of Exact Diffusion and D2, which correct the bias of D-PSGD under skewed data.
#pragma once

#include "protocols/gossip/mixing.h"

namespace hopbench {

/// Runs a worker:
///   psi_k = x_k - lr gradient at x_k       x_{k+1} = A (psi_k + x_k - psi_{k-1})       psi_{-1} = x_0
/// where A are the weights of `exchange`, which are symmetric. It keeps the correction c_k = x_k - psi_{k-1} itself:
///   phi_k = psi_k + c_k       c_{k+1} = c_k + the sum of A_ij (phi_j - phi_i)       x_{k+1} = psi_k + c_{k+1}
/// What a link adds at one end it takes off at the other, with the same rounding. So the sum of all c stays 0. As the
/// difference of two models it would gain a rounding error in each iteration, which moves all models for ever.
///
/// Running statistics are not corrected: A averages those of psi_k.
void train_bias_corrected(Node& self, const Exchange& exchange);

}  // namespace hopbench
