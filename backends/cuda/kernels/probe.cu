// A kernel that does nothing, to ask whether the program holds code for this GPU.
#include "backends/cuda/device.h"

#include <cuda_runtime.h>

namespace hopbench::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

int find_kernels() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(nothing));
}

}  // namespace hopbench::cuda
