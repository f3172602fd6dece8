#include "backends/compute/onednn_builder.h"

#include <algorithm>
#include <numeric>

#include "backends/base/error.h"

namespace hopbench::onednn {

using Type = LayerSpec::Type;

dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops post_ops;
    append_relu(post_ops);
    attr.set_post_ops(post_ops);
  }
  return attr;
}

namespace {

/// Returns the tensor as `wanted` if it has one channel or one cell: nchw and nhwc are the same bytes then.
Tensor in_same_bytes(const Tensor& tensor, const memory::desc& wanted) {
  const memory::dims dims = dims_of(tensor.desc);
  if (dims[1] == 1 || dims[2] * dims[3] == 1) return {wanted, tensor.region, tensor.at};
  return tensor;
}

}  // namespace

memory::desc with_format(const memory::dims& dims, Format format) {
  return memory::desc(dims, memory::data_type::f32, format);
}

// ---- layouts

memory::desc Builder::plain(const Shape& shape) const {
  return with_format({batch, shape.channels, shape.height, shape.width}, Format::nchw);
}

memory::desc Builder::flat(std::size_t features) const {
  return with_format({batch, memory::dim(features)}, Format::nc);
}

memory::desc Builder::inner(const Shape& shape) const {
  const int block = channel_block(plan);
  Format format = Format::nhwc;
  if (block != 0) format = shape.channels % block != 0 ? Format::nchw : block == 16 ? Format::nChw16c : Format::nChw8c;
  return with_format({batch, shape.channels, shape.height, shape.width}, format);
}

Tensor Builder::params(const Layer& layer, const memory::desc& desc) const {
  return {desc, kParams, layer.weights_at * sizeof(float)};
}

Tensor Builder::bias(const Layer& layer, Region region) const {
  if (!layer.spec.bias) return {};
  return {with_format({layer.spec.outputs}, Format::x), region, layer.bias_at * sizeof(float)};
}

// ---- memory

Tensor Builder::take(Region region, const memory::desc& desc) {
  constexpr std::size_t kAlign = 64;
  const Tensor tensor{desc, region, used_[region]};
  used_[region] += (desc.get_size() + kAlign - 1) / kAlign * kAlign;
  size_[region] = std::max(size_[region], used_[region]);
  return tensor;
}

Tensor Builder::take_diff(const Tensor& diff, const memory::desc& desc) {
  const Region other = diff.region == kDiffA ? kDiffB : kDiffA;
  used_[other] = 0;
  return take(other, desc);
}

memory Builder::memory_of(const Tensor& tensor) {
  memory made(tensor.desc, engine, DNNL_MEMORY_NONE);
  placed_[tensor.region].emplace_back(made, tensor.at);
  return made;
}

std::size_t Builder::working_bytes() const {
  return std::accumulate(size_.begin(), size_.begin() + kWorking, std::size_t(0));
}

void Builder::bind(std::byte* memory) {
  for (std::size_t region = 0; region < kWorking; ++region) {
    place(Region(region), memory);
    memory += size_[region];
  }
}

void Builder::place(Region region, const void* base) {
  for (const auto& [tensor, at] : placed_[region]) {
    // oneDNN asks for a mutable pointer even to memory that it only reads.
    auto* data = static_cast<std::byte*>(const_cast<void*>(base));
    set_data(tensor, data == nullptr ? nullptr : data + at, stream_);
  }
}

// ---- steps

void Builder::add(Steps& steps, dnnl::primitive primitive, const memory::desc& scratch, const Arguments& arguments) {
  Step step;
  step.primitive = std::move(primitive);
  for (const auto& [name, tensor] : arguments) {
    if (!tensor.desc.is_zero()) add_argument(step, name, tensor);
  }
  if (scratch.get_size() > 0) {
    used_[kScratch] = 0;
    add_argument(step, DNNL_ARG_SCRATCHPAD, take(kScratch, scratch));
  }
  steps.push_back(std::move(step));
}

void Builder::add_argument(Step& step, int name, const Tensor& tensor) {
  step.operands.push_back(memory_of(tensor));
  step.handles.push_back({name, step.operands.back().get()});
}

void Builder::add_kernel(Steps& steps, std::span<const Tensor> tensors, Kernel kernel) {
  Step step;
  step.kernel = std::move(kernel);
  for (const Tensor& tensor : tensors) step.operands.push_back(memory_of(tensor));
  steps.push_back(std::move(step));
}

void Builder::reorder(Steps& steps, const Tensor& from, const Tensor& to) {
  const dnnl::reorder::primitive_desc description(engine, from.desc, engine, to.desc, attributes());
  add<dnnl::reorder>(steps, description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

Tensor Builder::in_layout(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region) {
  if (tensor.desc == wanted) return tensor;
  const Tensor copy = take(region, wanted);
  reorder(steps, tensor, copy);
  return copy;
}

Tensor Builder::activations_in(Steps& steps, const Tensor& tensor, const memory::desc& wanted, Region region) {
  return in_layout(steps, in_same_bytes(tensor, wanted), wanted, region);
}

void Builder::run(std::span<Step> steps) {
  for (Step& step : steps) {
    if (step.kernel) {
      stream_.wait();
      data_.clear();
      for (const memory& operand : step.operands) data_.push_back(static_cast<float*>(operand.get_data_handle()));
      step.kernel(data_);
    } else {
      dnnl::error::wrap_c_api(
          dnnl_primitive_execute(step.primitive.get(), stream_.get(), int(step.handles.size()), step.handles.data()),
          "could not execute a primitive");
    }
  }
  stream_.wait();
}

// ---- the network

bool Builder::relu_fused(int index) const {
  const auto next = std::size_t(index) + 1;
  const bool fuses = layer(index).weights > 0 || layer(index).spec.type == Type::kAdd;
  return fuses && !layer(index).kept && next < plan.layers.size() && plan.layers[next].spec.type == Type::kRelu;
}

bool Builder::may_overwrite(int index, const Tensor& out) const {
  return index >= 0 && out.region == kKept && !layer(index).kept && layer(index).spec.type != Type::kRelu;
}

Builder::BackwardLayer& Builder::backward_layer(int index) {
  const auto before = plan.layers.begin();
  const bool wanted = std::any_of(before, before + index, [](const Layer& layer) { return layer.weights > 0; });
  backward.push_back({index, {}, {}, wanted});
  used_[kLayer] = 0;
  return backward.back();
}

Tensor Builder::add_layer(int index, const Tensor& in) {
  switch (layer(index).spec.type) {
    case Type::kConv:
      return add_conv(*this, index, in);
    case Type::kDense:
      return add_dense(*this, index, in);
    case Type::kRelu:
      return add_relu(*this, index, in);
    case Type::kMaxPool:
    case Type::kAvgPool:
      return add_pool(*this, index, in);
    case Type::kBatchNorm:
      return add_norm(*this, index, in);
    case Type::kAdd:
      return add_add(*this, index, in);
  }
  HB_ASSERT_MSG(false, "a layer type without an implementation");
}

void Builder::build() {
  Tensor current{plain(plan.input), kX};
  for (int i = 0; i < int(plan.layers.size()); ++i) {
    used_[kLayer] = 0;
    current = add_layer(i, current);
    forward_ends.emplace_back(i, forward.size());
    if (relu_fused(i)) ++i;
    outputs_[std::size_t(i)] = current;
  }
  reorder(forward, current, {plain(plan.output), kY});
  forward_ends.emplace_back(-1, forward.size());
  if (!training) return;
  Tensor diff{plain(plan.output), kDy};
  for (; !behind_.empty(); behind_.pop_back()) {
    const auto& [index, behind] = behind_.back();
    for (const auto& add_part : held_[std::size_t(index)]) {
      Steps& steps = backward.back().data;  // steps of the layer after it
      const memory::desc wanted = inner(layer(index).output);
      if (diff.region == kDy) {  // the caller's gradient must not change
        const Tensor copy = take_diff(diff, wanted);
        reorder(steps, diff, copy);
        diff = copy;
      }
      diff = diff_in(steps, diff, wanted);
      add_part(steps, diff);
    }
    diff = behind(diff);
  }
  backward.push_back({});
  reorder(backward.back().data, diff, {plain(plan.input), kDx});
}

Tensor Builder::diff_in(Steps& steps, const Tensor& diff, const memory::desc& wanted) {
  const Tensor same = in_same_bytes(diff, wanted);
  if (same.desc == wanted) return same;
  const Tensor copy = take_diff(diff, wanted);
  reorder(steps, diff, copy);
  return copy;
}

}  // namespace hopbench::onednn
