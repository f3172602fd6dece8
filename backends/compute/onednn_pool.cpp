// Pools, and ReLUs that no other layer computes. Max-pools whose windows lie side by side, channels last, are computed
// here: if channels are few, oneDNN's max-pool takes four times as long. In LeNet it took half of the step.
#include <algorithm>
#include <cstdint>

#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {

using dnnl::algorithm;
using dnnl::prop_kind;

namespace {

dnnl::eltwise_forward::primitive_desc relu_forward(const Builder& build, const memory::desc& desc) {
  return describe<dnnl::eltwise_forward>(build.engine, attributes(), prop_kind::forward_training,
                                         algorithm::eltwise_relu_use_dst_for_bwd, desc, desc);
}

/// One pool: the maps it reads and writes, and the offsets of a window's cells in its input, from the first cell on.
struct Tiles {
  Tiles(const Layer& layer, memory::dim samples)
      : in(layer.input), out(layer.output), kernel(std::size_t(layer.spec.kernel)), batch(std::size_t(samples)) {
    const auto cell = std::size_t(in.channels), row = std::size_t(in.width) * cell;
    for (std::size_t k = 0; k < kernel * kernel; ++k) offsets.push_back(k / kernel * row + k % kernel * cell);
  }

  /// Calls f(begin of a window in the input, begin of its outputs) for each window of all channels.
  template <class F>
  void for_windows(const F& f) const {
    const auto channels = std::size_t(in.channels), height = std::size_t(out.height), width = std::size_t(out.width);
    std::size_t to = 0;
    for (std::size_t n = 0; n < batch; ++n) {
      for (std::size_t i = 0; i < height; ++i) {
        const std::size_t from = n * in.size() + i * kernel * std::size_t(in.width) * channels;
        for (std::size_t j = 0; j < width; ++j, to += channels) f(from + j * kernel * channels, to);
      }
    }
  }

  void forward(const float* x, float* y, std::uint8_t* which) const {
    const auto channels = std::size_t(in.channels);
    for_windows([&](std::size_t from, std::size_t to) {
      const float* first = x + from;
      for (std::size_t c = 0; c < channels; ++c) {
        float largest = first[c];
        std::uint8_t at = 0;
        for (std::size_t k = 1; k < offsets.size(); ++k) {
          const float value = first[offsets[k] + c];
          at = value > largest ? std::uint8_t(k) : at;
          largest = value > largest ? value : largest;
        }
        y[to + c] = largest;
        which[to + c] = at;
      }
    });
  }

  void backward(const float* dy, const std::uint8_t* which, float* dx) const {
    const auto channels = std::size_t(in.channels);
    std::fill_n(dx, in.size() * batch, 0.0f);
    for_windows([&](std::size_t from, std::size_t to) {
      for (std::size_t c = 0; c < channels; ++c) dx[from + offsets[which[to + c]] + c] = dy[to + c];
    });
  }

  Shape in, out;
  std::size_t kernel, batch;
  std::vector<std::size_t> offsets;
};

/// Returns true for a max-pool whose windows lie side by side, channels last.
bool pools_by_tiles(const Builder& build, const Layer& layer) {
  const LayerSpec& spec = layer.spec;
  return spec.type == LayerSpec::Type::kMaxPool && spec.kernel == spec.stride && spec.padding == 0 &&
         spec.kernel <= 16 && channel_block(build.plan) == 0;
}

Tensor add_pool_by_tiles(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const Tiles tiles(layer, build.batch);
  const Tensor src = build.activations_in(build.forward, in, build.inner(layer.input), kKept);
  const Tensor out = build.take(kKept, build.inner(layer.output));
  const memory::dim numbers = build.batch * memory::dim(layer.output.size());
  const Tensor which = build.take(kKept, {{numbers}, memory::data_type::u8, Format::x});
  build.add_kernel(build.forward, std::array{src, out, which}, [tiles](std::span<float* const> data) {
    tiles.forward(data[0], data[1], reinterpret_cast<std::uint8_t*>(data[2]));
  });
  build.leave_behind(index, [=, &build](const Tensor& diff) {
    Steps& steps = build.backward_layer(index).data;
    const Tensor dout = build.activations_in(steps, diff, out.desc);
    const Tensor din = build.take_diff(diff, src.desc);
    build.add_kernel(steps, std::array{dout, which, din}, [tiles](std::span<float* const> data) {
      tiles.backward(data[0], reinterpret_cast<const std::uint8_t*>(data[1]), data[2]);
    });
    return din;
  });
  return out;
}

}  // namespace

/// Works in place: no layer's backward pass needs a pool's output, and the output of another ReLU stays as it is.
Tensor add_relu(Builder& build, int index, const Tensor& in) {
  const bool kept = index > 0 && build.layer(index - 1).kept;
  const Tensor out = in.region == kX || kept ? build.take(kKept, in.desc) : in;
  build.add<dnnl::eltwise_forward>(build.forward, relu_forward(build, in.desc),
                                   {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}});
  leave_relu_behind(build, index, out);
  return out;
}

void leave_relu_behind(Builder& build, int index, const Tensor& out) {
  build.leave_behind(index, [=, &build](const Tensor& diff) {
    Steps& steps = build.backward_layer(index).data;
    const Tensor dout = build.activations_in(steps, diff, out.desc);
    const auto description = describe_backward<dnnl::eltwise_backward>(
        build.engine, attributes(), relu_forward(build, out.desc), algorithm::eltwise_relu_use_dst_for_bwd, out.desc,
        out.desc, out.desc);
    const bool in_place = dout.region == kDiffA || dout.region == kDiffB;
    const Tensor din = in_place ? dout : build.take_diff(diff, out.desc);
    build.add<dnnl::eltwise_backward>(steps, description,
                                      {{DNNL_ARG_DST, out}, {DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_DIFF_SRC, din}});
    return din;
  });
}

Tensor add_pool(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  if (pools_by_tiles(build, layer)) return add_pool_by_tiles(build, index, in);
  const LayerSpec& spec = layer.spec;
  const bool max = spec.type == LayerSpec::Type::kMaxPool;
  const algorithm kind = max ? algorithm::pooling_max : algorithm::pooling_avg_include_padding;
  const memory::dims strides{spec.stride, spec.stride}, window{spec.kernel, spec.kernel};
  const memory::dims padding{spec.padding, spec.padding}, dilation{0, 0};
  const auto description = describe<dnnl::pooling_forward>(build.engine, attributes(), prop_kind::forward_training,
                                                           kind, build.inner(layer.input), build.inner(layer.output),
                                                           strides, window, dilation, padding, padding);
  const Tensor src = build.activations_in(build.forward, in, build.inner(layer.input), kKept);
  const Tensor out = build.take(kKept, build.inner(layer.output));
  const Tensor which = max ? build.take(kKept, description.workspace_desc()) : Tensor{};
  Arguments arguments{{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, out}};
  if (max) arguments.push_back({DNNL_ARG_WORKSPACE, which});
  build.add<dnnl::pooling_forward>(build.forward, description, arguments);
  build.leave_behind(index, [=, &build](const Tensor& diff) {
    Steps& steps = build.backward_layer(index).data;
    const Tensor dout = build.activations_in(steps, diff, out.desc);
    const auto by_data = describe_backward<dnnl::pooling_backward>(
        build.engine, attributes(), description, kind, src.desc, out.desc, strides, window, dilation, padding, padding);
    const Tensor din = build.take_diff(diff, src.desc);
    Arguments backward{{DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_DIFF_SRC, din}};
    if (max) backward.push_back({DNNL_ARG_WORKSPACE, which});
    build.add<dnnl::pooling_backward>(steps, by_data, backward);
    return din;
  });
  return out;
}

}  // namespace hopbench::onednn
