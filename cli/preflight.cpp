#include "cli/preflight.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

#include "backends/compute/backend.h"
#include "backends/transport/wire.h"
#include "models/dataset.h"

namespace hopbench {
namespace {

void check_transport(const std::string& name) {
  if (name == "sim") return;
  if (const std::string why = find_transport(name).unavailable(); !why.empty()) {
    throw environment_error(fmt::format("transport '{}' is not available: {}", name, why));
  }
}

void check_backend(const std::string& name) {
  for (const BackendEntry& entry : backends()) {
    if (name != entry.name) continue;
    if (const std::string why = entry.unavailable(); !why.empty()) {
      throw environment_error(fmt::format("compute backend '{}' is not available: {}", name, why));
    }
  }
}

}  // namespace

void check_available(const std::vector<TrialSpec>& trials) {
  std::set<std::string> transports, seen, names;
  for (const TrialSpec& spec : trials) {
    transports.insert(spec.transport);
    names.insert(spec.workload.backend);
    const WorkloadSpec& w = spec.workload;
    if (!w.dataset.empty() && seen.insert(w.dataset + " " + w.dataset_path).second) {
      find_dataset(w.dataset).load({.path = w.dataset_path, .size = w.size, .seed = w.seed});
    }
  }
  for (const std::string& name : transports) check_transport(name);
  for (const std::string& name : names) check_backend(name);
}

}  // namespace hopbench
