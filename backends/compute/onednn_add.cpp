// Residual additions. Where both shapes are equal oneDNN adds; a shortcut that is subsampled is added by plain loops:
// there is one where a network's maps become smaller.
#include <algorithm>

#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {
namespace {

/// f(index of a cell there, index here, channels) for each run of cells of both that meet, channels last.
template <class F>
void for_shortcut(const Shape& from, const Shape& to, int stride, memory::dim batch, const F& f) {
  const int zeros = (to.channels - from.channels) / 2;
  for (int n = 0; n < int(batch); ++n) {
    for (int i = 0; i < to.height; ++i) {
      for (int j = 0; j < to.width; ++j) {
        const int there = (n * from.height + i * stride) * from.width + j * stride;
        const int here = (n * to.height + i) * to.width + j;
        f(std::size_t(there) * std::size_t(from.channels),
          std::size_t(here) * std::size_t(to.channels) + std::size_t(zeros), std::size_t(from.channels));
      }
    }
  }
}

void add_numbers(float* to, const float* from, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) to[k] += from[k];
}

void add_equal(Builder& build, Steps& steps, const Tensor& a, const Tensor& b, const Tensor& sum, bool relu) {
  const dnnl::binary::primitive_desc description({dnnl::algorithm::binary_add, a.desc, b.desc, sum.desc},
                                                 attributes(relu), build.engine);
  build.add<dnnl::binary>(steps, description, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, sum}});
}

}  // namespace

Tensor add_add(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const Shape& from = build.layer(layer.spec.from).output;
  const Shape& to = layer.output;
  const int stride = layer.spec.stride;
  const bool relu = build.relu_fused(index), equal = from == to;
  const Tensor other =
      build.activations_in(build.forward, build.kept_outputs(layer.spec.from), build.inner(from), kKept);
  const Tensor src = build.activations_in(build.forward, in, build.inner(to), kKept);
  const Tensor out = build.may_overwrite(index - 1, src) ? src : build.take(kKept, build.inner(to));
  if (equal) {
    add_equal(build, build.forward, src, other, out, relu);
  } else {
    const std::size_t numbers = to.size() * std::size_t(build.batch);
    build.add_kernel(build.forward, std::array{src, other, out},
                     [=, batch = build.batch](std::span<float* const> data) {
                       float* sum = data[2];
                       if (sum != data[0]) std::copy_n(data[0], numbers, sum);
                       for_shortcut(from, to, stride, batch, [&](std::size_t there, std::size_t here, std::size_t n) {
                         add_numbers(sum + here, data[1] + there, n);
                       });
                       for (std::size_t k = 0; relu && k < numbers; ++k) sum[k] = std::max(sum[k], 0.0f);
                     });
  }
  build.leave_behind(index, [=, &build](const Tensor& diff) {
    Steps& steps = build.backward_layer(index).data;
    const Tensor dout = build.diff_in(steps, diff, build.inner(to));
    build.reorder(steps, dout, out);  // what all that comes later read in forward is free by now
    build.hold(build.layer(index).spec.from, [=, &build](Steps& later, const Tensor& sum) {
      if (equal) return add_equal(build, later, sum, out, sum, false);
      build.add_kernel(later, std::array{sum, out}, [=, batch = build.batch](std::span<float* const> data) {
        for_shortcut(from, to, stride, batch, [&](std::size_t there, std::size_t here, std::size_t n) {
          add_numbers(data[0] + there, data[1] + here, n);
        });
      });
    });
    return dout;
  });
  if (relu) leave_relu_behind(build, index + 1, out);
  return out;
}

}  // namespace hopbench::onednn
