#include "backends/fleet/placing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "backends/base/error.h"

namespace hopbench {
namespace {

std::vector<int> as_drawn(const Places& places, const RankDemand& who) {
  std::map<int, std::vector<int>> processes;  // machine -> its processes
  for (std::size_t p = 0; p < places.host_of.size(); ++p) processes[places.host_of[p]].push_back(static_cast<int>(p));
  std::map<int, std::size_t> turns;
  std::vector<int> process_of;
  for (std::size_t rank = 0; rank < who.host_of.size(); ++rank) {
    const int host = who.host_of[rank];
    auto there = processes.find(host);
    const bool server = static_cast<int>(rank) >= who.workers;
    if (there == processes.end() && server) there = processes.find(who.host_of.front());
    if (there == processes.end()) {
      throw usage_error(who.trial + " puts ranks on host " + std::to_string(host) + ", but this run has " +
                        std::to_string(processes.size()) + " machine" + (processes.size() == 1 ? "" : "s") +
                        ": start it on more, or --set network.hosts to as many");
    }
    process_of.push_back(there->second[turns[there->first]++ % there->second.size()]);
  }
  return process_of;
}

int slots_of(const Places& places, std::size_t process) {
  return places.slots.empty() ? kAnyNumber : places.slots[process];
}

std::vector<int> workers_by_slots(const Places& places, const RankDemand& who) {
  std::vector<int> process_of;
  for (std::size_t p = 0; p < places.slots.size(); ++p) {
    for (int i = 0; i < places.slots[p]; ++i) process_of.push_back(static_cast<int>(p));
  }
  if (static_cast<int>(process_of.size()) < who.workers) {
    throw usage_error(who.trial + " has " + std::to_string(who.workers) + " workers, but the host file has " +
                      std::to_string(process_of.size()) + " slots: add slots=N, or --set run.world_size");
  }
  process_of.resize(static_cast<std::size_t>(who.workers));
  return process_of;
}

std::vector<int> workers_evenly(const Places& places, const RankDemand& who) {
  std::vector<int> usable, hosts;
  for (std::size_t p = 0; p < places.host_of.size(); ++p) {
    if (slots_of(places, p) == 0) continue;
    usable.push_back(static_cast<int>(p));
    hosts.push_back(places.host_of[p]);
  }
  const auto processes = static_cast<int>(usable.size());
  std::vector<int> process_of;
  for (int w = 0; w < who.workers; ++w) {
    const auto place = processes >= who.workers ? w : static_cast<int>(std::int64_t{w} * processes / who.workers);
    process_of.push_back(usable[static_cast<std::size_t>(place)]);
  }
  if (processes >= who.workers) return process_of;
  std::sort(hosts.begin(), hosts.end());
  if (std::adjacent_find(hosts.begin(), hosts.end()) != hosts.end()) {
    throw usage_error(who.trial + " has " + std::to_string(who.workers) + " workers, but " + std::to_string(processes) +
                      " processes were started: --set run.world_size=" + std::to_string(processes) + ", or start " +
                      std::to_string(who.workers) + ", or one on each machine");
  }
  return process_of;
}

}  // namespace

std::vector<int> place_ranks(const Places& places, const RankDemand& who) {
  if (!who.host_of.empty()) return as_drawn(places, who);
  const bool counted = std::any_of(places.slots.begin(), places.slots.end(), [](int slots) { return slots > 0; });
  std::vector<int> process_of = counted ? workers_by_slots(places, who) : workers_evenly(places, who);
  for (int s = 0; s < who.servers; ++s)
    process_of.push_back(process_of[who.servers == who.workers ? static_cast<std::size_t>(s) : 0]);
  return process_of;
}

std::vector<LocalPlace> local_places(const Places& places, const std::vector<int>& process_of) {
  const auto host_of = [&](int process) { return places.host_of[static_cast<std::size_t>(process)]; };
  std::map<int, int> on_host;
  std::vector<LocalPlace> result;
  for (const int process : process_of) result.push_back({on_host[host_of(process)]++, 0});
  for (std::size_t r = 0; r < result.size(); ++r) result[r].ranks = on_host[host_of(process_of[r])];
  return result;
}

}  // namespace hopbench
