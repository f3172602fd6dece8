// Batch norms, with the ReLU behind them. oneDNN keeps of that one which outputs it let through.
#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {

using dnnl::normalization_flags;
using dnnl::prop_kind;

Tensor add_norm(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const bool relu = build.relu_fused(index);
  const memory::desc data = build.inner(layer.input);
  const memory::desc channels = with_format({layer.input.channels}, Format::x);
  normalization_flags flags = normalization_flags::use_scale_shift;
  if (relu) flags |= normalization_flags::fuse_norm_relu;
  if (!build.training) flags |= normalization_flags::use_global_stats;
  const dnnl::batch_normalization_forward::primitive_desc description(
      {build.training ? prop_kind::forward_training : prop_kind::forward_inference, data, float(kBatchNormEpsilon),
       flags},
      attributes(), build.engine);
  const Tensor scale_shift = build.params(layer, with_format({2, layer.input.channels}, Format::nc));
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
                                                {DNNL_ARG_SCALE_SHIFT, scale_shift},
                                                {DNNL_ARG_MEAN, means},
                                                {DNNL_ARG_VARIANCE, variances},
                                                {DNNL_ARG_WORKSPACE, passed}});
  if (build.training) build.keep_moments(layer, means, variances);
  build.leave_behind(relu ? index + 1 : index, [=, &build](const Tensor& diff) {
    if (relu) build.backward_layer(index + 1);
    Steps& steps = build.backward_layer(index).weights;  // one primitive for both
    const Tensor dout = build.activations_in(steps, diff, data);
    const dnnl::batch_normalization_backward::primitive_desc backward(
        {prop_kind::backward, data, data, float(kBatchNormEpsilon), flags}, attributes(), build.engine, description);
    const Tensor din = build.take_diff(diff, data);
    build.add<dnnl::batch_normalization_backward>(
        steps, backward,
        {{DNNL_ARG_SRC, src},
         {DNNL_ARG_MEAN, means},
         {DNNL_ARG_VARIANCE, variances},
         {DNNL_ARG_DIFF_DST, dout},
         {DNNL_ARG_SCALE_SHIFT, scale_shift},
         {DNNL_ARG_WORKSPACE, passed},
         {DNNL_ARG_DIFF_SRC, din},
         {DNNL_ARG_DIFF_SCALE_SHIFT, {scale_shift.desc, kDparams, scale_shift.at}}});
    return din;
  });
  return out;
}

}  // namespace hopbench::onednn
