#include <fmt/format.h>

#include <cstdlib>

#include "backends/base/text.h"
#include "backends/compute/backend.h"
#include "backends/fleet/process_identity.h"
#include "backends/transport/wire.h"
#include "cli/commands.h"
#include "results/files/context.h"

namespace hopbench {
namespace {

std::string backend_text(const BackendEntry& entry) {
  if (const std::string why = entry.unavailable(); !why.empty()) return "unavailable: " + why;
  try {
    return entry.create({})->version();
  } catch (const Error& error) {
    return std::string("unavailable: ") + error.what();
  }
}

std::string transport_text(const Transport& transport) {
  const std::string why = transport.unavailable();
  return why.empty() ? "available" : "unavailable: " + why;
}

// Describes what `hopbench run` would be here: a run that is alone, or one of several processes.
std::string standing_text() {
  try {
    const ProcessIdentity standing = identity_of([](const char* name) -> const char* { return std::getenv(name); });
    if (standing.by.empty()) return "A run that is started here is alone: it starts all its ranks on this machine.";
    return fmt::format("A run that is started here is process {} of {}, by {}.", standing.number, standing.size,
                       standing.by);
  } catch (const Error& error) {
    return std::string("A run that is started here fails: ") + error.what();
  }
}

void print_line(const std::string& name, const std::string& text) { fmt::print("{:<12} {}\n", name, text); }

}  // namespace

std::vector<LauncherValue> launcher_values() {
  // The launcher that is nearest to the process comes first. OMPI_UNIVERSE_SIZE counts slots, not ranks.
  static const std::vector<std::pair<const char*, std::vector<const char*>>> known{
      {"rank",
       {"HOPBENCH_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "FLUX_TASK_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
        "SLURM_PROCID", "PMIX_RANK", "SKYPILOT_NODE_RANK", "JOB_COMPLETION_INDEX"}},
      {"world size",
       {"HOPBENCH_WORLD_SIZE", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "FLUX_JOB_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
        "SLURM_NTASKS", "SKYPILOT_NUM_NODES"}},
      {"local rank", {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}},
      {"address", {"MASTER_ADDR"}},
      {"port", {"MASTER_PORT"}},
      {"interface", {"GLOO_SOCKET_IFNAME"}},
  };
  std::vector<LauncherValue> values;
  for (const auto& [quantity, names] : known) {
    LauncherValue value{quantity, {}};
    for (const char* name : names) {
      if (const char* set = std::getenv(name); set != nullptr) value.seen.push_back(fmt::format("{}={}", name, set));
    }
    values.push_back(std::move(value));
  }
  return values;
}

int command_env(const EnvOptions&) {
  fmt::print("{}\nbackends\n", context_text());
  for (const BackendEntry& entry : backends()) print_line(std::string("  ") + entry.name, backend_text(entry));
  fmt::print("\ntransports\n");
  for (const Transport& transport : transports()) {
    print_line(std::string("  ") + transport.name, transport_text(transport));
  }
  print_line("  sim", "available");
  fmt::print("\nlauncher variables (the first one that is set counts)\n");
  for (const LauncherValue& value : launcher_values()) {
    std::string text = "-";
    if (!value.seen.empty()) text = value.seen.front();
    if (value.seen.size() > 1) {
      text += ", not " + join(std::vector<std::string>(value.seen.begin() + 1, value.seen.end()), ", ");
    }
    print_line("  " + value.quantity, text);
  }
  fmt::print("  {}\n", standing_text());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
