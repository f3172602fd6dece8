#include "suites/language/check_workers.h"

#include <fmt/format.h>

#include <set>

namespace hopbench {

namespace {

using T = Value::Type;

void check_racks(const Configuration& c, Mistakes& mistakes) {
  const Value* racks = c.find("network.racks");
  if (racks == nullptr) return;
  if (racks->is(T::kArray) && int(racks->items.size()) != c.hosts())
    mistakes.add(racks->place, "'racks' lists {} hosts, but workers are on {}", racks->items.size(), c.hosts());
  if (racks->is(T::kInteger) && racks->integer > c.hosts())
    mistakes.add(racks->place, "{} racks are more than there are hosts ({})", racks->integer, c.hosts());
  if (!racks->is(T::kArray)) return;
  std::set<std::int64_t> named;
  for (const Value& rack : racks->items) named.insert(rack.integer);
  if (named.size() < 2 || *named.rbegin() != std::int64_t(named.size()) - 1)
    mistakes.add(racks->place, "'racks' must name racks 0, 1 and so on, at least two and none left out");
}

}  // namespace

void check_hosts(const Configuration& c, Mistakes& mistakes) {
  const Value* hosts = c.find("network.hosts");
  if (hosts != nullptr && hosts->is(T::kArray) && int(hosts->items.size()) != c.workers())
    mistakes.add(hosts->place, "'hosts' lists {} workers, but world_size is {}", hosts->items.size(), c.workers());
  if (hosts != nullptr && hosts->is(T::kInteger) && hosts->integer > c.workers())
    mistakes.add(hosts->place, "{} hosts are more than there are workers ({})", hosts->integer, c.workers());
  check_links(c.at("network.links").items, mistakes);
  check_racks(c, mistakes);
}

bool check_without(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes) {
  if (variant.without.empty()) return true;
  bool right = true;
  const auto wrong = [&](const Value& where, const std::string& what) {
    mistakes.add(where.place, "'{}' {}", variant.label, what);
    right = false;
  };
  std::set<std::int64_t> named;
  for (const Value& rank : variant.without) {
    if (rank.integer >= c.workers())
      wrong(rank, fmt::format("is without rank {}, but the workers are 0 to {}", rank.integer, c.workers() - 1));
    if (!named.insert(rank.integer).second)
      wrong(rank, fmt::format("is without rank {} twice: once is enough", rank.integer));
  }
  const Value& first = variant.without.front();
  if (int(named.size()) >= c.workers())
    wrong(first, fmt::format("is without all {} workers: leave one to train", c.workers()));
  for (const ScenarioDraft* scenario : scenarios_of(draft, *c.measure)) {
    if (scenario->faults.empty()) continue;
    wrong(first, fmt::format("leaves workers out, and scenario '{}' has faults, which name ranks: give them measures "
                             "of their own, by 'protocols' and 'scenarios'",
                             scenario->name));
  }
  return right;
}

void check_others(const Configuration& c, Mistakes& mistakes) {
  std::set<std::int64_t> named;
  for (const Value& other : c.at("compute.others").items) {
    const Entry* ranks = other.find("ranks");
    if (ranks == nullptr) continue;
    for (const Value& rank : ranks->value.items) {
      if (rank.integer >= c.workers()) {
        mistakes.add(rank.place, "'others' names rank {}, but the workers are 0 to {}", rank.integer, c.workers() - 1);
      } else if (!named.insert(rank.integer).second) {
        mistakes.add(rank.place, "'others' names rank {} twice: it computes on one backend", rank.integer);
      }
    }
  }
}

}  // namespace hopbench
