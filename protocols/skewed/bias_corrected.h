// The common loop of Exact Diffusion and D2, which correct the bias of D-PSGD under skewed data.
#pragma once

#include "protocols/gossip/mixing.h"

namespace hopbench {

/// Runs a worker:
///   psi_k = x_k - lr gradient at x_k       x_{k+1} = A (psi_k + x_k - psi_{k-1})       psi_{-1} = x_0
/// where A are the weights of `exchange`. Running statistics are not corrected: A averages those of psi_k.
void train_bias_corrected(Node& self, const Exchange& exchange);

}  // namespace hopbench
