// How a network becomes a list of oneDNN primitives over a working memory. For the files of the oneDNN backend only
// (onednn_*.cpp).
//
// A layer is one function, listed at the end. It adds its forward steps, and leaves behind a function that adds its
// backward steps, which is called once those of all later layers are there.
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

// Where a tensor lies: the caller's vectors, or a part of the working memory by how long its contents live.
enum Region : std::size_t {
  kKept,   // from forward to backward: outputs of the layers, which pool cell was the largest
  kDiffA,  // between two layers of backward, in turns: one is read while the other is written
  kDiffB,
  kLayer,    // within one layer of one direction: weights and diffs in another layout
  kScratch,  // within one primitive
  kWorking,  // how many regions the working memory has; the caller's follow
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

/// Own arithmetic beside oneDNN's: gets where its tensors lie, in the order in which they were given.
using Kernel = std::function<void(std::span<float* const> data)>;

/// A primitive with its arguments, or a kernel with its tensors. `handles` are of `operands`: dnnl::primitive::execute
/// would gather them anew, and allocate, at each call.
struct Step {
  dnnl::primitive primitive;
  std::vector<dnnl_exec_arg_t> handles;
  Kernel kernel;
  std::vector<memory> operands;
};
using Steps = std::vector<Step>;
using Arguments = std::vector<std::pair<int, Tensor>>;

/// Scratch memory is ours; with a ReLU on the outputs if asked for.
dnnl::primitive_attr attributes(bool relu = false);
memory::desc with_format(const memory::dims& dims, Format format);

/// The steps and the working memory of one network for one batch, as they grow.
class Builder {
 public:
  struct BackwardLayer {
    int index = -1;
    Steps weights, data;         // `weights` completes the gradient of its parameters; `data`: of its inputs
    bool wanted_before = false;  // some layer before this one has parameters
  };
  /// Adds the backward steps of a layer; takes the gradient of its outputs, returns that of its inputs.
  using Behind = std::function<Tensor(const Tensor& diff)>;

  Builder(const NetworkPlan& whole, int samples, bool is_training)
      : plan(whole), batch(samples), training(is_training), outputs_(plan.layers.size()), held_(plan.layers.size()) {}

  const NetworkPlan& plan;
  const memory::dim batch;
  const bool training;  // else batch norms use the caller's statistics, and there is no backward pass
  const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Steps forward;
  std::vector<std::pair<int, std::size_t>> forward_ends;  // layer, how many of `forward` there are up to its end
  std::vector<BackwardLayer> backward;                    // last layer first, then dx

  const Layer& layer(int index) const { return plan.layers[std::size_t(index)]; }
  /// Whether the layer computes the ReLU behind it too; then it adds that one's backward steps.
  bool relu_fused(int index) const;
  /// Whether what is done behind this tensor, the outputs of layer `index`, may overwrite it.
  bool may_overwrite(int index, const Tensor& out) const;
  /// Outputs of a layer that a later one adds.
  const Tensor& kept_outputs(int index) const { return outputs_[std::size_t(index)]; }

  // ---- layouts
  memory::desc plain(const Shape& shape) const;  // nchw
  memory::desc flat(std::size_t features) const;
  /// Between layers: in blocks of channels where all maps of the network fill them, else channels last (see
  /// channel_block); the network's input as the caller has it where a convolution in blocks reads it.
  memory::desc inner(const Shape& shape) const;
  Tensor params(const Layer& layer, const memory::desc& desc) const;
  /// An empty one where the layer has no bias.
  Tensor bias(const Layer& layer, Region region = kParams) const;

  // ---- memory
  Tensor take(Region region, const memory::desc& desc);
  /// For what goes on to the layer before: the other one of the two.
  Tensor take_diff(const Tensor& diff, const memory::desc& desc);

  // ---- steps
  template <class Primitive, class Description>
  void add(Steps& steps, const Description& description, const Arguments& arguments) {
    add(steps, Primitive(description), description.scratchpad_desc(), arguments);
  }
  void add_kernel(Steps& steps, std::span<const Tensor> tensors, Kernel kernel);
  void reorder(Steps& steps, const Tensor& from, const Tensor& to);
  /// The tensor itself if it is in that layout already, else a copy.
  Tensor in_layout(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer);
  /// The same for activations in nchw and nhwc, which of one channel or one cell are the same bytes.
  Tensor activations_in(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer);

  // ---- backward
  /// `index`: of the layer whose outputs' gradient it takes.
  void leave_behind(int index, Behind behind) { behind_.push_back({index, std::move(behind)}); }
  /// This tensor is a part of the gradient of the outputs of layer `index`: `add` adds the steps that add it to the
  /// other part, in the layout between layers, when backward has come there.
  void hold(int index, std::function<void(Steps& steps, const Tensor& diff)> add) {
    held_[std::size_t(index)].push_back(std::move(add));
  }
  /// A gradient in another layout. Unlike a copy by in_layout it may go on to the layer before.
  Tensor diff_in(Steps& steps, const Tensor& diff, const memory::desc& wanted);
  /// What a batch norm saw: means, and variances divided by the count.
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

  /// The whole network: to be called once.
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
  std::vector<float*> data_;                           // of the kernel that runs
  std::array<std::size_t, kRegions> used_{}, size_{};  // bytes
  std::array<std::vector<std::pair<memory, std::size_t>>, kRegions> placed_;
  std::vector<Tensor> outputs_;
  std::vector<std::pair<int, Behind>> behind_;
  std::vector<std::vector<std::function<void(Steps&, const Tensor&)>>> held_;  // by layer
};

/// Channels of a block of the layout between layers, or 0: channels last. A function of the network and of the
/// instruction set alone, like all that decides how a layer is computed: the bits of a gradient follow from it.
int channel_block(const NetworkPlan& plan);

/// The gradient of the weights by multiplying matrices, one a cell of the window, where oneDNN's convolution is slow.
/// `src` and `dout`: activations in any layout.
bool weights_by_matrices(const Builder& build, const Layer& layer);
void add_weights_by_matrices(Builder& build, Steps& steps, const Layer& layer, const Tensor& src, const Tensor& dout);

/// A max-pool whose windows lie side by side, channels last.
bool pools_by_tiles(const Builder& build, const Layer& layer);
Tensor add_pool_by_tiles(Builder& build, int index, const Tensor& in);

// ---- layers: each takes its inputs and returns its outputs

Tensor add_conv(Builder& build, int index, const Tensor& in);
Tensor add_dense(Builder& build, int index, const Tensor& in);
Tensor add_relu(Builder& build, int index, const Tensor& in);
Tensor add_pool(Builder& build, int index, const Tensor& in);
Tensor add_norm(Builder& build, int index, const Tensor& in);
Tensor add_add(Builder& build, int index, const Tensor& in);
/// The backward steps of the ReLU at `index`, whose outputs are `out`: for the layer that computed it too.
void leave_relu_behind(Builder& build, int index, const Tensor& out);

}  // namespace hopbench::onednn
