// A network's passes for one batch size: which kernels and library calls, in which order. Everything is launched onto
// one stream and nothing waits, so that a pass can be captured as a graph.
//
// One step of training walks like this. The parameters are loaded into the network's own copies (one launch), x is
// turned to channels last, every layer computes from its `in` to its `out`; the logits are turned back, and the loss
// leaves its gradient. Then from the last layer to the first each computes from `dout` to `din`, and as soon as an
// eighth of the parameters has its gradient, that is turned back to the caller's layout (one launch) and an event tells
// of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/cuda/convolution.h"
#include "backends/cuda/network_memory.h"

namespace hopbench::cuda {

/// What the programs of a network share.
struct Workshop {
  Workshop(NetworkPlan plan_, Precision precision_, bool deterministic_);

  const NetworkPlan plan;
  const Precision precision;
  const Number number;
  const bool deterministic;
  StreamOwner stream;
  NetworkMemory memory;
  std::optional<Gemm> gemm;  // of a network with dense layers; and of one with convolutions:
  std::optional<ConvolutionLibrary> convolutions;
  Buffer convolution_work;  // as much as the most that any program wants
  /// See CompiledNetwork::watch; waits for the stream before it tells.
  std::function<void(int layer, CompiledNetwork::Direction direction)> watch;
};

class Program {
 public:
  Program(Workshop& shop, int batch);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What is read and written lies behind memory.pointers. See CompiledNetwork.
  void forward();            // parameters, x -> memory.logits
  void infer();              // the same with `statistics`
  void loss(bool gradient);  // memory.logits, memory.labels -> memory.loss, memory.dlogits
  void take_labels();        // labels -> memory.labels
  void write_logits();       // memory.logits -> y
  void take_dy();            // dy -> memory.dlogits
  void write_statistics();   // of the last forward -> seen
  /// Before the first backward with `data`. May take more of the workshop's working memory.
  void want_input_gradient();
  /// memory.dlogits -> gradient; dx if `data`. `in_graph`: is being captured.
  void backward(bool data, bool in_graph);

  /// Waits until layers are complete and tells of each, after a backward.
  void tell(const std::function<void(int layer)>& layer_done);

 private:
  struct Flush {
    int down_to = 0;  // all layers from here on are complete
    EventOwner event;
  };
  Cells cells(const Shape& shape) const;
  void make_room(std::size_t work);
  void load();
  void layer_forward(std::size_t i, bool training);
  void layer_backward(std::size_t i, bool data);
  void forward_dense(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void backward_dense(std::size_t i, bool data);
  void backward_conv(std::size_t i, bool data);
  void backward_norm(std::size_t i);
  void add_bias(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void bias_backward(const NetworkPlan::Layer& layer, const LayerMemory& here);
  void layers_forward(bool training);
  void told(std::size_t i, CompiledNetwork::Direction direction);

  Workshop& shop_;
  const NetworkPlan& plan_;
  NetworkMemory& memory_;
  const Stream stream_;
  const Number number_;
  const int batch_;
  std::vector<std::unique_ptr<Convolution>> convolutions_;  // of each layer that is one
  std::vector<std::unique_ptr<Flush>> flushes_;             // in order; where they are follows from the plan
};

}  // namespace hopbench::cuda
