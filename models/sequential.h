// A Learner made of a list of layers, a softmax cross-entropy on top, and a Backend that computes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/compute/backend.h"
#include "models/learner.h"

namespace hopbench {

/// The distribution of initial weights. Biases and shifts start at 0, scales at 1. Layer i draws with a key of its own
/// (iteration = i). All draws are uniform, because normal ones take a logarithm, whose last bit varies by machine.
enum class Initial {
  kGlorot,  // U(-b, b) with b = sqrt(6 / (fan_in + fan_out)): Glorot, Bengio (2010); LeNet starts at the loss of
            // guessing
  /// b = sqrt(6 / fan_in): He, Zhang, Ren, Sun (2015), for deep networks of ReLUs. In the last layer sqrt(1 / fan_in),
  /// as in PyTorch: small logits, so that training starts near the loss of guessing.
  kHe,
};

/// Returns a learner. The last layer's outputs are the logits, one per class. Gradients are of up to `largest_batch`
/// samples. The backend must outlive it. Throws Error(kUsage) if a layer misfits its input or the backend lacks it.
///
/// Costs: a layer's backward pass counts twice its forward pass, the first layer's once (no gradient of the data).
std::unique_ptr<Learner> make_sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input,
                                         int largest_batch, Initial initial, Statistics statistics);

}  // namespace hopbench
