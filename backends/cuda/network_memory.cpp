#include "backends/cuda/network_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench::cuda {

using Type = LayerSpec::Type;

namespace {

bool takes_relu(const NetworkPlan::Layer& layer) {
  const Type type = layer.spec.type;
  return !layer.kept && (type == Type::kConv || type == Type::kDense || type == Type::kBatchNorm || type == Type::kAdd);
}

bool flattens(const NetworkPlan::Layer& layer) {
  const Shape& in = layer.input;
  return layer.spec.type == Type::kDense && in.channels > 1 && in.height * in.width > 1;
}

}  // namespace

// Goes over the plan twice: first to find the size, then to place the memory.
class NetworkMemory::Layout {
 public:
  Layout(const NetworkPlan& plan, Precision precision, NetworkMemory& memory)
      : plan_(plan), number_(number_of(precision)), memory_(memory) {}

  /// Returns the bytes that the network takes. Only if `real`, they are allocated and the pointers set.
  std::size_t lay_out(bool real);

 private:
  template <class T>
  void take(T*& pointer, std::size_t bytes) {
    bytes = (bytes + 255) / 256 * 256;
    bytes_ += bytes;
    if (!real_) return;
    memory_.buffers_.emplace_back(bytes);
    pointer = memory_.buffers_.back().template as<T>();
  }
  std::size_t cells(const Shape& shape) const { return shape.size() * std::size_t(plan_.largest_batch); }
  std::size_t activations(const Shape& shape) const { return cells(shape) * bytes_of(number_); }

  void forward_of(std::size_t i);
  void backward_of(std::size_t i);
  void parameters_of(std::size_t i);
  void add_part(std::size_t at, void* inside, void* gradient, int n, int c, int hw, Number number);

  const NetworkPlan& plan_;
  const Number number_;
  NetworkMemory& memory_;
  bool real_ = false;
  std::size_t bytes_ = 0, work_ = 0;
};

std::size_t NetworkMemory::Layout::lay_out(bool real) {
  real_ = real;
  bytes_ = 0;
  const std::size_t outputs = cells(plan_.output);
  memory_.layers.assign(plan_.layers.size(), {});
  memory_.parts.clear();
  memory_.first_part.clear();
  work_ = 0;
  take(memory_.input, activations(plan_.input));
  for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
    forward_of(i);
    parameters_of(i);
  }
  memory_.first_part.push_back(int(memory_.parts.size()));
  take(memory_.layers.back().dout, activations(plan_.output));
  for (std::size_t i = plan_.layers.size(); i-- > 0;) backward_of(i);
  take(memory_.seen, plan_.statistics * sizeof(float));
  take(memory_.given, plan_.statistics * sizeof(float));
  for (std::size_t i = 0; real_ && i < plan_.layers.size(); ++i)
    memory_.layers[i].seen = memory_.seen + plan_.layers[i].means_at;
  take(memory_.logits, outputs * sizeof(float));
  take(memory_.dlogits, outputs * sizeof(float));
  take(memory_.labels, std::size_t(plan_.largest_batch) * sizeof(std::int32_t));
  take(memory_.work, work_ * sizeof(float));
  take(memory_.loss, sizeof(Loss));
  take(memory_.pointers, sizeof(Pointers));
  take(memory_.segments, std::max<std::size_t>(1, memory_.parts.size()) * sizeof(Segment));
  return bytes_;
}

void NetworkMemory::Layout::forward_of(std::size_t i) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  LayerMemory& here = memory_.layers[i];
  here.in = i == 0 ? memory_.input : memory_.layers[i - 1].out;
  here.folded = layer.spec.type == Type::kRelu && i > 0 && takes_relu(plan_.layers[i - 1]);
  if (here.folded) {
    memory_.layers[i - 1].relu = true;
    here.out = here.in;
  } else {
    take(here.out, activations(layer.output));
  }
  if (layer.kept) take(here.shortcut, activations(layer.output));
  if (layer.spec.type == Type::kMaxPool) take(here.at, cells(layer.output));
  if (layer.spec.type == Type::kBatchNorm) take(here.saved, 2 * std::size_t(layer.input.channels) * sizeof(float));
  if (flattens(layer)) {
    take(here.flat, activations(layer.input));
    take(here.dflat, activations(layer.input));
  }
  if (layer.spec.type == Type::kAdd) {
    const auto later = [&](const NetworkPlan::Layer& other) {
      return other.spec.type == Type::kAdd && other.spec.from == layer.spec.from;
    };
    here.accumulate = std::any_of(plan_.layers.begin() + std::ptrdiff_t(i) + 1, plan_.layers.end(), later);
  }
  // These are the channels of the rows that column sums run over, for any batch up to the largest.
  for (int batch = 1; layer.weights > 0 && batch <= plan_.largest_batch; ++batch) {
    const std::size_t rows = std::size_t(layer.output.height) * std::size_t(layer.output.width) * std::size_t(batch);
    work_ = std::max(work_, column_work(rows, layer.output.channels));
  }
}

/// Places the gradients. On both sides of a layer that computes nothing of its own they share their memory.
void NetworkMemory::Layout::backward_of(std::size_t i) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  LayerMemory& here = memory_.layers[i];
  if (layer.spec.type == Type::kRelu || layer.spec.type == Type::kAdd) {
    here.din = here.dout;
  } else {
    take(here.din, activations(layer.input));
  }
  (i == 0 ? memory_.dinput : memory_.layers[i - 1].dout) = here.din;
}

/// Adds a part that is [n][c][hw] at the border and [n][hw][c] inside, cut into segments.
void NetworkMemory::Layout::add_part(std::size_t at, void* inside, void* gradient, int n, int c, int hw,
                                     Number number) {
  const int most = std::max(1, kSegment / hw);  // channels
  for (int row = 0; row < n; ++row) {
    for (int channel = 0; channel < c; channel += most) {
      const std::size_t outer = std::size_t(row) * std::size_t(c) * std::size_t(hw);
      const std::size_t there = (outer + std::size_t(channel)) * bytes_of(number);
      Segment part;
      part.at = at + outer + std::size_t(channel) * std::size_t(hw);
      if (real_) part.inside = static_cast<char*>(inside) + there;
      if (real_) part.gradient = static_cast<char*>(gradient) + there;
      part.channels = std::min(most, c - channel), part.stride = c, part.hw = hw;
      part.number = number;
      memory_.parts.push_back(part);
    }
  }
}

void NetworkMemory::Layout::parameters_of(std::size_t i) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  LayerMemory& here = memory_.layers[i];
  memory_.first_part.push_back(int(memory_.parts.size()));
  if (layer.weights == 0) return;
  const Number number = layer.spec.type == Type::kBatchNorm ? Number::kFloat : number_;
  take(here.weights, layer.weights * bytes_of(number));
  take(here.dweights, layer.weights * bytes_of(number));
  if (layer.spec.type == Type::kConv) {
    add_part(layer.weights_at, here.weights, here.dweights, layer.spec.outputs, layer.input.channels,
             layer.spec.kernel * layer.spec.kernel, number);
  } else {
    add_part(layer.weights_at, here.weights, here.dweights, 1, int(layer.weights), 1, number);
  }
  if (layer.biases == 0) return;
  take(here.bias, layer.biases * sizeof(float));
  take(here.dbias, layer.biases * sizeof(float));
  add_part(layer.bias_at, here.bias, here.dbias, 1, int(layer.biases), 1, Number::kFloat);
}

NetworkMemory::NetworkMemory(const NetworkPlan& plan, Precision precision, Stream stream) {
  Layout layout(plan, precision, *this);
  const std::size_t wanted = layout.lay_out(false), free = Device::mine().free_memory();
  if (wanted > free)
    throw environment_error(
        fmt::format("cuda: this network wants {:.2f} GiB of the GPU's memory at batch {}, and {:.2f} of {:.2f} are "
                    "free: use a smaller model or batch, or fewer ranks on this GPU",
                    double(wanted) / (1 << 30), plan.largest_batch, double(free) / (1 << 30),
                    double(Device::mine().memory()) / (1 << 30)));
  layout.lay_out(true);
  copy(stream, segments, parts.data(), parts.size() * sizeof(Segment));
  wait_for(stream);
}

}  // namespace hopbench::cuda
