#include "backends/fleet/process_identity.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {
namespace {

/// The names of a launcher's variables; nullptr or empty: it has no such variable.
struct Family {
  const char* number;
  std::vector<const char*> size;
  const char* local_size = nullptr;
  std::vector<const char*> run = {};  // joined; HOPBENCH_JOB before all of them
  const char* machines = nullptr;     // their number; if it is 1, all processes are on one, without local_size
  const char* needs = nullptr;        // without this variable it is not ours
};

const std::vector<Family>& families() {
  static const std::vector<Family> known{
      {"HOPBENCH_RANK", {"HOPBENCH_WORLD_SIZE"}},
      {"RANK", {"WORLD_SIZE"}, "LOCAL_WORLD_SIZE", {"TORCHELASTIC_RUN_ID"}},
      {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, "OMPI_COMM_WORLD_LOCAL_SIZE", {"PMIX_NAMESPACE"}},
      // Flux sets PMI_RANK, too, but no name of the run beside it.
      {"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, nullptr, {"FLUX_JOB_ID"}, "FLUX_JOB_NNODES"},
      {"PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALNRANKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}, "SLURM_STEP_NUM_NODES"},
      {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, "MV2_COMM_WORLD_LOCAL_SIZE"},
      // A batch script has SLURM_PROCID too, but only what srun starts has a step.
      {"SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       nullptr,
       {"SLURM_JOB_ID", "SLURM_STEP_ID"},
       "SLURM_STEP_NUM_NODES",
       "SLURM_STEP_ID"},
      // PMIx tells the number of processes to its library only.
      {"PMIX_RANK", {"HOPBENCH_WORLD_SIZE"}, nullptr, {"PMIX_NAMESPACE"}},
      {"SKYPILOT_NODE_RANK", {"SKYPILOT_NUM_NODES"}, nullptr, {"SKYPILOT_TASK_ID"}},
      {"JOB_COMPLETION_INDEX", {"HOPBENCH_WORLD_SIZE"}},
  };
  return known;
}

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  bool has(const char* name) const { return name != nullptr && !text(name).empty(); }
  std::string text(const char* name) const {
    const char* value = environment_(name);
    return value == nullptr ? "" : value;
  }
  int number(const char* name, int least) const {
    const std::string value = text(name);
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < least) {
      throw usage_error(std::string(name) + "=" + value + " in the environment is not a number of " +
                        std::to_string(least) + " or more: unset it, or have the launcher set it");
    }
    return result;
  }

 private:
  const Environment& environment_;
};

const Family* family_of(const Reader& reader) {
  for (const Family& family : families()) {
    if (reader.has(family.number) && (family.needs == nullptr || reader.has(family.needs))) return &family;
  }
  for (const char* size : {"HOPBENCH_WORLD_SIZE", "WORLD_SIZE"}) {
    if (!reader.has(size) || reader.number(size, 1) == 1) continue;
    const char* number = size[0] == 'H' ? "HOPBENCH_RANK" : "RANK";
    throw usage_error(std::string(size) + "=" + reader.text(size) + " says that there are several processes, but " +
                      number + " is not set: set it in each to its number, from 0, or unset " + size);
  }
  return nullptr;
}

int size_of(const Reader& reader, const Family& family) {
  for (const char* size : family.size) {
    if (reader.has(size)) return reader.number(size, 1);
  }
  throw usage_error(std::string(family.number) + "=" + reader.text(family.number) + " is set, but not " +
                    family.size.front() + ": set it to the number of processes (1: this one alone)");
}

/// torchrun names a run "none" if the user gave it no name.
void name_run(const Reader& reader, const Family& family, ProcessIdentity& standing) {
  if (reader.has("HOPBENCH_JOB")) {
    standing.run = reader.text("HOPBENCH_JOB");
    return;
  }
  for (const char* name : family.run) {
    if (reader.has(name) && reader.text(name) != "none")
      standing.run += (standing.run.empty() ? "" : ".") + reader.text(name);
  }
}

}  // namespace

ProcessIdentity identity_of(const Environment& environment) {
  const Reader reader(environment);
  ProcessIdentity standing;
  const Family* const family = family_of(reader);
  if (family == nullptr) return standing;
  standing.by = family->number;
  standing.number = reader.number(family->number, 0);
  standing.size = size_of(reader, *family);
  if (standing.number >= standing.size) {
    throw usage_error(standing.by + "=" + std::to_string(standing.number) + ", but there are " +
                      std::to_string(standing.size) +
                      " processes, numbered from 0: these variables contradict each "
                      "other");
  }
  if (reader.has(family->local_size)) {
    standing.local_size = reader.number(family->local_size, 1);
  } else if (reader.has(family->machines) && reader.number(family->machines, 1) == 1) {
    standing.local_size = standing.size;
  }
  name_run(reader, *family, standing);
  // If torchrun says that its own store is at that port, the port is not free.
  const bool taken = reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (reader.has("MASTER_ADDR") && reader.has("MASTER_PORT") && !taken) {
    standing.address = reader.text("MASTER_ADDR") + ":" + std::to_string(reader.number("MASTER_PORT", 1));
  }
  return standing;
}

}  // namespace hopbench
