#include "backends/runtime/virtual/network_routes.h"

#include <algorithm>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr double kAsIfUnlimited = 1e18;  // bytes/s, of a link that is limited at other times
constexpr double kAsIfCut = 1e-6;        // bytes/s, of a cut link: not a byte in a week

}  // namespace

Duration time_for(double bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? seconds_to_duration(bytes / bytes_per_s) : Duration{};
}

Routes::Routes(const NetworkSpec& spec, int ranks, Capacity tell) : spec_(spec), tell_(std::move(tell)) {
  HB_ASSERT(spec.host_of.empty() || spec.host_of.size() >= static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) hosts_ = std::max(hosts_, host(r) + 1);
  for (const NetworkSpec::Link& link : spec.links) {
    if (link.from > Time{}) changes_.push_back(link.from);
    if (link.until != kNever) changes_.push_back(link.until);
    if (link.cut) cuts_.push_back(link);
  }
  std::sort(cuts_.begin(), cuts_.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  std::sort(changes_.begin(), changes_.end(), std::greater<>{});
  move_to(Time{});
}

void Routes::move_to(Time now) {
  while (next_change() <= now) changes_.pop_back();
  out_.assign(static_cast<std::size_t>(hosts_), {.bandwidth = spec_.bandwidth * spec_.goodput});
  in_ = out_;
  links_.clear();
  for (const NetworkSpec::Link& link : spec_.links) {
    const bool holds = link.from <= now && now < link.until;
    if (link.b >= 0) {
      obey(link, holds, links_[{link.a, link.b}]);
      if (!link.one_way) obey(link, holds, links_[{link.b, link.a}]);
    } else if (link.a < hosts_) {
      obey(link, holds, out_[static_cast<std::size_t>(link.a)]);
      if (!link.one_way) obey(link, holds, in_[static_cast<std::size_t>(link.a)]);
    }
  }
  for (const auto& [place, resource] : resources_) tell_(resource, capacity_of(place));
}

Route Routes::between(int from, int to) {
  const int a = host(from), b = host(to);
  Route route{.from = a, .to = b};
  if (a == b) {
    route.latency = spec_.local_latency;
    add(route, {Part::kMemory, a, a});
    return route;
  }
  const Duration nics = std::max(out_[static_cast<std::size_t>(a)].latency, in_[static_cast<std::size_t>(b)].latency);
  route.latency = nics >= Duration{} ? nics : spec_.latency;
  add(route, {Part::kOut, a, a});
  add(route, {Part::kIn, b, b});
  if (const auto link = links_.find({a, b}); link != links_.end()) {
    if (link->second.latency >= Duration{}) route.latency = link->second.latency;
    add(route, {Part::kLink, a, b});
  }
  if (rack(a) != rack(b)) {
    add(route, {Part::kUp, rack(a), rack(a)});
    add(route, {Part::kDown, rack(b), rack(b)});
  }
  return route;
}

int Routes::rack(int host) const {
  const auto at = static_cast<std::size_t>(host);
  return at < spec_.rack_of.size() ? spec_.rack_of[at] : 0;
}

Time Routes::through(const Route& route, Time start, Duration length) const {
  for (const NetworkSpec::Link& cut : cuts_) {
    if (!concerns(cut, route) || cut.until <= start) continue;
    if (start < cut.from && after(start, length) <= cut.from) continue;
    length -= std::clamp(cut.from - start, Duration{}, length);
    start = cut.until;
  }
  return after(start, length);
}

bool Routes::concerns(const NetworkSpec::Link& link, const Route& route) {
  if (route.from == route.to) return false;
  const bool there = link.a == route.from && (link.b == route.to || link.b < 0);
  const bool back = link.a == route.to && (link.b == route.from || link.b < 0);
  return there || (back && !link.one_way);
}

void Routes::obey(const NetworkSpec::Link& link, bool holds, Way& way) const {
  if (holds && link.latency >= Duration{}) way.latency = link.latency;
  if (holds && link.bandwidth > 0) way.bandwidth = link.bandwidth * spec_.goodput;
  if (way.bandwidth <= 0 && (link.bandwidth > 0 || link.cut)) way.bandwidth = kAsIfUnlimited;
  way.cut = way.cut || (holds && link.cut);
}

double Routes::bandwidth_of(const LinkKey& place) const {
  const Part part = std::get<Part>(place);
  if (part == Part::kMemory) return spec_.local_bandwidth;
  if (part == Part::kUp || part == Part::kDown) return spec_.uplink * spec_.goodput;
  return way_of(place).bandwidth;
}

double Routes::capacity_of(const LinkKey& place) const {
  const Part part = std::get<Part>(place);
  const bool changes = part == Part::kOut || part == Part::kIn || part == Part::kLink;
  return changes && way_of(place).cut ? kAsIfCut : bandwidth_of(place);
}

const Routes::Way& Routes::way_of(const LinkKey& place) const {
  const auto [part, a, b] = place;
  if (part == Part::kLink) return links_.at({a, b});
  return (part == Part::kOut ? out_ : in_)[static_cast<std::size_t>(a)];
}

void Routes::add(Route& route, const LinkKey& place) {
  const double bandwidth = bandwidth_of(place);
  if (bandwidth <= 0) return;
  route.narrowest = route.narrowest > 0 ? std::min(route.narrowest, bandwidth) : bandwidth;
  const auto [at, fresh] = resources_.try_emplace(place, static_cast<int>(resources_.size()));
  if (fresh) tell_(at->second, capacity_of(place));
  route.resources[route.hops++] = at->second;
}

Processors::Processors(const NetworkSpec& spec, int ranks)
    : overhead_(spec.overhead), rate_(spec.overhead_rate), shared_(spec.processors > 0) {
  if (overhead_ <= Duration{} && rate_ <= 0) return;
  int hosts = spec.host_of.empty() ? ranks : 0;
  for (const int host : spec.host_of) hosts = std::max(hosts, host + 1);
  host_of_ = spec.host_of;
  free_at_.resize(static_cast<std::size_t>(shared_ ? spec.processors : hosts));
}

Time Processors::handle(int rank, double bytes, Time now) {
  if (!any()) return now;
  Time& free_at = shared_ ? *std::min_element(free_at_.begin(), free_at_.end()) : free_at_[host(rank)];
  free_at = after(after(std::max(free_at, now), overhead_), time_for(bytes, rate_));
  return free_at;
}

}  // namespace hopbench
