// The places of a network's numbers on the GPU. Laid out once, for the largest batch. The programs of all batch sizes
// take turns in this memory.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/compute/host.h"
#include "backends/cuda/device.h"
#include "backends/cuda/gemm.h"
#include "backends/cuda/kernels/kernels.h"

namespace hopbench::cuda {

/// The callers' arguments of a pass, read by kernels when they run: a captured graph outlives the pointers of one step.
struct Pointers {
  const float *parameters = nullptr, *x = nullptr, *dy = nullptr, *labels = nullptr, *statistics = nullptr;
  float *y = nullptr, *gradient = nullptr, *dx = nullptr, *seen = nullptr;
  float *logits = nullptr, *dlogits = nullptr;  // the network's own
};

/// The memory of one layer. `in` and `din` are `out` and `dout` of the layer before.
struct LayerMemory {
  void *in = nullptr, *out = nullptr, *din = nullptr, *dout = nullptr;
  void* shortcut = nullptr;                // the gradient at `out` that comes from later adds
  void *flat = nullptr, *dflat = nullptr;  // dense: its inputs in the order of the parameters, if that differs
  void *weights = nullptr, *dweights = nullptr;
  float *bias = nullptr, *dbias = nullptr;  // batch norm: weights is the scale, bias the shift
  float *saved = nullptr, *seen = nullptr;  // batch norm
  std::uint8_t* at = nullptr;               // max pool
  bool relu = false;                        // the ReLU behind it is computed with it
  bool folded = false;                      // a ReLU that the layer before computes: out is in
  /// Add: a later add has written the shortcut's gradient before.
  bool accumulate = false;
};

class NetworkMemory {
 public:
  /// Throws Error(kEnvironment), naming what is needed and what is free, if that is too little.
  NetworkMemory(const NetworkPlan& plan, Precision precision, Stream stream);

  std::vector<LayerMemory> layers;  // as in the plan
  void *input = nullptr, *dinput = nullptr;
  float *logits = nullptr, *dlogits = nullptr;
  float *seen = nullptr, *given = nullptr;  // statistics of batch norms: of the last pass, and to infer with
  std::int32_t* labels = nullptr;
  float* work = nullptr;  // for column sums
  Loss* loss = nullptr;
  Pointers* pointers = nullptr;
  Segment* segments = nullptr;
  std::vector<Segment> parts;   // the same, on the host, layer by layer
  std::vector<int> first_part;  // of each layer, and one past the last

 private:
  class Layout;
  std::vector<Buffer> buffers_;
};

}  // namespace hopbench::cuda
