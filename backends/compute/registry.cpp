#include "backends/base/error.h"
#include "backends/base/find_named.h"
#include "backends/compute/host.h"
#include "backends/cuda/backend.h"

namespace hopbench {

const std::vector<BackendEntry>& backends() {
  static const std::vector<BackendEntry> entries = {
      {"reference", "naive loops that every other backend is held against", [] { return std::string(); },
       create_reference_backend},
      {"onednn", "oneDNN on the host's CPU", onednn_unavailable, create_onednn_backend},
      {"cuda", "cuDNN and cuBLAS on an NVIDIA GPU; not yet run on a GPU", cuda::unavailable, cuda::create_backend},
  };
  return entries;
}

std::unique_ptr<Backend> create_backend(const std::string& name, const BackendOptions& options) {
  if (options.threads < 1) {
    throw usage_error("cannot create backend '" + name + "': threads = " + std::to_string(options.threads) +
                      ": give it at least 1");
  }
  const BackendEntry& entry = find_named(backends(), name, "backend");
  // The backend cuda loads its libraries later, for the first network.
  const bool is_cuda = name == "cuda";
  const std::string why = is_cuda ? cuda::no_gpu() : entry.unavailable();
  if (!why.empty()) {
    throw environment_error("backend '" + name + "' is not available: " + why +
                            ": `hopbench list backends` shows those that are");
  }
  if (!is_cuda && options.precision != "fp32") {
    throw usage_error("backend '" + name + "' computes in fp32, not in " + options.precision +
                      ": compute.precision is for backend cuda");
  }
  return entry.create(options);
}

}  // namespace hopbench
