// Shared code of the backends that compute on the host. Not part of the seam.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/compute/backend.h"

namespace hopbench {

constexpr double kBatchNormEpsilon = 1e-5;

/// A network with shapes and the place of each layer's parameters. Error(kUsage) names the layer that does not fit.
struct NetworkPlan {
  NetworkPlan(std::span<const LayerSpec> specs, const Shape& input_shape, int largest);

  struct Layer {
    LayerSpec spec;
    Shape input, output;
    std::size_t weights = 0, biases = 0;  // number of them; of a batch norm: of scales, and of shifts
    std::size_t weights_at = 0;           // offset in the parameters
    std::size_t bias_at = 0;              // weights_at + weights
    std::size_t means_at = 0;             // offset in the statistics; the variances follow
    bool kept = false;                    // some later layer adds its outputs
  };
  std::vector<Layer> layers;
  Shape input, output;
  int largest_batch;
  std::size_t parameters = 0, statistics = 0;  // number of them; no statistics: there is no batch norm

 private:
  void add_layer(const LayerSpec& spec);
};

/// Returns the variance of the population, given that of `count` samples.
float population_variance(double variance, std::size_t count);

/// Throws Error(kUsage) that names the first label that is not a class.
void check_labels(const std::int32_t* labels, int batch, std::size_t classes);

/// Computes CompiledNetwork::softmax_cross_entropy in host memory, in double and in one fixed order. Its exp and log
/// use only + and *, so its bits do not depend on the C library's choice of instructions.
float softmax_cross_entropy_on_host(const float* logits, const std::int32_t* labels, float* dlogits, int batch,
                                    std::size_t classes, int* correct);

std::unique_ptr<Backend> create_reference_backend(const BackendOptions& options);

std::string onednn_unavailable();
std::unique_ptr<Backend> create_onednn_backend(const BackendOptions& options);

}  // namespace hopbench
