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

/// Why this build or machine cannot compute with CUDA; empty: it can. Asks the driver, and loads cuBLAS and cuDNN.
std::string unavailable();
/// Error(kEnvironment) with unavailable()'s reason; Error(kUsage) for a precision that it does not know.
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
