#include "backends/cuda/program.h"

#include <algorithm>
#include <utility>

#include "backends/base/error.h"

namespace hopbench::cuda {

using Type = LayerSpec::Type;
using Direction = CompiledNetwork::Direction;

namespace {

Window window_of(const LayerSpec& spec) { return {spec.kernel, spec.stride, spec.padding}; }

}  // namespace

Workshop::Workshop(NetworkPlan plan_given, Precision precision_, bool deterministic_)
    : plan(std::move(plan_given)),
      precision(precision_),
      number(number_of(precision_)),
      deterministic(deterministic_),
      memory(plan, precision, stream) {
  const auto has = [&](Type type) {
    return std::any_of(plan.layers.begin(), plan.layers.end(),
                       [&](const auto& layer) { return layer.spec.type == type; });
  };
  if (has(Type::kDense)) gemm.emplace(stream, precision);
  if (has(Type::kConv)) convolutions.emplace(stream);
}

Program::Program(Workshop& shop, int batch)
    : shop_(shop),
      plan_(shop.plan),
      memory_(shop.memory),
      stream_(shop.stream),
      number_(shop.number),
      batch_(batch),
      convolutions_(shop.plan.layers.size()) {
  std::size_t work = 0, waiting = 0;
  const std::size_t eighth = plan_.parameters / 8;
  for (std::size_t i = plan_.layers.size(); i-- > 0;) {
    const NetworkPlan::Layer& layer = plan_.layers[i];
    if (layer.spec.type == Type::kConv) {
      const Convolution::Shape shape{cells(layer.input), cells(layer.output), layer.spec.kernel, layer.spec.stride,
                                     layer.spec.padding};
      convolutions_[i] =
          std::make_unique<Convolution>(*shop.convolutions, shape, shop.precision, shop.deterministic, i > 0);
      work = std::max(work, convolutions_[i]->work_bytes());
    }
    waiting += layer.weights + layer.biases;
    if (i > 0 && (waiting == 0 || waiting < eighth)) continue;
    flushes_.push_back({.down_to = int(i), .event = {}});
    waiting = 0;
  }
  make_room(work);
}

void Program::make_room(std::size_t work) {
  if (work <= shop_.convolution_work.bytes()) return;
  shop_.convolution_work = Buffer();
  shop_.convolution_work = Buffer(work);
}

void Program::want_input_gradient() {
  if (convolutions_[0] == nullptr) return;
  convolutions_[0]->want_data_gradient();
  make_room(convolutions_[0]->work_bytes());
}

Cells Program::cells(const Shape& shape) const { return {batch_, shape.channels, shape.height, shape.width}; }

void Program::told(std::size_t i, Direction direction) {
  if (!shop_.watch) return;
  wait_for(stream_);
  shop_.watch(int(i), direction);
}

// ---- forward

void Program::forward(bool training) {
  const Shape& in = plan_.input;
  if (!training) to_inside(stream_, Number::kFloat, {&memory_.pointers->statistics}, memory_.given, plan_.statistics);
  load_segments(stream_, memory_.segments, 0, int(memory_.parts.size()), {&memory_.pointers->parameters});
  to_channels_last(stream_, number_, {&memory_.pointers->x}, memory_.input, batch_, in.channels, in.height * in.width);
  told(std::size_t(-1), Direction::kForward);
  for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
    if (memory_.layers[i].folded) continue;
    layer_forward(i, training);
    told(i, Direction::kForward);
  }
  const Shape& out = plan_.output;
  to_channels_first(stream_, number_, memory_.layers.back().out, {&memory_.pointers->logits}, batch_, out.channels,
                    out.height * out.width);
}

void Program::layer_forward(std::size_t i, bool training) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  const LayerMemory& here = memory_.layers[i];
  const Cells in = cells(layer.input), out = cells(layer.output);
  const Window window = window_of(layer.spec);
  switch (layer.spec.type) {
    case Type::kConv:
      convolutions_[i]->forward(here.in, here.weights, here.out, shop_.convolution_work.data());
      return add_bias(layer, here);
    case Type::kDense:
      return forward_dense(layer, here);
    case Type::kRelu:
      return relu(stream_, number_, here.in, here.out, in.size());
    case Type::kMaxPool:
      return max_pool(stream_, number_, here.in, here.out, here.at, in, out, window);
    case Type::kAvgPool:
      return avg_pool(stream_, number_, here.in, here.out, in, out, window);
    case Type::kBatchNorm:
      if (training) {
        norm_statistics(stream_, number_, here.in, here.saved, here.seen, in.rows(), in.channels, memory_.work);
      } else {
        norm_from_statistics(stream_, memory_.given + layer.means_at, here.saved, in.channels);
      }
      return norm_forward(stream_, number_, here.in, here.out, here.saved, static_cast<const float*>(here.weights),
                          here.bias, here.relu, in.rows(), in.channels);
    case Type::kAdd: {
      const auto from = std::size_t(layer.spec.from);
      return add_shortcut(stream_, number_, here.in, memory_.layers[from].out, here.out, out,
                          cells(plan_.layers[from].output), layer.spec.stride, here.relu);
    }
  }
}

void Program::add_bias(const NetworkPlan::Layer& layer, const LayerMemory& here) {
  if (here.bias == nullptr && !here.relu) return;
  bias_relu(stream_, number_, here.out, here.bias, here.relu, cells(layer.output).rows(), layer.output.channels);
}

void Program::forward_dense(const NetworkPlan::Layer& layer, const LayerMemory& here) {
  const Shape& in = layer.input;
  if (here.flat != nullptr)
    transpose_inside(stream_, number_, here.in, here.flat, batch_, in.height * in.width, in.channels);
  const void* const x = here.flat != nullptr ? here.flat : here.in;
  shop_.gemm->run(false, true, batch_, layer.spec.outputs, int(in.size()), x, here.weights, here.out, number_);
  add_bias(layer, here);
}

// ---- between the passes

void Program::take_labels() {
  to_inside(stream_, Number::kFloat, {&memory_.pointers->labels}, memory_.labels, std::size_t(batch_));
}

void Program::loss(bool gradient) {
  softmax_cross_entropy(stream_, memory_.logits, memory_.labels, gradient ? memory_.dlogits : nullptr, memory_.loss,
                        batch_, int(plan_.output.size()));
}

void Program::write_logits() {
  to_border(stream_, Number::kFloat, memory_.logits, {&memory_.pointers->y}, plan_.output.size() * std::size_t(batch_));
}

void Program::take_dy() {
  to_inside(stream_, Number::kFloat, {&memory_.pointers->dy}, memory_.dlogits,
            plan_.output.size() * std::size_t(batch_));
}

void Program::write_statistics() {
  to_border(stream_, Number::kFloat, memory_.seen, {&memory_.pointers->seen}, plan_.statistics);
}

// ---- backward

void Program::backward(bool data, bool in_graph) {
  const Shape &in = plan_.input, &out = plan_.output;
  to_channels_last(stream_, number_, {&memory_.pointers->dlogits}, memory_.layers.back().dout, batch_, out.channels,
                   out.height * out.width);
  int flushed = int(memory_.parts.size());
  auto flush = flushes_.begin();
  for (std::size_t i = plan_.layers.size(); i-- > 0;) {
    const LayerMemory& here = memory_.layers[i];
    if (here.shortcut != nullptr)
      add_to(stream_, number_, here.dout, here.shortcut, cells(plan_.layers[i].output).size());
    if (!here.folded) layer_backward(i, data || i > 0);
    if (flush->down_to != int(i)) continue;
    const int first = memory_.first_part[i];
    store_segments(stream_, memory_.segments, first, flushed - first, {&memory_.pointers->gradient});
    flushed = first;
    (flush++)->event.record(stream_, in_graph);
  }
  if (data)
    to_channels_first(stream_, number_, memory_.dinput, {&memory_.pointers->dx}, batch_, in.channels,
                      in.height * in.width);
}

void Program::tell(const std::function<void(int)>& layer_done) {
  int done = int(plan_.layers.size());
  for (Flush& flush : flushes_) {
    flush.event.wait();
    while (done > flush.down_to) {
      --done;
      if (layer_done) layer_done(done);
    }
  }
}

void Program::layer_backward(std::size_t i, bool data) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  const LayerMemory& here = memory_.layers[i];
  const Cells in = cells(layer.input), out = cells(layer.output);
  switch (layer.spec.type) {
    case Type::kConv:
      return backward_conv(i, data);
    case Type::kDense:
      return backward_dense(i, data);
    case Type::kBatchNorm:
      norm_backward(stream_, number_, here.in, here.out, here.dout, here.din, here.saved,
                    static_cast<const float*>(here.weights), static_cast<float*>(here.dweights), here.dbias, here.relu,
                    in.rows(), in.channels, memory_.work);
      break;
    case Type::kRelu:
      relu_backward(stream_, number_, here.dout, here.out, here.din, in.size());
      break;
    case Type::kMaxPool:
      if (data) max_pool_backward(stream_, number_, here.dout, here.at, here.din, in, out, window_of(layer.spec));
      break;
    case Type::kAvgPool:
      if (data) avg_pool_backward(stream_, number_, here.dout, here.din, in, out, window_of(layer.spec));
      break;
    case Type::kAdd: {  // din is dout
      const auto from = std::size_t(layer.spec.from);
      if (here.relu) relu_backward(stream_, number_, here.dout, here.out, here.dout, out.size());
      add_shortcut_backward(stream_, number_, here.dout, memory_.layers[from].shortcut, out,
                            cells(plan_.layers[from].output), layer.spec.stride, here.accumulate);
      break;
    }
  }
  told(i, Direction::kBackwardData);
}

void Program::bias_backward(const NetworkPlan::Layer& layer, const LayerMemory& here) {
  if (here.bias == nullptr && !here.relu) return;
  bias_relu_backward(stream_, number_, here.dout, here.out, here.dbias, here.relu, cells(layer.output).rows(),
                     layer.output.channels, memory_.work);
}

void Program::backward_conv(std::size_t i, bool data) {
  const LayerMemory& here = memory_.layers[i];
  void* const work = shop_.convolution_work.data();
  bias_backward(plan_.layers[i], here);
  convolutions_[i]->backward_weights(here.in, here.dout, here.dweights, work);
  told(i, Direction::kBackwardWeights);
  if (!data) return;
  convolutions_[i]->backward_data(here.dout, here.weights, here.din, work);
  told(i, Direction::kBackwardData);
}

void Program::backward_dense(std::size_t i, bool data) {
  const NetworkPlan::Layer& layer = plan_.layers[i];
  const LayerMemory& here = memory_.layers[i];
  const Shape& in = layer.input;
  const int inputs = int(in.size()), outputs = layer.spec.outputs;
  bias_backward(layer, here);
  const void* const x = here.flat != nullptr ? here.flat : here.in;
  shop_.gemm->run(true, false, outputs, inputs, batch_, here.dout, x, here.dweights, number_);
  told(i, Direction::kBackwardWeights);
  if (!data) return;
  shop_.gemm->run(false, false, batch_, inputs, outputs, here.dout, here.weights,
                  here.flat != nullptr ? here.dflat : here.din, number_);
  if (here.flat != nullptr)
    transpose_inside(stream_, number_, here.dflat, here.din, batch_, in.channels, in.height * in.width);
  told(i, Direction::kBackwardData);
}

}  // namespace hopbench::cuda
