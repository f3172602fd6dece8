// Turns a network into a list of oneDNN primitives over a working memory. For the files of the oneDNN backend only
// (onednn_*.cpp).
//
// A layer is one function, listed at the end. It adds its forward steps. It also leaves behind a function that adds its
// backward steps, which is called once the backward steps of all later layers are there.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "backends/compute/host.h"
#include "backends/compute/onednn_api.h"

namespace hopbench::onednn {

using Layer = NetworkPlan::Layer;
using Format = memory::format_tag;

// The place of a tensor: the caller's vectors, or a part of the working memory by how long its contents live.
enum Region : std::size_t {
  kKept,   // from forward to backward: outputs of the layers, which pool cell was the largest
  kDiffA,  // between two layers of backward, in turns: one is read while the other is written
  kDiffB,
  kLayer,    // within one layer of one direction: weights and diffs in another layout
  kScratch,  // within one primitive
  kWorking,  // number of regions of the working memory; the caller's follow
  kX = kWorking,
  kY,
  kDy,
  kDx,
  kParams,
  kDparams,
  kStatistics,
  kRegions,
};

struct Tensor {
  memory::desc desc;
  Region region = kKept;
  std::size_t at = 0;  // bytes into the region
};

/// Arithmetic of our own. Gets the addresses of its tensors, in the order in which they were given.
using Kernel = std::function<void(std::span<float* const> data)>;

/// A primitive with its arguments, or a kernel with its tensors. `handles` belong to `operands`.
/// dnnl::primitive::execute would gather them again, and allocate, at each call.
struct Step {
  dnnl::primitive primitive;
  std::vector<dnnl_exec_arg_t> handles;
  Kernel kernel;
  std::vector<memory> operands;
};
using Steps = std::vector<Step>;
using Arguments = std::vector<std::pair<int, Tensor>>;

/// Returns attributes with scratch memory of our own, and with a ReLU on the outputs if asked for.
dnnl::primitive_attr attributes(bool relu = false);
memory::desc with_format(const memory::dims& dims, Format format);

/// The steps and the working memory of one network for one batch, while they are built.
class Builder {
 public:
  struct BackwardLayer {
    int index = -1;
    Steps weights, data;         // `weights` completes the gradient of its parameters, `data` that of its inputs
    bool wanted_before = false;  // some layer before this one has parameters
  };
  /// Adds the backward steps of a layer; takes the gradient of its outputs, returns that of its inputs.
  using Behind = std::function<Tensor(const Tensor& diff)>;

  Builder(const NetworkPlan& whole, int samples, bool is_training)
      : plan(whole), batch(samples), training(is_training), outputs_(plan.layers.size()), held_(plan.layers.size()) {}

  const NetworkPlan& plan;
  const memory::dim batch;
  const bool training;  // otherwise batch norms use the caller's statistics, and there is no backward pass
  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Steps forward;
  std::vector<std::pair<int, std::size_t>> forward_ends;  // layer, number of steps in `forward` up to its end
  std::vector<BackwardLayer> backward;                    // last layer first, then dx

  const Layer& layer(int index) const { return plan.layers[std::size_t(index)]; }
  /// Returns true if the layer computes the ReLU behind it too. Then it also adds the ReLU's backward steps.
  bool relu_fused(int index) const;
  /// Returns true if later steps may overwrite this tensor, the outputs of layer `index`.
  bool may_overwrite(int index, const Tensor& out) const;
  /// Returns the outputs of a layer that a later one adds.
  const Tensor& kept_outputs(int index) const { return outputs_[std::size_t(index)]; }

  // ---- layouts
  memory::desc plain(const Shape& shape) const;  // nchw
  memory::desc flat(std::size_t features) const;
  /// Returns the layout between layers: blocks of channels if all maps of the network fill them, else channels last
  /// (see channel_block). The network's input keeps the caller's layout if a convolution in blocks reads it.
  memory::desc inner(const Shape& shape) const;
  Tensor params(const Layer& layer, const memory::desc& desc) const;
  /// Returns an empty tensor if the layer has no bias.
  Tensor bias(const Layer& layer, Region region = kParams) const;

  // ---- memory
  Tensor take(Region region, const memory::desc& desc);
  /// Takes the other diff region, for a gradient that goes on to the layer before.
  Tensor take_diff(const Tensor& diff, const memory::desc& desc);

  // ---- steps
  template <class Primitive, class Description>
  void add(Steps& steps, const Description& description, const Arguments& arguments) {
    add(steps, Primitive(description), description.scratchpad_desc(), arguments);
  }
  void add_kernel(Steps& steps, std::span<const Tensor> tensors, Kernel kernel);
  void reorder(Steps& steps, const Tensor& from, const Tensor& to);
  /// Returns the tensor itself if it is in that layout already, else a copy.
  Tensor in_layout(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer);
  /// Does the same for activations in nchw and nhwc, which are the same bytes for one channel or one cell.
  Tensor activations_in(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer);

  // ---- backward
  /// `index`: the layer whose outputs' gradient `behind` takes.
  void leave_behind(int index, Behind behind) { behind_.push_back({index, std::move(behind)}); }
  /// Registers a part of the gradient of the outputs of layer `index`. When backward has come there, `add` adds the
  /// steps that add this part to the other part, in the layout between layers.
  void hold(int index, std::function<void(Steps& steps, const Tensor& diff)> add) {
    held_[std::size_t(index)].push_back(std::move(add));
  }
  /// Returns a gradient in another layout. Unlike a copy by in_layout it may go on to the layer before.
  Tensor diff_in(Steps& steps, const Tensor& diff, const memory::desc& wanted);
  /// Moments that a batch norm computed: means, and variances divided by the count.
  struct Moments {
    memory means, variances;
    const Layer* layer;
  };
  void keep_moments(const Layer& layer, const Tensor& means, const Tensor& variances) {
    moments.push_back({memory_of(means), memory_of(variances), &layer});
  }
  std::vector<Moments> moments;
  /// Opens the backward steps of a layer; valid until the next one is opened.
  BackwardLayer& backward_layer(int index);

  /// Builds the whole network. Must be called once.
  void build();

  // ---- when it is built
  std::size_t working_bytes() const;
  void bind(std::byte* memory);  // the working regions
  void place(Region region, const void* base);
  void run(std::span<Step> steps);

 private:
  void add(Steps& steps, dnnl::primitive primitive, const memory::desc& scratch, const Arguments& arguments);
  Tensor add_layer(int index, const Tensor& in);
  memory memory_of(const Tensor& tensor);

  void add_argument(Step& step, int name, const Tensor& tensor);

  dnnl::stream stream_{engine};
  std::vector<float*> data_;                           // tensors of the kernel that runs
  std::array<std::size_t, kRegions> used_{}, size_{};  // bytes
  std::array<std::vector<std::pair<memory, std::size_t>>, kRegions> placed_;
  std::vector<Tensor> outputs_;
  std::vector<std::pair<int, Behind>> behind_;
  std::vector<std::vector<std::function<void(Steps&, const Tensor&)>>> held_;  // by layer
};

/// Returns the channels of a block in the layout between layers, or 0: channels last. Like all choices of how a layer
/// is computed, it depends on the network and the instruction set alone: the bits of a gradient follow from it.
int channel_block(const NetworkPlan& plan);

/// Returns true if the gradient of the weights is computed by matrix products, one for each cell of the window, because
/// oneDNN's convolution is slow. `src` and `dout`: activations in any layout.
bool weights_by_matrices(const Builder& build, const Layer& layer);
void add_weights_by_matrices(Builder& build, Steps& steps, const Layer& layer, const Tensor& src, const Tensor& dout);

// ---- layers: each takes its inputs and returns its outputs

Tensor add_conv(Builder& build, int index, const Tensor& in);
Tensor add_dense(Builder& build, int index, const Tensor& in);
Tensor add_relu(Builder& build, int index, const Tensor& in);
Tensor add_pool(Builder& build, int index, const Tensor& in);
Tensor add_norm(Builder& build, int index, const Tensor& in);
Tensor add_add(Builder& build, int index, const Tensor& in);
/// Leaves the backward steps of the ReLU at `index`, whose outputs are `out`. For the layer that computed it too.
void leave_relu_behind(Builder& build, int index, const Tensor& out);

}  // namespace hopbench::onednn
