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

/// Returns why this build or machine has no GPU, or nothing if it has one. Asks the driver, and takes no memory of the
/// GPU; but a process that has asked may not be forked, to compute in the child.
std::string no_gpu();
/// The same, or why cuBLAS or cuDNN cannot be loaded: which takes a second or two, and what follows does not need both.
std::string unavailable();
/// "cuBLAS 13.1.0, cuDNN 9.19.0". Error(kEnvironment) where these cannot be loaded.
std::string library_versions();
/// ", from PATH and PATH": the files that were loaded.
std::string library_paths();
/// Error(kEnvironment) with no_gpu()'s reason; Error(kUsage) for a precision that it does not know.
std::unique_ptr<Backend> create_backend(const BackendOptions& options);
/// Floating-point operations a second of a large matrix product in that precision: what a network's share of the peak
/// is of. Error as create_backend.
double matrix_rate(const std::string& precision);
/// Those of this machine and the libraries that compute on them, a line each: "NVIDIA H100 80GB HBM3, 79.2 GiB, sm_90,
/// cuBLAS 13.1, cuDNN 9.12". Of local ranks r the one at r modulo their number is used. Opens none of them.
std::vector<std::string> gpus();
/// The GPU's memory. Error(kEnvironment) as above.
DeviceSpace& space();

}  // namespace hopbench::cuda
