#include "cli/preflight.h"

#include <fmt/format.h>
#include <net/if.h>

#include <map>
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

void check_interface(const std::string& name) {
  if (name.empty() || if_nametoindex(name.c_str()) != 0) return;
  throw environment_error(
      fmt::format("there is no network interface '{}' (transport.interface): name one that `ip link` lists", name));
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
  std::set<std::string> transports, interfaces, backends, splits;
  std::map<std::string, DatasetPair> data;
  for (const TrialSpec& spec : trials) {
    transports.insert(spec.transport);
    if (spec.transport != "sim") interfaces.insert(spec.interface);
    backends.insert(spec.workload.backend);
    const WorkloadSpec& w = spec.workload;
    if (w.dataset.empty()) continue;
    const std::string set = fmt::format("{} {} {}", w.dataset, w.dataset_path, w.size);
    if (!data.contains(set)) {
      data[set] = find_dataset(w.dataset).load({.path = w.dataset_path, .size = w.size, .seed = w.seed});
    }
    const std::string parts = fmt::format("{} {} {} {} {}", set, static_cast<int>(w.split.what), w.split.alpha,
                                          w.split.shards_per_worker, w.workers);
    if (splits.insert(parts).second) split(*data[set].train, w.split, w.workers, w.seed, w.repeat);
  }
  for (const std::string& name : transports) check_transport(name);
  for (const std::string& name : interfaces) check_interface(name);
  for (const std::string& name : backends) check_backend(name);
}

}  // namespace hopbench
