// A network's passes for one batch size: the kernels and library calls, in their order. Everything is launched onto one
// stream and nothing waits, so that a pass can be captured as a graph.
//
// One step of training runs as follows. The parameters are loaded into the network's own copies (one launch). x is
// converted to channels last, and every layer computes from its `in` to its `out`. The logits are converted back, and
// the loss leaves its gradient. Then each layer, from the last to the first, computes from `dout` to `din`. As soon as
// an eighth of the parameters has its gradient, that part is converted back to the caller's layout (one launch), and an
// event reports it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cuda/convolution.h"
#include "backends/cuda/network_memory.h"

namespace hopbench::cuda {

/// State shared by the programs of a network.
struct Workshop {
  Workshop(NetworkPlan plan_, Precision precision_, bool deterministic_);

  const NetworkPlan plan;
  const Precision precision;
  const Number number;
  const bool deterministic;
  StreamOwner stream;
  NetworkMemory memory;
  std::optional<Gemm> gemm;  // only if there are dense layers; and only if there are convolutions:
  std::optional<ConvolutionLibrary> convolutions;
  Buffer convolution_work;  // the most that any program needs
  /// See CompiledNetwork::watch. The stream is waited for before each call.
  std::function<void(int layer, CompiledNetwork::Direction direction)> watch;
};

class Program {
 public:
  Program(Workshop& shop, int batch);

  // The passes read and write through memory.pointers. See CompiledNetwork.
  void forward(bool training);  // parameters, x -> memory.logits; not training: with `statistics`
  void loss(bool gradient);     // memory.logits, memory.labels -> memory.loss, memory.dlogits
  void take_labels();           // labels -> memory.labels
  void write_logits();          // memory.logits -> y
  void take_dy();               // dy -> memory.dlogits
  void write_statistics();      // of the last forward -> seen
  /// Must be called before the first backward with `data`. May take more of the workshop's working memory.
  void want_input_gradient();
  /// Computes memory.dlogits -> gradient, and dx if `data`. `in_graph`: the pass is being captured.
  void backward(bool data, bool in_graph);

  /// Waits, after a backward, until layers are complete, and reports each.
  void tell(const std::function<void(int layer)>& layer_done);

 private:
  struct Flush {
    int down_to = 0;  // all layers from here on are complete
    EventOwner event;
  };
  Cells cells(const Shape& shape) const;
  void make_room(std::size_t work);
  void layer_forward(std::size_t i, bool training);
  void layer_backward(std::size_t i, bool data);
  void forward_dense(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void backward_dense(std::size_t i, bool data);
  void backward_conv(std::size_t i, bool data);
  void add_bias(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void bias_backward(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void told(std::size_t i, CompiledNetwork::Direction direction);

  Workshop& shop_;
  const NetworkPlan& plan_;
  NetworkMemory& memory_;
  const Stream stream_;
  const Number number_;
  const int batch_;
  std::vector<std::unique_ptr<Convolution>> convolutions_;  // of each convolution
  std::vector<Flush> flushes_;                              // in order; their places follow from the plan
};

}  // namespace hopbench::cuda
