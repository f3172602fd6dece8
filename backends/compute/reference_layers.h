// The layers of the reference backend, written like their definitions: one loop per index, sums in double in a fixed
// order. Activations are NCHW. Gradients are written, not added to. dx may be nullptr if it is not needed.
#pragma once

#include <vector>

#include "backends/compute/host.h"

namespace hopbench::reference {

using Layer = NetworkPlan::Layer;

void conv_forward(const Layer& layer, const float* params, const float* x, float* y, int batch);
void conv_backward(const Layer& layer, const float* params, const float* x, const float* dy, float* dparams, float* dx,
                   int batch);
void dense_forward(const Layer& layer, const float* params, const float* x, float* y, int batch);
void dense_backward(const Layer& layer, const float* params, const float* x, const float* dy, float* dparams, float* dx,
                    int batch);
void pool_forward(const Layer& layer, const float* x, float* y, int batch);
void pool_backward(const Layer& layer, const float* x, const float* dy, float* dx, int batch);

/// Moments of each channel of a batch norm's inputs. The variance is divided by the count.
struct Moments {
  std::vector<double> mean, variance;
};
Moments moments_of(const Layer& layer, const float* x, int batch);
void norm_forward(const Layer& layer, const float* params, const Moments& m, const float* x, float* y, int batch);
/// `m` must be the moments of this x.
void norm_backward(const Layer& layer, const float* params, const Moments& m, const float* x, const float* dy,
                   float* dparams, float* dx, int batch);

/// `other`: the outputs, of shape `from`, that the layer adds to x.
void add_forward(const Layer& layer, const Shape& from, const float* x, const float* other, float* y, int batch);
/// Adds to dother[batch][from]. The gradient of x is dy itself.
void add_backward(const Layer& layer, const Shape& from, const float* dy, float* dother, int batch);

}  // namespace hopbench::reference
