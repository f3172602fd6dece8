#include "suites/check_workers.h"

#include <fmt/format.h>

#include <set>

namespace hopbench {

using T = Value::Type;

void check_hosts(const Configuration& c, Mistakes& mistakes) {
  const Value* hosts = c.find("network.hosts");
  if (hosts != nullptr && hosts->is(T::kArray) && int(hosts->items.size()) != c.workers())
    mistakes.add(hosts->place,
                 fmt::format("'hosts' lists {} workers, but world_size is {}", hosts->items.size(), c.workers()));
  if (hosts != nullptr && hosts->is(T::kInteger) && hosts->integer > c.workers())
    mistakes.add(hosts->place,
                 fmt::format("{} hosts are more than there are workers ({})", hosts->integer, c.workers()));
  check_links(c.at("network.links").items, mistakes);
}

void check_others(const Configuration& c, Mistakes& mistakes) {
  std::set<std::int64_t> named;
  for (const Value& other : c.at("compute.others").items) {
    const Entry* ranks = other.find("ranks");
    if (ranks == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      if (rank.integer >= c.workers()) {
        mistakes.add(rank.place,
                     fmt::format("'others' names rank {}, but the workers are 0 to {}", rank.integer, c.workers() - 1));
      } else if (!named.insert(rank.integer).second) {
        mistakes.add(rank.place, fmt::format("'others' names rank {} twice: it computes on one backend", rank.integer));
      }
    }
  }
}

}  // namespace hopbench
