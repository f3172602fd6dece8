// Pools, and ReLUs that no other layer computes.
#include "backends/compute/onednn_builder.h"

namespace hopbench::onednn {

using dnnl::algorithm;
using dnnl::prop_kind;

namespace {

dnnl::eltwise_forward::primitive_desc relu_forward(const Builder& build, const memory::desc& desc) {
  return describe<dnnl::eltwise_forward>(build.engine, attributes(), prop_kind::forward_training,
                                         algorithm::eltwise_relu_use_dst_for_bwd, desc, desc);
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
