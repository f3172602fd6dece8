// A network as a list of oneDNN primitives for one batch size. oneDNN's own types stay in the .cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "backends/compute/host.h"

namespace hopbench {

/// A list of primitives that is built once and run many times, by one thread at a time. It owns no memory: programs of
/// several batch sizes take turns in the same working memory.
class OneDnnProgram {
 public:
  virtual ~OneDnnProgram() = default;

  /// working_floats() returns the size of the working memory. bind() sets its place (64-byte aligned). Its contents may
  /// be lost when another program uses it.
  virtual std::size_t working_floats() const = 0;
  virtual void bind(float* memory) = 0;

  /// See CompiledNetwork::watch.
  using Watch = std::function<void(int layer, CompiledNetwork::Direction direction)>;
  virtual void watch(Watch done) = 0;

  /// `statistics`: those of the batch norms, for a program that is not for training.
  virtual void forward(const float* params, const float* statistics, const float* x, float* y) = 0;
  /// See CompiledNetwork.
  virtual void statistics(float* to) const = 0;
  virtual void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx,
                        const std::function<void(int layer)>& layer_done) = 0;
};

/// Throws dnnl::error if oneDNN lacks something. The thread count in force here must be in force in every run. `plan`
/// must outlive the program. `training`: see CompiledNetwork::forward and infer.
std::unique_ptr<OneDnnProgram> make_onednn_program(const NetworkPlan& plan, int batch, bool training);

}  // namespace hopbench
