#include "suites/trial/rank_assignment.h"

#include "backends/base/error.h"
#include "backends/fleet/placing.h"
#include "backends/runtime/process/crew.h"

namespace hopbench {
namespace {

void check_reach(const LaunchOptions& launch, const TrialSpec& spec, Fleet& fleet) {
  for (std::size_t r = 0; r < launch.placement.crew_of.size(); ++r) {
    const int process = launch.placement.crew_of[r];
    const std::string where = "rank " + std::to_string(r) + " is on " + fleet.members()[std::size_t(process)].machine;
    if (spec.transport == "shm" && !fleet.crew(process).here()) {
      throw usage_error(spec.id() + ": transport shm is for ranks of one machine, but " + where +
                        ": --set transport.name=\"auto\"");
    }
    if (spec.emulate && process != 0) {
      throw usage_error(spec.id() + ": links are emulated where one process starts all ranks, but " + where +
                        " in process " + std::to_string(process) +
                        ": leave network.emulate out, or start hopbench alone");
    }
  }
}

}  // namespace

LaunchOptions launch_options(const ChildTask& job, int ranks, const std::atomic<int>* interrupts) {
  LaunchOptions launch;
  launch.command = {"", "rank"};
  launch.ranks = ranks;
  launch.job = to_text(job);
  launch.rendezvous_timeout = job.spec.rendezvous_timeout;
  launch.stall_timeout = job.spec.stall_timeout;
  launch.trial_timeout = job.spec.trial_timeout;
  launch.interrupts = interrupts;
  return launch;
}

WireOptions wire_options(const TrialSpec& spec, ChildChannel& channel, const std::vector<int>& peers,
                         std::size_t body_bytes) {
  return {.rank = channel.rank(),
          .size = channel.size(),
          .peers = peers,
          .interface = spec.interface,
          .connect_timeout = spec.rendezvous_timeout,
          .address = channel.address(),
          .body_bytes = body_bytes,
          .eager_bytes = std::size_t(spec.eager_bytes)};
}

void place(LaunchOptions& launch, const TrialSpec& spec, const Plan& plan, Fleet* fleet) {
  if (fleet == nullptr) return;
  RankDemand who{plan.workers, plan.servers, {}, spec.id()};
  if (!spec.network.host_of.empty()) who.host_of = plan.host_of;
  const Places places = fleet->places();
  std::vector<int> process_of = place_ranks(places, who);
  process_of.resize(static_cast<std::size_t>(launch.ranks));
  launch.placement.local = local_places(places, process_of);
  launch.placement.crew_of = std::move(process_of);
  for (int p = 0; p < fleet->size(); ++p) launch.placement.crews.push_back(&fleet->crew(p));
  check_reach(launch, spec, *fleet);
}

void check_place(const TrialSpec& spec, Fleet& fleet) {
  if (spec.transport == "sim") return;
  const Plan plan = make_plan(spec);
  LaunchOptions launch;
  launch.ranks = plan.ranks();
  place(launch, spec, plan, &fleet);
}

std::string machine_of(const LaunchOptions& launch, int rank, const Fleet* fleet) {
  if (fleet == nullptr) return "";
  return fleet->members()[std::size_t(launch.placement.crew_of[std::size_t(rank)])].machine;
}

}  // namespace hopbench
