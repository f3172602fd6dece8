// The compute backend `cuda`: networks on an NVIDIA GPU, with parameters and vectors in its memory.
//
//   device.h       the GPU, its streams, memory, graphs
//   kernels.h      our kernels: vectors, everything of a layer but the sums of products
//   gemm.h         matrix products (cuBLAS)        convolution.h  convolutions (cuDNN)
//   space.cpp      Vec's operations on the GPU     network.cpp    a compiled network
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/compute/backend.h"

namespace hopbench::cuda {

/// Returns why this build or machine has no GPU, or "" if it has one. Asks the driver, and takes no memory of the GPU.
/// A process that has asked may not be forked, to compute in the child.
std::string no_gpu();
/// Returns the same, or why cuBLAS or cuDNN cannot be loaded. That takes a second or two, and not every use needs both.
std::string unavailable();
/// Returns "cuBLAS 13.1.0, cuDNN 9.19.0". Throws Error(kEnvironment) if these cannot be loaded.
std::string library_versions();
/// Returns ", from PATH and PATH", with the files that were loaded.
std::string library_paths();
/// Throws Error(kEnvironment) with no_gpu()'s reason, or Error(kUsage) if the precision is unknown.
std::unique_ptr<Backend> create_backend(const BackendOptions& options);
/// Returns floating-point operations a second of a large matrix product in that precision, the peak that a network's
/// share refers to. Throws the errors of create_backend.
double matrix_rate(const std::string& precision);
/// Returns the GPUs of this machine and the libraries that compute on them, one a line: "NVIDIA H100 80GB HBM3, 79.2
/// GiB, sm_90, cuBLAS 13.1, cuDNN 9.12". Local rank r uses the GPU at r modulo their number. Opens none of them.
std::vector<std::string> gpus();
/// Returns the GPU's memory. Throws Error(kEnvironment) as above.
DeviceSpace& space();

}  // namespace hopbench::cuda
