// Parameters into a network's own layout, and its gradient back, all layers in one launch: a ResNet-32 has 95 pieces,
// and a launch for each would cost more than the copies.
#include "backends/cuda/kernel.cuh"

namespace hopbench::cuda {
namespace {

constexpr int kBlocks = 64;  // for each segment

template <class T>
__device__ void load(const Segment& segment, const float* from, unsigned block) {
  T* const to = static_cast<T*>(segment.inside);
  const std::size_t hw = segment.hw, c = segment.c, n = segment.n * c * hw;
  for (std::size_t i = block * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(blockDim.x) * kBlocks) {
    const std::size_t outer = i / (hw * c), cell = i / c % hw, channel = i % c;
    to[i] = as_number<T>(from[(outer * c + channel) * hw + cell]);
  }
}

template <class T>
__device__ void store(const Segment& segment, float* to, unsigned block) {
  const T* const from = static_cast<const T*>(segment.gradient);
  const std::size_t hw = segment.hw, c = segment.c, n = segment.n * c * hw;
  for (std::size_t i = block * std::size_t(blockDim.x) + threadIdx.x; i < n; i += std::size_t(blockDim.x) * kBlocks) {
    const std::size_t outer = i / (hw * c), channel = i / hw % c, cell = i % hw;
    to[i] = as_float(from[(outer * hw + cell) * c + channel]);
  }
}

__global__ void load_all(const Segment* segments, Indirect parameters) {
  const Segment segment = segments[blockIdx.x / kBlocks];
  const float* const from = *parameters.at + parameters.offset + segment.at;
  if (segment.number == Number::kFloat) {
    load<float>(segment, from, blockIdx.x % kBlocks);
  } else {
    load<__nv_bfloat16>(segment, from, blockIdx.x % kBlocks);
  }
}

__global__ void store_all(const Segment* segments, IndirectOut gradient) {
  const Segment segment = segments[blockIdx.x / kBlocks];
  float* const to = *gradient.at + gradient.offset + segment.at;
  if (segment.number == Number::kFloat) {
    store<float>(segment, to, blockIdx.x % kBlocks);
  } else {
    store<__nv_bfloat16>(segment, to, blockIdx.x % kBlocks);
  }
}

}  // namespace

void load_segments(Stream stream, const Segment* segments, int first, int count, Indirect parameters) {
  if (count > 0) HB_LAUNCH(load_all, count * kBlocks, kThreads, stream, segments + first, parameters);
}

void store_segments(Stream stream, const Segment* segments, int first, int count, IndirectOut gradient) {
  if (count > 0) HB_LAUNCH(store_all, count * kBlocks, kThreads, stream, segments + first, gradient);
}

}  // namespace hopbench::cuda
