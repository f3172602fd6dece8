// Replaces the backend in builds without it.
#include "backends/base/error.h"
#include "backends/cuda/backend.h"
#include "no_cuda.h"  // HB_NO_CUDA: why, as ci/cmake/cuda.cmake found

namespace hopbench::cuda {

std::string no_gpu() { return "this build has no CUDA: " HB_NO_CUDA; }
std::string unavailable() { return no_gpu(); }
std::unique_ptr<Backend> create_backend(const BackendOptions&) { throw environment_error(unavailable()); }
std::vector<std::string> gpus() { return {}; }
double matrix_rate(const std::string&) { throw environment_error(unavailable()); }
DeviceSpace& space() { throw environment_error(unavailable()); }

}  // namespace hopbench::cuda
