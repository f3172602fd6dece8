#include "backends/compute/onednn_program.h"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Layer = NetworkPlan::Layer;
using Type = LayerSpec::Type;
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
  kRegions,
};

struct Tensor {
  memory::desc desc;
  Region region = kKept;
  std::size_t at = 0;  // bytes into the region
};

struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};
using Steps = std::vector<Step>;
using Arguments = std::vector<std::pair<int, Tensor>>;

dnnl::primitive_attr attributes(bool relu = false) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops post_ops;
    post_ops.append_eltwise(1.0f, algorithm::eltwise_relu, 0.0f, 0.0f);
    attr.set_post_ops(post_ops);
  }
  return attr;
}

memory::desc with_format(const memory::dims& dims, Format format) {
  return memory::desc(dims, memory::data_type::f32, format);
}

class Program final : public OneDnnProgram {
 public:
  Program(const NetworkPlan& plan, int batch) : plan_(plan), batch_(batch) {
    Tensor current{plain(plan_.input), kX};
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      used_[kLayer] = 0;
      current = add_layer(int(i), plan_.layers[i], current);
      if (relu_fused(i)) ++i;
    }
    reorder(forward_, current, {plain(plan_.output), kY});
    Tensor diff{plain(plan_.output), kDy};
    for (; !layers_behind_.empty(); layers_behind_.pop_back()) diff = layers_behind_.back()(diff);
    backward_.push_back({});
    reorder(backward_.back().data, diff, {plain(plan_.input), kDx});
  }

  std::size_t working_floats() const override {
    return std::accumulate(size_.begin(), size_.begin() + kWorking, std::size_t(0)) / sizeof(float);
  }

  void bind(float* memory) override {
    auto* base = reinterpret_cast<std::byte*>(memory);
    for (std::size_t region = 0; region < kWorking; ++region) {
      place(Region(region), base);
      base += size_[region];
    }
  }

  void forward(const float* params, const float* x, float* y) override {
    place(kParams, params);
    place(kX, x);
    place(kY, y);
    run(forward_);
  }

  void backward(const float* params, const float* x, const float* dy, float* dparams, float* dx,
                const std::function<void(int)>& layer_done) override {
    place(kParams, params);
    place(kX, x);
    place(kDy, dy);
    place(kDparams, dparams);
    place(kDx, dx);
    for (BackwardLayer& layer : backward_) {
      run(layer.weights);
      if (layer.index >= 0 && layer_done) layer_done(layer.index);
      if (layer.wanted_before || dx != nullptr) run(layer.data);
    }
  }

 private:
  struct BackwardLayer {
    int index = -1;
    Steps weights, data;
    bool wanted_before = false;  // some layer before this one has parameters
  };

  // ---- memory

  memory::desc plain(const Shape& shape) const {
    return with_format({batch_, shape.channels, shape.height, shape.width}, Format::nchw);
  }
  memory::desc flat(std::size_t features) const { return with_format({batch_, memory::dim(features)}, Format::nc); }
  /// Between layers, channels last: layouts in blocks of channels round 20 up to 24 or 32 and 50 up to 56 or 64, which
  /// costs LeNet a third of its step, and win nothing where the channels fill their blocks.
  memory::desc inner(const Shape& shape) const {
    return with_format({batch_, shape.channels, shape.height, shape.width}, Format::nhwc);
  }

  Tensor take(Region region, const memory::desc& desc) {
    constexpr std::size_t kAlign = 64;
    const Tensor tensor{desc, region, used_[region]};
    used_[region] += (desc.get_size() + kAlign - 1) / kAlign * kAlign;
    size_[region] = std::max(size_[region], used_[region]);
    return tensor;
  }

  /// For what goes on to the layer before: the other one of the two.
  Tensor take_diff(const Tensor& diff, const memory::desc& desc) {
    const Region other = diff.region == kDiffA ? kDiffB : kDiffA;
    used_[other] = 0;
    return take(other, desc);
  }

  memory memory_of(const Tensor& tensor) {
    memory made(tensor.desc, engine_, DNNL_MEMORY_NONE);
    placed_[tensor.region].emplace_back(made, tensor.at);
    return made;
  }

  void place(Region region, const void* base) {
    for (const auto& [tensor, at] : placed_[region]) {
      // oneDNN asks for a mutable pointer even of what it only reads.
      auto* data = static_cast<std::byte*>(const_cast<void*>(base));
      tensor.set_data_handle(data == nullptr ? nullptr : data + at, stream_);
    }
  }

  // ---- steps

  template <class Primitive, class Description>
  void add(Steps& steps, const Description& description, const Arguments& arguments) {
    Step step{Primitive(description), {}};
    for (const auto& [name, tensor] : arguments) step.arguments.emplace(name, memory_of(tensor));
    const memory::desc scratch = description.scratchpad_desc();
    if (scratch.get_size() > 0) {
      used_[kScratch] = 0;
      step.arguments.emplace(DNNL_ARG_SCRATCHPAD, memory_of(take(kScratch, scratch)));
    }
    steps.push_back(std::move(step));
  }

  void reorder(Steps& steps, const Tensor& from, const Tensor& to) {
    const dnnl::reorder::primitive_desc description(engine_, from.desc, engine_, to.desc, attributes());
    add<dnnl::reorder>(steps, description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  /// The tensor itself if it is in that layout already, else a copy.
  Tensor in_layout(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer) {
    if (tensor.desc == wanted) return tensor;
    const Tensor copy = take(region, wanted);
    reorder(steps, tensor, copy);
    return copy;
  }

  /// The same for activations in nchw and nhwc, which of one channel or one cell are the same bytes.
  Tensor activations_in(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region = kLayer) {
    const memory::dims dims = tensor.desc.dims();
    if (dims[1] == 1 || dims[2] * dims[3] == 1) return {wanted, tensor.region, tensor.at};
    return in_layout(steps, tensor, wanted, region);
  }

  void run(Steps& steps) {
    for (Step& step : steps) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
  }

  BackwardLayer& backward_layer(int index) {
    const auto before = plan_.layers.begin();
    const bool wanted = std::any_of(before, before + index, [](const Layer& layer) { return layer.weights > 0; });
    backward_.push_back({index, {}, {}, wanted});
    used_[kLayer] = 0;
    return backward_.back();
  }

  // ---- layers: each adds its forward steps, and leaves behind what adds its backward steps

  bool relu_fused(std::size_t index) const {
    return plan_.layers[index].weights > 0 && index + 1 < plan_.layers.size() &&
           plan_.layers[index + 1].spec.type == Type::kRelu;
  }

  Tensor add_layer(int index, const Layer& layer, const Tensor& in) {
    switch (layer.spec.type) {
      case Type::kConv:
        return conv(index, layer, in);
      case Type::kDense:
        return dense(index, layer, in);
      case Type::kRelu:
        return relu(index, in);
      case Type::kMaxPool:
      case Type::kAvgPool:
        return pool(index, layer, in);
    }
    HB_ASSERT_MSG(false, "a layer type without an implementation");
  }

  Tensor params(const Layer& layer, const memory::desc& desc) const {
    return {desc, kParams, layer.weights_at * sizeof(float)};
  }
  Tensor bias(const Layer& layer, Region region = kParams) const {
    return {with_format({layer.spec.outputs}, Format::x), region, layer.bias_at * sizeof(float)};
  }

  Tensor conv(int index, const Layer& layer, const Tensor& in) {
    const LayerSpec& spec = layer.spec;
    const memory::dims window{spec.outputs, layer.input.channels, spec.kernel, spec.kernel};
    const memory::dims strides{spec.stride, spec.stride}, padding{spec.padding, spec.padding};
    const memory::desc any_weights = with_format(window, Format::any);
    const Tensor weights = params(layer, with_format(window, Format::oihw));
    const dnnl::convolution_forward::primitive_desc description(
        {prop_kind::forward_training, algorithm::convolution_direct, inner(layer.input), any_weights, bias(layer).desc,
         inner(layer.output), strides, padding, padding},
        attributes(relu_fused(std::size_t(index))), engine_);
    const Tensor src = activations_in(forward_, in, inner(layer.input), kKept);
    const Tensor out = take(kKept, inner(layer.output));
    add<dnnl::convolution_forward>(forward_, description,
                                   {{DNNL_ARG_SRC, src},
                                    {DNNL_ARG_WEIGHTS, in_layout(forward_, weights, description.weights_desc())},
                                    {DNNL_ARG_BIAS, bias(layer)},
                                    {DNNL_ARG_DST, out}});
    layers_behind_.push_back([=, this, &layer](const Tensor& diff) {
      BackwardLayer& steps = backward_layer(index);
      const Tensor dout = activations_in(steps.weights, diff, inner(layer.output));
      const dnnl::convolution_backward_weights::primitive_desc by_weights(
          {algorithm::convolution_direct, inner(layer.input), any_weights, bias(layer).desc, inner(layer.output),
           strides, padding, padding},
          attributes(), engine_, description);
      const Tensor dweights{weights.desc, kDparams, weights.at};
      const bool direct = by_weights.diff_weights_desc() == weights.desc;
      const Tensor dblocked = direct ? dweights : take(kLayer, by_weights.diff_weights_desc());
      add<dnnl::convolution_backward_weights>(steps.weights, by_weights,
                                              {{DNNL_ARG_SRC, src},
                                               {DNNL_ARG_DIFF_DST, dout},
                                               {DNNL_ARG_DIFF_WEIGHTS, dblocked},
                                               {DNNL_ARG_DIFF_BIAS, bias(layer, kDparams)}});
      if (!direct) reorder(steps.weights, dblocked, dweights);
      const dnnl::convolution_backward_data::primitive_desc by_data(
          {algorithm::convolution_direct, inner(layer.input), any_weights, inner(layer.output), strides, padding,
           padding},
          attributes(), engine_, description);
      const Tensor ddata = take_diff(diff, inner(layer.input));
      add<dnnl::convolution_backward_data>(steps.data, by_data,
                                           {{DNNL_ARG_DIFF_DST, dout},
                                            {DNNL_ARG_WEIGHTS, in_layout(steps.data, weights, by_data.weights_desc())},
                                            {DNNL_ARG_DIFF_SRC, ddata}});
      return ddata;
    });
    if (relu_fused(std::size_t(index))) leave_relu_behind(index + 1, out);
    return out;
  }

  // Weights stay in the caller's layout: a copy would cost more than it gains, and plain gemm takes them as they are.
  Tensor dense(int index, const Layer& layer, const Tensor& in) {
    const memory::desc flat_in = flat(layer.input.size()), flat_out = flat(layer.output.size());
    const Tensor weights =
        params(layer, with_format({layer.spec.outputs, memory::dim(layer.input.size())}, Format::oi));
    const dnnl::inner_product_forward::primitive_desc description(
        {prop_kind::forward_training, flat_in, weights.desc, bias(layer).desc, flat_out},
        attributes(relu_fused(std::size_t(index))), engine_);
    Tensor src = activations_in(forward_, in, plain(layer.input), kKept);
    src.desc = flat_in;
    const Tensor flat_dst = take(kKept, flat_out);
    add<dnnl::inner_product_forward>(
        forward_, description,
        {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, bias(layer)}, {DNNL_ARG_DST, flat_dst}});
    layers_behind_.push_back([=, this, &layer](const Tensor& diff) {
      BackwardLayer& steps = backward_layer(index);
      Tensor dout = activations_in(steps.weights, diff, plain(layer.output));
      dout.desc = flat_out;
      const dnnl::inner_product_backward_weights::primitive_desc by_weights(
          {flat_in, weights.desc, bias(layer).desc, flat_out}, attributes(), engine_, description);
      add<dnnl::inner_product_backward_weights>(steps.weights, by_weights,
                                                {{DNNL_ARG_SRC, src},
                                                 {DNNL_ARG_DIFF_DST, dout},
                                                 {DNNL_ARG_DIFF_WEIGHTS, {weights.desc, kDparams, weights.at}},
                                                 {DNNL_ARG_DIFF_BIAS, bias(layer, kDparams)}});
      const dnnl::inner_product_backward_data::primitive_desc by_data({flat_in, weights.desc, flat_out}, attributes(),
                                                                      engine_, description);
      Tensor ddata = take_diff(diff, flat_in);
      add<dnnl::inner_product_backward_data>(
          steps.data, by_data, {{DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, ddata}});
      ddata.desc = plain(layer.input);
      return ddata;
    });
    const Tensor out{plain(layer.output), flat_dst.region, flat_dst.at};
    if (relu_fused(std::size_t(index))) leave_relu_behind(index + 1, out);
    return out;
  }

  /// In place: no layer's backward pass needs the output of a pool or of another relu.
  Tensor relu(int index, const Tensor& in) {
    const Tensor out = in.region == kX ? take(kKept, in.desc) : in;
    add<dnnl::eltwise_forward>(forward_, relu_forward(in.desc), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
    leave_relu_behind(index, out);
    return out;
  }

  dnnl::eltwise_forward::primitive_desc relu_forward(const memory::desc& desc) const {
    return {{prop_kind::forward_training, algorithm::eltwise_relu_use_dst_for_bwd, desc}, attributes(), engine_};
  }

  void leave_relu_behind(int index, const Tensor& out) {
    layers_behind_.push_back([=, this](const Tensor& diff) {
      Steps& steps = backward_layer(index).data;
      const Tensor dout = activations_in(steps, diff, out.desc);
      const dnnl::eltwise_backward::primitive_desc description(
          {algorithm::eltwise_relu_use_dst_for_bwd, out.desc, out.desc}, attributes(), engine_, relu_forward(out.desc));
      const bool in_place = dout.region == kDiffA || dout.region == kDiffB;
      const Tensor din = in_place ? dout : take_diff(diff, out.desc);
      add<dnnl::eltwise_backward>(steps, description,
                                  {{DNNL_ARG_DST, out}, {DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_DIFF_SRC, din}});
      return din;
    });
  }

  Tensor pool(int index, const Layer& layer, const Tensor& in) {
    const LayerSpec& spec = layer.spec;
    const bool max = spec.type == Type::kMaxPool;
    const algorithm kind = max ? algorithm::pooling_max : algorithm::pooling_avg_include_padding;
    const memory::dims strides{spec.stride, spec.stride}, window{spec.kernel, spec.kernel};
    const memory::dims padding{spec.padding, spec.padding};
    const dnnl::pooling_forward::primitive_desc description(
        {prop_kind::forward_training, kind, inner(layer.input), inner(layer.output), strides, window, padding, padding},
        attributes(), engine_);
    const Tensor src = activations_in(forward_, in, inner(layer.input), kKept);
    const Tensor out = take(kKept, inner(layer.output));
    const Tensor which = max ? take(kKept, description.workspace_desc()) : Tensor{};
    Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, out}};
    if (max) arguments.push_back({DNNL_ARG_WORKSPACE, which});
    add<dnnl::pooling_forward>(forward_, description, arguments);
    layers_behind_.push_back([=, this](const Tensor& diff) {
      Steps& steps = backward_layer(index).data;
      const Tensor dout = activations_in(steps, diff, out.desc);
      const dnnl::pooling_backward::primitive_desc by_data(
          {kind, src.desc, out.desc, strides, window, padding, padding}, attributes(), engine_, description);
      const Tensor din = take_diff(diff, src.desc);
      Arguments backward{{DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_DIFF_SRC, din}};
      if (max) backward.push_back({DNNL_ARG_WORKSPACE, which});
      add<dnnl::pooling_backward>(steps, by_data, backward);
      return din;
    });
    return out;
  }

  const NetworkPlan& plan_;
  const memory::dim batch_;
  const dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::array<std::size_t, kRegions> used_{}, size_{};  // bytes
  std::array<std::vector<std::pair<memory, std::size_t>>, kRegions> placed_;
  Steps forward_;
  std::vector<BackwardLayer> backward_;                              // last layer first, then dx
  std::vector<std::function<Tensor(const Tensor&)>> layers_behind_;  // adds the backward steps of each layer
};

}  // namespace

std::unique_ptr<OneDnnProgram> make_onednn_program(const NetworkPlan& plan, int batch) {
  return std::make_unique<Program>(plan, batch);
}

}  // namespace hopbench
