// Dense layers. Weights stay in the caller's layout, because a copy would cost more than it gains and plain gemm takes
// them as they are.
#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {

Tensor add_dense(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const memory::desc flat_in = build.flat(layer.input.size()), flat_out = build.flat(layer.output.size());
  const Tensor weights =
      build.params(layer, with_format({layer.spec.outputs, memory::dim(layer.input.size())}, Format::oi));
  const Tensor bias = build.bias(layer);
  const auto description = describe<dnnl::inner_product_forward>(build.engine, attributes(build.relu_fused(index)),
                                                                 dnnl::prop_kind::forward_training, flat_in,
                                                                 weights.desc, bias.desc, flat_out);
  Tensor src = build.activations_in(build.forward, in, build.plain(layer.input), kKept);
  src.desc = flat_in;
  const Tensor flat_dst = build.take(kKept, flat_out);
  build.add<dnnl::inner_product_forward>(
      build.forward, description,
      {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, flat_dst}});
  build.leave_behind(index, [=, &build, &layer](const Tensor& diff) {
    Builder::BackwardLayer& steps = build.backward_layer(index);
    Tensor dout = build.activations_in(steps.weights, diff, build.plain(layer.output));
    dout.desc = flat_out;
    const auto by_weights = describe_backward<dnnl::inner_product_backward_weights>(
        build.engine, attributes(), description, flat_in, weights.desc, bias.desc, flat_out);
    build.add<dnnl::inner_product_backward_weights>(steps.weights, by_weights,
                                                    {{DNNL_ARG_SRC, src},
                                                     {DNNL_ARG_DIFF_DST, dout},
                                                     {DNNL_ARG_DIFF_WEIGHTS, {weights.desc, kDparams, weights.at}},
                                                     {DNNL_ARG_DIFF_BIAS, build.bias(layer, kDparams)}});
    const auto by_data = describe_backward<dnnl::inner_product_backward_data>(build.engine, attributes(), description,
                                                                              flat_in, weights.desc, flat_out);
    Tensor ddata = build.take_diff(diff, flat_in);
    build.add<dnnl::inner_product_backward_data>(
        steps.data, by_data, {{DNNL_ARG_DIFF_DST, dout}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, ddata}});
    ddata.desc = build.plain(layer.input);
    return ddata;
  });
  const Tensor out{build.plain(layer.output), flat_dst.region, flat_dst.at};
  if (build.relu_fused(index)) leave_relu_behind(build, index + 1, out);
  return out;
}

}  // namespace hopbench::onednn
