// Residual additions. If both shapes are equal, oneDNN adds. A subsampled shortcut is added by plain loops; it occurs
// where a network's maps become smaller.
#include <algorithm>

#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {
namespace {

/// The places of a tensor's numbers, in blocks of channels: one block of all if channels last, blocks of one in nchw.
class Layout {
 public:
  Layout(const memory::desc& desc, const Shape& shape) : shape_(shape) {
    block_ = int(channels_of_block(desc));
    if (block_ == 0) block_ = channel_stride(desc) == 1 ? shape.channels : 1;
  }
  std::size_t at(int n, int c, int i, int j) const {
    const int blocks = shape_.channels / block_;
    return ((std::size_t(n * blocks + c / block_) * std::size_t(shape_.height) + std::size_t(i)) *
                std::size_t(shape_.width) +
            std::size_t(j)) *
               std::size_t(block_) +
           std::size_t(c % block_);
  }

 private:
  Shape shape_;
  int block_;
};

/// A shortcut whose two sides differ in shape.
struct Shortcut {
  Shape from, to;
  int stride;
  int batch;

  /// Calls f(index there, index here) for every number.
  template <class F>
  void for_each(const Layout& there, const Layout& here, const F& f) const {
    const int zeros = (to.channels - from.channels) / 2;
    for (int n = 0; n < batch; ++n)
      for (int i = 0; i < to.height; ++i)
        for (int j = 0; j < to.width; ++j)
          for (int c = 0; c < from.channels; ++c)
            f(there.at(n, c, i * stride, j * stride), here.at(n, c + zeros, i, j));
  }
};

void add_equal(Builder& build, Steps& steps, const Tensor& a, const Tensor& b, const Tensor& sum, bool relu) {
  const auto description =
      describe<dnnl::binary>(build.engine, attributes(relu), dnnl::algorithm::binary_add, a.desc, b.desc, sum.desc);
  build.add<dnnl::binary>(steps, description, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, sum}});
}

}  // namespace

Tensor add_add(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const Shape& from = build.layer(layer.spec.from).output;
  const Shape& to = layer.output;
  const bool relu = build.relu_fused(index), equal = from == to;
  const Shortcut shortcut{from, to, layer.spec.stride, int(build.batch)};
  const Layout there(build.inner(from), from), here(build.inner(to), to);
  const Tensor other =
      build.activations_in(build.forward, build.kept_outputs(layer.spec.from), build.inner(from), kKept);
  const Tensor src = build.activations_in(build.forward, in, build.inner(to), kKept);
  const Tensor out = build.may_overwrite(index - 1, src) ? src : build.take(kKept, build.inner(to));
  if (equal) {
    add_equal(build, build.forward, src, other, out, relu);
  } else {
    const std::size_t numbers = to.size() * std::size_t(build.batch);
    build.add_kernel(build.forward, std::array{src, other, out}, [=](std::span<float* const> data) {
      float* sum = data[2];
      if (sum != data[0]) std::copy_n(data[0], numbers, sum);
      shortcut.for_each(there, here, [&](std::size_t a, std::size_t b) { sum[b] += data[1][a]; });
      for (std::size_t k = 0; relu && k < numbers; ++k) sum[k] = std::max(sum[k], 0.0f);
    });
  }
  build.leave_behind(index, [=, &build](const Tensor& diff) {
    Steps& steps = build.backward_layer(index).data;
    const Tensor dout = build.diff_in(steps, diff, build.inner(to));
    build.reorder(steps, dout, out);  // only later layers read `out` in forward, so it is free by now
    build.hold(build.layer(index).spec.from, [=, &build](Steps& later, const Tensor& sum) {
      if (equal) return add_equal(build, later, sum, out, sum, false);
      build.add_kernel(later, std::array{sum, out}, [=](std::span<float* const> data) {
        shortcut.for_each(there, here, [&](std::size_t a, std::size_t b) { data[0][a] += data[1][b]; });
      });
    });
    return dout;
  });
  if (relu) leave_relu_behind(build, index + 1, out);
  return out;
}

}  // namespace hopbench::onednn
