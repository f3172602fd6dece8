// A Learner made of a list of layers, a softmax cross-entropy on top, and a Backend that computes them.
#pragma once

#include <memory>
#include <vector>

#include "backends/compute/backend.h"
#include "models/learner.h"

namespace hopbench {

/// The last layer's outputs are the logits, one a class. Gradients of up to `largest_batch` samples. The backend must
/// outlive the learner. Error(kUsage) if a layer does not fit its input or the backend lacks it.
///
/// Initial weights: Glorot-uniform, U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), so that LeNet starts at the loss of
/// guessing; biases 0. Layer i draws under a key of its own (iteration = i).
/// Costs: a layer's backward pass counts twice its forward pass, the first layer's once (no gradient of the data).
std::unique_ptr<Learner> make_sequential(Backend& backend, std::vector<LayerSpec> layers, const Shape& input,
                                         int largest_batch);

}  // namespace hopbench
