// The common loop of Exact Diffusion and D2, which correct the bias of D-PSGD under skewed data.
#pragma once

#include "protocols/gossip/mixing.h"

namespace hopbench::skewed {

/// Runs a worker:
///   psi_k = x_k - lr gradient at x_k       x_{k+1} = A (psi_k + x_k - psi_{k-1})       psi_{-1} = x_0
/// where A are the weights of `exchange`, which are symmetric. It keeps the correction c_k = x_k - psi_{k-1} itself:
///   phi_k = psi_k + c_k       c_{k+1} = c_k + the sum of A_ij (phi_j - phi_i)       x_{k+1} = psi_k + c_{k+1}
/// A link changes the c of its two workers by the same amount, once up and once down, and rounds both alike. So the sum
/// of all c stays 0. If c were computed as the difference of two models, its sum would gain a rounding error in each
/// iteration, and every step would move all models by that sum.
///
/// Running statistics are not corrected: A averages those of psi_k.
void train_bias_corrected(Node& self, const gossip::Exchange& exchange);

}  // namespace hopbench::skewed
