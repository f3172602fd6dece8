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

Routes::Routes(const NetworkSpec& spec, int ranks, std::uint64_t seed, std::uint32_t repeat, Capacity tell)
    : spec_(spec), seed_(seed), repeat_(repeat), tell_(std::move(tell)) {
  HB_ASSERT(spec.host_of.empty() || spec.host_of.size() >= static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) hosts_ = std::max(hosts_, host(r) + 1);
  int rules = 0;
  for (const NetworkSpec::Link& link : spec.links) {
    const bool has_memory = link.rule.what != LinkRuleKind::kFixed;
    known_.push_back(has_memory ? Known{.number = rules++, .state = {.until = Time{}}} : Known{});
    if (link.from > Time{}) changes_.push_back(link.from);
    if (link.until != kNever) changes_.push_back(link.until);
    if (link.cut) cuts_.push_back(link);
  }
  std::sort(cuts_.begin(), cuts_.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  std::sort(changes_.begin(), changes_.end(), std::greater<>{});
  move_to(Time{});
}

void Routes::move_to(Time now) {
  while (!changes_.empty() && changes_.back() <= now) changes_.pop_back();
  next_change_ = changes_.empty() ? kNever : changes_.back();
  out_.assign(static_cast<std::size_t>(hosts_), {.bandwidth = spec_.bandwidth * spec_.goodput});
  in_ = out_;
  links_.clear();
  for (std::size_t i = 0; i < spec_.links.size(); ++i) {
    const NetworkSpec::Link& link = spec_.links[i];
    const bool holds = link.from <= now && now < link.until;
    const LinkState* const state = holds ? &state_of(i, now) : nullptr;
    if (link.b >= 0) {
      obey(link, state, links_[{link.a, link.b}]);
      if (!link.one_way) obey(link, state, links_[{link.b, link.a}]);
    } else if (link.a < hosts_) {
      obey(link, state, out_[static_cast<std::size_t>(link.a)]);
      if (!link.one_way) obey(link, state, in_[static_cast<std::size_t>(link.a)]);
    }
  }
  for (const auto& [place, resource] : resources_) tell_(resource, capacity_of(place));
}

// A state that is known to last is not worked out again.
const LinkState& Routes::state_of(std::size_t link, Time now) {
  Known& known = known_[link];
  if (known.state.until <= now) known.state = spec_.links[link].rule.at(seed_, repeat_, known.number, now);
  next_change_ = std::min(next_change_, known.state.until);
  return known.state;
}

Route Routes::between(int from, int to) {
  const int a = host(from), b = host(to);
  Route route{.from = a, .to = b};
  if (a == b) {
    route.latency = spec_.local_latency;
    add(route, {Part::kMemory, a, a});
    return route;
  }
  const Duration nics =
      std::max(latency_of(out_[static_cast<std::size_t>(a)]), latency_of(in_[static_cast<std::size_t>(b)]));
  route.latency = nics >= Duration{} ? nics : spec_.latency;
  add(route, {Part::kOut, a, a});
  add(route, {Part::kIn, b, b});
  if (const auto link = links_.find({a, b}); link != links_.end()) {
    if (link->second.latency >= Duration{}) route.latency = link->second.latency;
    if (link->second.latency_factor != 1) route.latency = scaled(route.latency, link->second.latency_factor);
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

// `state`: nullptr while the link does not hold.
void Routes::obey(const NetworkSpec::Link& link, const LinkState* state, Way& way) const {
  const auto set_latency = [&](Duration latency) {
    if (latency < Duration{}) return;
    way.latency = latency;
    way.latency_factor = 1;
  };
  if (state != nullptr) {
    set_latency(link.latency);
    set_latency(state->latency);
    for (const double bandwidth : {link.bandwidth, state->bandwidth}) {
      if (bandwidth > 0) way.bandwidth = bandwidth * spec_.goodput;
    }
  }
  if (way.bandwidth <= 0 && (link.bandwidth > 0 || link.cut || link.rule.sets_bandwidth()))
    way.bandwidth = kAsIfUnlimited;
  if (state == nullptr) return;
  way.bandwidth /= state->factor;
  way.latency_factor *= state->latency_factor;
  way.cut = way.cut || link.cut;
}

/// Returns the latency of a NIC; negative: it has none of its own.
Duration Routes::latency_of(const Way& nic) const {
  if (nic.latency_factor == 1) return nic.latency;
  return scaled(nic.latency >= Duration{} ? nic.latency : spec_.latency, nic.latency_factor);
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
