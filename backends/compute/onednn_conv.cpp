// Layers with weights. Convolutions are by oneDNN's direct algorithm, with weights in the layout that it prefers. See
// onednn_matrices.cpp for cases in which another way is faster. The weights of dense layers stay in the caller's
// layout, because a copy would cost more than it gains and plain gemm takes them as they are.
#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {
namespace {

constexpr dnnl::algorithm kAlgorithm = dnnl::algorithm::convolution_direct;

/// The parameters that describe all three directions of a convolution.
struct Geometry {
  Geometry(const Builder& build, const Layer& layer)
      : window{layer.spec.outputs, layer.input.channels, layer.spec.kernel, layer.spec.kernel},
        strides{layer.spec.stride, layer.spec.stride},
        padding{layer.spec.padding, layer.spec.padding},
        src(build.inner(layer.input)),
        dst(build.inner(layer.output)),
        any_weights(with_format(window, Format::any)) {}
  memory::dims window, strides, padding;
  memory::desc src, dst, any_weights;
};

void backward_weights(Builder& build, Steps& steps, const Layer& layer, const Geometry& g, const Tensor& src,
                      const Tensor& dout, const dnnl::convolution_forward::primitive_desc& forward) {
  const auto description = describe_backward<dnnl::convolution_backward_weights>(
      build.engine, attributes(), forward, kAlgorithm, g.src, g.any_weights, build.bias(layer).desc, g.dst, g.strides,
      g.padding, g.padding);
  const Tensor weights = build.params(layer, with_format(g.window, Format::oihw));
  const Tensor dweights{weights.desc, kDparams, weights.at};
  const bool direct = description.diff_weights_desc() == weights.desc;
  const Tensor dblocked = direct ? dweights : build.take(kLayer, description.diff_weights_desc());
  build.add<dnnl::convolution_backward_weights>(steps, description,
                                                {{DNNL_ARG_SRC, src},
                                                 {DNNL_ARG_DIFF_DST, dout},
                                                 {DNNL_ARG_DIFF_WEIGHTS, dblocked},
                                                 {DNNL_ARG_DIFF_BIAS, build.bias(layer, kDparams)}});
  if (!direct) build.reorder(steps, dblocked, dweights);
}

void backward_data(Builder& build, Steps& steps, const Layer& layer, const Geometry& g, const Tensor& dout,
                   const Tensor& ddata, const dnnl::convolution_forward::primitive_desc& forward) {
  const auto description = describe_backward<dnnl::convolution_backward_data>(
      build.engine, attributes(), forward, kAlgorithm, g.src, g.any_weights, g.dst, g.strides, g.padding, g.padding);
  const Tensor weights = build.params(layer, with_format(g.window, Format::oihw));
  build.add<dnnl::convolution_backward_data>(
      steps, description,
      {{DNNL_ARG_DIFF_DST, dout},
       {DNNL_ARG_WEIGHTS, build.in_layout(steps, weights, description.weights_desc())},
       {DNNL_ARG_DIFF_SRC, ddata}});
}

}  // namespace

Tensor add_conv(Builder& build, int index, const Tensor& in) {
  const Layer& layer = build.layer(index);
  const Geometry g(build, layer);
  const auto description = describe<dnnl::convolution_forward>(
      build.engine, attributes(build.relu_fused(index)), dnnl::prop_kind::forward_training, kAlgorithm, g.src,
      g.any_weights, build.bias(layer).desc, g.dst, g.strides, g.padding, g.padding);
  const Tensor weights = build.params(layer, with_format(g.window, Format::oihw));
  const Tensor src = build.activations_in(build.forward, in, g.src, kKept);
  const Tensor out = build.take(kKept, g.dst);
  build.add<dnnl::convolution_forward>(
      build.forward, description,
      {{DNNL_ARG_SRC, src},
       {DNNL_ARG_WEIGHTS, build.in_layout(build.forward, weights, description.weights_desc())},
       {DNNL_ARG_BIAS, build.bias(layer)},
       {DNNL_ARG_DST, out}});
  build.leave_behind(index, [=, &build, &layer](const Tensor& diff) {
    Builder::BackwardLayer& steps = build.backward_layer(index);
    const Tensor dout = build.activations_in(steps.weights, diff, g.dst);
    if (weights_by_matrices(build, layer)) {
      add_weights_by_matrices(build, steps.weights, layer, src, dout);
    } else {
      backward_weights(build, steps.weights, layer, g, src, dout, description);
    }
    const Tensor ddata = build.take_diff(diff, g.src);
    backward_data(build, steps.data, layer, g, dout, ddata, description);
    return ddata;
  });
  if (build.relu_fused(index)) leave_relu_behind(build, index + 1, out);
  return out;
}

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
