#include "backends/base/error.h"
#include "backends/base/text.h"
#include "backends/compute/host.h"

namespace hopbench {
namespace {

std::string always_there() { return ""; }

std::string no_cuda() { return "this build has no CUDA backend"; }
std::unique_ptr<Backend> create_no_cuda(int) { throw environment_error("cuda is not available: " + no_cuda()); }

}  // namespace

const std::vector<BackendEntry>& backends() {
  static const std::vector<BackendEntry> entries = {
      {"reference", "naive loops that every other backend is held against", always_there, create_reference_backend},
      {"onednn", "oneDNN on the host's CPU", onednn_unavailable, create_onednn_backend},
      {"cuda", "cuDNN and cuBLAS on an NVIDIA GPU", no_cuda, create_no_cuda},
  };
  return entries;
}

std::unique_ptr<Backend> create_backend(const std::string& name, int threads) {
  if (threads < 1) {
    throw usage_error("cannot create backend '" + name + "': threads = " + std::to_string(threads) +
                      ": give it at least 1");
  }
  std::vector<std::string> names;
  for (const BackendEntry& entry : backends()) {
    names.emplace_back(entry.name);
    if (name != entry.name) continue;
    const std::string why = entry.unavailable();
    if (!why.empty()) {
      throw environment_error("backend '" + name + "' is not available: " + why +
                              ": `hopbench list backends` shows those that are");
    }
    return entry.create(threads);
  }
  throw usage_error("unknown backend '" + name + "': known are " + join(names, ", ") + "." + did_you_mean(name, names));
}

}  // namespace hopbench
