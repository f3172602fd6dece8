// The part of CUDA's runtime API that the backend calls.
#pragma once

#include <cstddef>
#include <functional>

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace emulated_cuda {

/// Does the work at once, or keeps it for the graph that is being captured from this stream.
void enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace emulated_cuda
