// Chooses layouts, and products of matrices instead of convolutions. The choices are rules, not measurements: a choice
// that follows a stopwatch would give two ranks, or two runs, different bits.
//
// The reasons, as shares of the FMA peak of VGG-11 on 32x32 images, batch 32, one thread (docs/performance.md): In
// blocks of channels a forward or data pass reaches 70 to 107 %, but channels last 24 to 93 %. LeNet's 6, 20 or 50
// channels however would be rounded up to 16, 32 or 64. On maps of 4x4 and 2x2 oneDNN's gradient of the weights reaches
// 41 and 19 %. Products of matrices do not multiply the padding of small maps.
#include <algorithm>

#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {
namespace {

using Type = LayerSpec::Type;

constexpr int kFewChannels = 3;  // up to this number, oneDNN's convolutions in blocks read channels as they are

int block_of_instruction_set() {
  const auto has = [isa = int(dnnl::get_effective_cpu_isa())](dnnl::cpu_isa wanted) {
    return (isa & int(wanted)) == int(wanted);  // each set's bits hold those of the sets that it extends
  };
  return has(dnnl::cpu_isa::avx512_core) ? 16 : 8;
}

/// Output rows [begin, end) whose window cell at `tap` lies inside the input, where they meet row begin + shift.
struct Overlap {
  Overlap(int tap, int padding, int in, int out)
      : shift(tap - padding), begin(std::max(0, -shift)), end(std::min(out, in - shift)) {}
  int shift, begin, end;
  memory::dim size() const { return std::max(0, end - begin); }
};

/// Adds up the rows of y, one row for each cell of a map.
void sum_rows(const float* y, std::size_t rows, std::size_t columns, float* sum) {
  std::fill_n(sum, columns, 0.0f);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) sum[c] += y[r * columns + c];
  }
}

}  // namespace

int channel_block(const NetworkPlan& plan) {
  const int block = block_of_instruction_set();
  bool convolves = false;
  for (const Layer& layer : plan.layers) {
    if (layer.spec.type == Type::kDense || layer.spec.type == Type::kRelu) continue;  // they take any layout
    const bool conv = layer.spec.type == Type::kConv;
    if (!conv && layer.spec.type != Type::kMaxPool && layer.spec.type != Type::kAvgPool) return 0;
    const bool reads_caller = conv && &layer == &plan.layers.front() && layer.input.channels <= kFewChannels;
    if (layer.input.channels % block != 0 && !reads_caller) return 0;
    if (layer.output.channels % block != 0) return 0;
    convolves = convolves || conv;
  }
  return convolves ? block : 0;
}

bool weights_by_matrices(const Builder& build, const Layer& layer) {
  constexpr int kCells = 16, kChannels = 128;
  return channel_block(build.plan) != 0 && layer.spec.stride == 1 &&
         layer.output.height * layer.output.width <= kCells && layer.input.channels >= kChannels &&
         layer.output.channels >= kChannels;
}

/// Computes dW[o][c][i][j] = sum over outputs y of dout[o][y] * src[c][y + (i, j) - padding]. For each (i, j) this is
/// the product of two matrices, whose rows are the cells of both maps that meet.
void add_weights_by_matrices(Builder& build, Steps& steps, const Layer& layer, const Tensor& src, const Tensor& dout) {
  const Shape &in = layer.input, &out = layer.output;
  const memory::dim n = build.batch, plane = memory::dim(out.channels) * in.channels;
  const int kernel = layer.spec.kernel;
  const auto rows_of = [&](const Shape& shape, memory::dim height, memory::dim width) {
    return with_format({n, shape.channels, height, width}, Format::nhwc);
  };
  const Tensor x = build.take(kLayer, rows_of(in, in.height, in.width));
  const Tensor y = build.take(kLayer, rows_of(out, out.height, out.width));
  const memory::dims window{out.channels, in.channels, kernel, kernel};
  const memory::desc by_cell(window, memory::data_type::f32, memory::dims{in.channels, 1, kernel * plane, plane});
  const Tensor planes = build.take(kLayer, by_cell);

  if (layer.spec.bias) {
    build.reorder(steps, dout, {rows_of(out, out.height, out.width), y.region, y.at});
    const std::size_t cells = std::size_t(n) * std::size_t(out.height * out.width);
    build.add_kernel(steps, std::array{y, build.bias(layer, kDparams)},
                     [cells, channels = std::size_t(out.channels)](std::span<float* const> data) {
                       sum_rows(data[0], cells, channels, data[1]);
                     });
  }
  for (int cell = 0; cell < kernel * kernel; ++cell) {
    const Overlap v(cell / kernel, layer.spec.padding, in.height, out.height);
    const Overlap h(cell % kernel, layer.spec.padding, in.width, out.width);
    const Tensor product{with_format({out.channels, in.channels}, Format::ab), planes.region,
                         planes.at + std::size_t(cell * plane) * sizeof(float)};
    const memory::dim meeting = n * v.size() * h.size();
    if (meeting == 0) {
      build.add_kernel(steps, std::array{product},
                       [plane](std::span<float* const> data) { std::fill_n(data[0], plane, 0.0f); });
      continue;
    }
    const auto gather = [&](const Tensor& from, const Shape& shape, memory::dim top, memory::dim left,
                            const Tensor& to) {
      const memory::desc part = from.desc.submemory_desc({n, shape.channels, v.size(), h.size()}, {0, 0, top, left});
      build.reorder(steps, {part, from.region, from.at}, {rows_of(shape, v.size(), h.size()), to.region, to.at});
    };
    gather(src, in, v.begin + v.shift, h.begin + h.shift, x);
    gather(dout, out, v.begin, h.begin, y);
    const memory::desc turned = with_format({out.channels, meeting}, Format::ba);
    const memory::desc upright = with_format({meeting, in.channels}, Format::ab);
    const auto description = describe<dnnl::matmul>(build.engine, attributes(), turned, upright, product.desc);
    build.add<dnnl::matmul>(steps, description,
                            {{DNNL_ARG_SRC, {turned, y.region, y.at}},
                             {DNNL_ARG_WEIGHTS, {upright, x.region, x.at}},
                             {DNNL_ARG_DST, product}});
  }
  const Tensor weights = build.params(layer, with_format(window, Format::oihw));
  build.reorder(steps, planes, {weights.desc, kDparams, weights.at});
}

}  // namespace hopbench::onednn
