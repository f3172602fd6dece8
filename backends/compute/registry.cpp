#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/compute/host.h"
#include "backends/cuda/backend.h"

namespace hopbench {
namespace {

std::string always_there() { return ""; }

}  // namespace

const std::vector<BackendEntry>& backends() {
  static const std::vector<BackendEntry> entries = {
      {"reference", "naive loops that every other backend is held against", always_there, create_reference_backend},
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
  std::vector<std::string> names;
  for (const BackendEntry& entry : backends()) {
    names.emplace_back(entry.name);
    if (name != entry.name) continue;
    // The backend cuda loads its libraries later, for the first network.
    const std::string why = entry.name == std::string("cuda") ? cuda::no_gpu() : entry.unavailable();
    if (!why.empty()) {
      throw environment_error("backend '" + name + "' is not available: " + why +
                              ": `hopbench list backends` shows those that are");
    }
    if (entry.name != std::string("cuda") && options.precision != "fp32") {
      throw usage_error("backend '" + name + "' computes in fp32, not in " + options.precision +
                        ": compute.precision is for backend cuda");
    }
    return entry.create(options);
  }
  throw usage_error("unknown backend '" + name + "': known are " + join(names, ", ") + "." + did_you_mean(name, names));
}

}  // namespace hopbench
