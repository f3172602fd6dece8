// Copies parameters into a network's own layout, and its gradient back, all layers in one launch. A ResNet-32 has 95
// pieces, and a launch for each would cost more than the copies. A block rearranges one segment in shared memory, so
// that both sides are read and written in their own order.
#include "backends/cuda/kernels/kernel.cuh"

namespace hopbench::cuda {
namespace {

template <class T>
__device__ void load(const Segment& segment, const float* from, float* tile) {
  const int channels = segment.channels, hw = segment.hw, n = channels * hw;
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) tile[i] = from[i];
  __syncthreads();
  T* const to = static_cast<T*>(segment.inside);
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) {
    const int cell = i / channels, channel = i - cell * channels;
    to[std::size_t(cell) * std::size_t(segment.stride) + std::size_t(channel)] =
        as_number<T>(tile[channel * hw + cell]);
  }
}

template <class T>
__device__ void store(const Segment& segment, float* to, float* tile) {
  const int channels = segment.channels, hw = segment.hw, n = channels * hw;
  const T* const from = static_cast<const T*>(segment.gradient);
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) {
    const int cell = i / channels, channel = i - cell * channels;
    tile[channel * hw + cell] = as_float(from[std::size_t(cell) * std::size_t(segment.stride) + std::size_t(channel)]);
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < n; i += int(blockDim.x)) to[i] = tile[i];
}

__global__ void load_all(const Segment* segments, Indirect parameters) {
  __shared__ float tile[kSegment];
  const Segment segment = segments[blockIdx.x];
  const float* const from = *parameters.at + parameters.offset + segment.at;
  if (segment.number == Number::kFloat) {
    load<float>(segment, from, tile);
  } else {
    load<__nv_bfloat16>(segment, from, tile);
  }
}

__global__ void store_all(const Segment* segments, IndirectOut gradient) {
  __shared__ float tile[kSegment];
  const Segment segment = segments[blockIdx.x];
  float* const to = *gradient.at + gradient.offset + segment.at;
  if (segment.number == Number::kFloat) {
    store<float>(segment, to, tile);
  } else {
    store<__nv_bfloat16>(segment, to, tile);
  }
}

}  // namespace

void load_segments(Stream stream, const Segment* segments, int first, int count, Indirect parameters) {
  if (count > 0) HB_LAUNCH(load_all, count, kThreads, stream, segments + first, parameters);
}

void store_segments(Stream stream, const Segment* segments, int first, int count, IndirectOut gradient) {
  if (count > 0) HB_LAUNCH(store_all, count, kThreads, stream, segments + first, gradient);
}

}  // namespace hopbench::cuda
