// Batch norms, with the ReLU behind them. oneDNN keeps a record of the outputs that the ReLU let through.
#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {

using dnnl::normalization_flags;
using dnnl::prop_kind;

Tensor add_norm(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const bool relu = build.relu_fused(index);
  const memory::desc data = build.inner(layer.input);
  const memory::desc channels = with_format({layer.input.channels}, Format::x);
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (relu) flags |= normalization_flags::fuse_norm_relu;
  if (!build.training) flags |= normalization_flags::use_global_stats;
  const auto description = describe<dnnl::batch_normalization_forward>(
      build.engine, attributes(), build.training ? prop_kind::forward_training : prop_kind::forward_inference, data,
      data, float(kBatchNormEpsilon), flags);
  const Tensor scale = build.params(layer, channels);
  const Tensor shift{channels, scale.region, scale.at + channels.get_size()};
  const Tensor src = build.activations_in(build.forward, in, data, kKept);
  const Tensor out = build.take(kKept, data);
  const auto of_channels = [&](std::size_t turn) {
    const std::size_t at = layer.means_at + turn * std::size_t(layer.input.channels);
    return build.training ? build.take(kKept, channels) : Tensor{channels, kStatistics, at * sizeof(float)};
  };
  const Tensor means = of_channels(0), variances = of_channels(1);
  const Tensor passed = relu && build.training ? build.take(kKept, description.workspace_desc()) : Tensor{};
  build.add<dnnl::batch_normalization_forward>(build.forward, description,
                                               {{DNNL_ARG_SRC, src},
                                                {DNNL_ARG_DST, out},
                                                {DNNL_ARG_SCALE, scale},
                                                {DNNL_ARG_SHIFT, shift},
                                                {DNNL_ARG_MEAN, means},
                                                {DNNL_ARG_VARIANCE, variances},
                                                {DNNL_ARG_WORKSPACE, passed}});
  if (build.training) build.keep_moments(layer, means, variances);
  build.leave_behind(relu ? index + 1 : index, [=, &build](const Tensor& diff) {
    if (relu) build.backward_layer(index + 1);
    Steps& steps = build.backward_layer(index).weights;  // one primitive computes both
    const Tensor dout = build.activations_in(steps, diff, data);
    const auto backward = describe_backward<dnnl::batch_normalization_backward>(build.engine, attributes(), description,
                                                                                prop_kind::backward, data, data, data,
                                                                                float(kBatchNormEpsilon), flags);
    const Tensor din = build.take_diff(diff, data);
    build.add<dnnl::batch_normalization_backward>(steps, backward,
                                                  {{DNNL_ARG_SRC, src},
                                                   {DNNL_ARG_MEAN, means},
                                                   {DNNL_ARG_VARIANCE, variances},
                                                   {DNNL_ARG_DIFF_DST, dout},
                                                   {DNNL_ARG_SCALE, scale},
                                                   {DNNL_ARG_SHIFT, kNormBackwardTakesShift ? shift : Tensor{}},
                                                   {DNNL_ARG_WORKSPACE, passed},
                                                   {DNNL_ARG_DIFF_SRC, din},
                                                   {DNNL_ARG_DIFF_SCALE, {channels, kDparams, scale.at}},
                                                   {DNNL_ARG_DIFF_SHIFT, {channels, kDparams, shift.at}}});
    return din;
  });
  return out;
}

}  // namespace hopbench::onednn
