// oneDNN 2 and oneDNN 3 behind one interface, that of oneDNN 3. For the oneDNN backend only. Both versions have the
// same primitives but describe them differently; only this file checks the version.
#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <tuple>
#include <utility>

namespace hopbench::onednn {

using dnnl::memory;

#if DNNL_VERSION_MAJOR < 3

/// The place of the parameter that only oneDNN 3 has for a primitive; -1: both versions have the same.
template <class Primitive>
inline constexpr int kOnlyIn3 = -1;
template <>
inline constexpr int kOnlyIn3<dnnl::eltwise_forward> = 3;  // dst
template <>
inline constexpr int kOnlyIn3<dnnl::eltwise_backward> = 2;  // diff_dst
template <>
inline constexpr int kOnlyIn3<dnnl::batch_normalization_forward> = 2;  // dst
template <>
inline constexpr int kOnlyIn3<dnnl::batch_normalization_backward> = 2;  // diff_dst
template <>
inline constexpr int kOnlyIn3<dnnl::pooling_forward> = 6;  // dilation
template <>
inline constexpr int kOnlyIn3<dnnl::pooling_backward> = 5;  // dilation

/// oneDNN 2 first describes an operation, then creates the primitive's description from it.
template <class Primitive, class... Parameters>
typename Primitive::desc operation(const Parameters&... parameters) {
  constexpr std::size_t left_out = kOnlyIn3<Primitive> < 0 ? sizeof...(parameters) : kOnlyIn3<Primitive>;
  const auto pick = [all = std::tie(parameters...)]<std::size_t... I>(std::index_sequence<I...>) {
    return typename Primitive::desc(std::get<I + (I >= left_out ? 1 : 0)>(all)...);
  };
  return pick(std::make_index_sequence<sizeof...(parameters) - (kOnlyIn3<Primitive> < 0 ? 0 : 1)>());
}

#endif

/// Returns the description of a forward primitive. `parameters` are those of oneDNN 3's primitive_desc between engine
/// and attributes.
template <class Primitive, class... Parameters>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                            const Parameters&... parameters) {
#if DNNL_VERSION_MAJOR < 3
  return {operation<Primitive>(parameters...), attributes, engine};
#else
  return {engine, parameters..., attributes};
#endif
}

/// Describes a backward primitive; `forward` describes its forward primitive. Throws dnnl::error if oneDNN cannot
/// compute it.
template <class Primitive, class Forward, class... Parameters>
typename Primitive::primitive_desc describe_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
                                                     const Forward& forward, const Parameters&... parameters) {
#if DNNL_VERSION_MAJOR < 3
  return {operation<Primitive>(parameters...), attributes, engine, forward};
#else
  return {engine, parameters..., forward, attributes};
#endif
}

/// Appends a ReLU to the operations that follow the primitive.
inline void append_relu(dnnl::post_ops& behind) {
#if DNNL_VERSION_MAJOR < 3
  behind.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#else
  behind.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
#endif
}

/// Makes the tensor use the memory at `data`.
inline void set_data(const memory& tensor, void* data, [[maybe_unused]] const dnnl::stream& stream) {
#if DNNL_VERSION_MAJOR < 3
  tensor.set_data_handle(data, stream);
#else
  tensor.set_data_handle(data);
#endif
}

/// True if the backward pass of a batch norm also takes the shift. oneDNN 3 refuses an argument that it does not use.
inline constexpr bool kNormBackwardTakesShift = DNNL_VERSION_MAJOR < 3;

inline memory::dims dims_of(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR < 3
  return desc.dims();
#else
  return desc.get_dims();
#endif
}

/// Returns the number of channels in a block, or 0 if the layout has no blocks.
inline memory::dim channels_of_block(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR < 3
  const auto& blocking = desc.data.format_desc.blocking;
  return blocking.inner_nblks > 0 ? blocking.inner_blks[0] : 0;
#else
  return desc.get_inner_nblks() > 0 ? desc.get_inner_blks()[0] : 0;
#endif
}

/// Returns the distance, in numbers, from one channel to the next, or from one block of channels to the next.
inline memory::dim channel_stride(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR < 3
  return desc.data.format_desc.blocking.strides[1];
#else
  return desc.get_strides()[1];
#endif
}

}  // namespace hopbench::onednn
