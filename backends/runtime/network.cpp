#include "backends/runtime/network.h"

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/runtime/transfers.h"

namespace hopbench {
namespace {

constexpr double kAsIfUnlimited = 1e18;  // bytes/s, of what is limited at other times
constexpr double kAsIfCut = 1e-6;        // bytes/s, of what is cut: not a byte in a week

Duration time_for(double bytes, double bytes_per_s) {
  return bytes_per_s > 0 ? seconds_to_duration(bytes / bytes_per_s) : Duration{};
}

/// What a flow between two ranks meets.
struct Route {
  int from = 0, to = 0;  // hosts
  Duration latency{};
  double narrowest = 0;  // bytes/s; 0: unlimited
  std::array<int, FairShare::kMaxPath> resources{};
  std::size_t hops = 0;
};

/// The spec as resources of Transfers, and the way from rank to rank over them.
class Routes {
 public:
  Routes(const NetworkSpec& spec, int ranks, Transfers& transfers) : spec_(spec), transfers_(transfers) {
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

  Time next_change() const { return changes_.empty() ? kNever : changes_.back(); }

  /// Routes and capacities from now on. The resources of a route stay the same.
  void move_to(Time now) {
    while (next_change() <= now) changes_.pop_back();
    out_.assign(static_cast<std::size_t>(hosts_), {.bandwidth = spec_.bandwidth});
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
    for (const auto& [place, resource] : resources_) transfers_.set_capacity(resource, capacity_of(place));
  }

  Route between(int from, int to) {
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
    return route;
  }

  /// When a message is through that begins then and takes so long on its own: while its way is cut it stands still.
  Time through(const Route& route, Time start, Duration length) const {
    for (const NetworkSpec::Link& cut : cuts_) {
      if (!concerns(cut, route) || cut.until <= start) continue;
      if (start < cut.from && after(start, length) <= cut.from) continue;
      length -= std::clamp(cut.from - start, Duration{}, length);
      start = cut.until;
    }
    return after(start, length);
  }

 private:
  static bool concerns(const NetworkSpec::Link& link, const Route& route) {
    if (route.from == route.to) return false;
    const bool there = link.a == route.from && (link.b == route.to || link.b < 0);
    const bool back = link.a == route.to && (link.b == route.from || link.b < 0);
    return there || (back && !link.one_way);
  }

  enum class Part { kMemory, kOut, kIn, kLink };
  using Place = std::tuple<Part, int, int>;  // hosts: twice the same one but for a link
  struct Way {
    double bandwidth = 0;  // 0: always unlimited
    Duration latency{-1};
    bool cut = false;
  };

  static void obey(const NetworkSpec::Link& link, bool holds, Way& way) {
    if (holds && link.latency >= Duration{}) way.latency = link.latency;
    if (holds && link.bandwidth > 0) way.bandwidth = link.bandwidth;
    if (way.bandwidth <= 0 && (link.bandwidth > 0 || link.cut)) way.bandwidth = kAsIfUnlimited;
    way.cut = way.cut || (holds && link.cut);
  }

  int host(int rank) const { return spec_.host_of.empty() ? rank : spec_.host_of[static_cast<std::size_t>(rank)]; }

  double bandwidth_of(const Place& place) const {
    if (std::get<Part>(place) == Part::kMemory) return spec_.local_bandwidth;
    return way_of(place).bandwidth;
  }

  double capacity_of(const Place& place) const {
    const bool cut = std::get<Part>(place) != Part::kMemory && way_of(place).cut;
    return cut ? kAsIfCut : bandwidth_of(place);
  }

  const Way& way_of(const Place& place) const {
    const auto [part, a, b] = place;
    if (part == Part::kLink) return links_.at({a, b});
    return (part == Part::kOut ? out_ : in_)[static_cast<std::size_t>(a)];
  }

  void add(Route& route, const Place& place) {
    const double bandwidth = bandwidth_of(place);
    if (bandwidth <= 0) return;
    route.narrowest = route.narrowest > 0 ? std::min(route.narrowest, bandwidth) : bandwidth;
    const auto [at, fresh] = resources_.try_emplace(place, 0);
    if (fresh) at->second = transfers_.add_resource(capacity_of(place));
    route.resources[route.hops++] = at->second;
  }

  const NetworkSpec spec_;
  int hosts_ = 0;
  Transfers& transfers_;
  std::vector<Time> changes_;  // that are ahead, the next one last
  std::vector<NetworkSpec::Link> cuts_;
  std::vector<Way> out_, in_;  // NICs by host, as they are now
  std::map<std::pair<int, int>, Way> links_;
  std::map<Place, int> resources_;
};

/// Where messages are handled, in the order in which they ask.
class Processors {
 public:
  Processors(const NetworkSpec& spec, int ranks)
      : overhead_(spec.overhead), rate_(spec.overhead_rate), shared_(spec.processors > 0) {
    if (overhead_ <= Duration{} && rate_ <= 0) return;
    int hosts = spec.host_of.empty() ? ranks : 0;
    for (const int host : spec.host_of) hosts = std::max(hosts, host + 1);
    host_of_ = spec.host_of;
    free_at_.resize(static_cast<std::size_t>(shared_ ? spec.processors : hosts));
  }

  bool any() const { return !free_at_.empty(); }

  /// When a message of so many bytes that asks now at this rank has been handled.
  Time handle(int rank, double bytes, Time now) {
    if (!any()) return now;
    Time& free_at = shared_ ? *std::min_element(free_at_.begin(), free_at_.end()) : free_at_[host(rank)];
    free_at = after(after(std::max(free_at, now), overhead_), time_for(bytes, rate_));
    return free_at;
  }

 private:
  std::size_t host(int rank) const {
    return static_cast<std::size_t>(host_of_.empty() ? rank : host_of_[static_cast<std::size_t>(rank)]);
  }

  Duration overhead_;
  double rate_;
  bool shared_;
  std::vector<int> host_of_;
  std::vector<Time> free_at_;  // by processor; empty: handling takes no time
};

class FairNetwork final : public Network {
 public:
  FairNetwork(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed, std::uint32_t repeat)
      : packet_bytes_(spec.packet_bytes),
        jitter_(spec.jitter),
        ranks_(ranks),
        timeline_(timeline),
        seed_(seed),
        repeat_(repeat),
        routes_(spec, ranks, transfers_),
        processors_(spec, ranks) {}

  void transfer(const Flow& flow, std::function<void()> arrived) override {
    catch_up();
    Pair& pair = pair_of(flow);
    const auto bytes = static_cast<double>(flow.bytes);
    if (processors_.any()) arrived = handled_at(flow.to, bytes, pair, std::move(arrived));
    Waiting waiting{.ready = after(processors_.handle(flow.from, bytes, timeline_.now()), latency(flow, pair)),
                    .bytes = bytes,
                    .shared = flow.bytes > packet_bytes_ && pair.route.hops > 0,
                    .arrived = std::move(arrived)};
    if (pair.on_links) {
      pair.queue.push_back(std::move(waiting));
    } else {
      launch(pair, std::move(waiting));
    }
  }

 private:
  struct Waiting {
    Time ready{};  // latency over
    double bytes = 0;
    bool shared = false;
    std::function<void()> arrived{};
  };
  struct Pair {
    std::uint32_t index = 0;
    Route route;
    Time free_at{};         // when its last message off the links has arrived
    Time handled_at{};      // when the last one that arrived has been handled
    bool on_links = false;  // one of its messages shares bandwidth, or is about to
    std::int64_t messages = 0;
    std::list<Waiting> queue{};  // empty for most pairs: then it takes no memory
    Waiting current;             // while on_links
  };
  void catch_up();
  Pair& pair_of(const Flow& flow);
  Duration latency(const Flow& flow, Pair& pair) const;
  std::function<void()> handled_at(int rank, double bytes, Pair& pair, std::function<void()> then);
  void launch(Pair& pair, Waiting waiting);
  void begin(Pair& pair);
  void share_anew();
  void rates_change();
  void look_at_ends();
  void watch_next_end();
  void end(Pair& pair);

  std::int64_t packet_bytes_;
  double jitter_;
  int ranks_;
  Timeline& timeline_;
  std::uint64_t seed_;
  std::uint32_t repeat_;
  Transfers transfers_;
  Routes routes_;
  Processors processors_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_index_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<Pair*> flows_;  // by the number that transfers_ gave
  std::vector<Pair*> ended_;
  bool asked_for_rates_ = false;
  Time watched_ = kNever;  // the earliest time at which look_at_ends will be called, for an end or a change
};

// Links that have changed meanwhile. While anything is on them this is called at the very instant.
void FairNetwork::catch_up() {
  if (timeline_.now() < routes_.next_change()) return;
  routes_.move_to(timeline_.now());
  const auto ranks = static_cast<std::uint64_t>(ranks_);
  for (const auto& [pair, index] : pair_index_)
    pairs_[index]->route = routes_.between(static_cast<int>(pair / ranks), static_cast<int>(pair % ranks));
  share_anew();
}

FairNetwork::Pair& FairNetwork::pair_of(const Flow& flow) {
  const auto key =
      static_cast<std::uint64_t>(flow.from) * static_cast<std::uint64_t>(ranks_) + static_cast<std::uint64_t>(flow.to);
  const auto [at, fresh] = pair_index_.try_emplace(key, static_cast<std::uint32_t>(pairs_.size()));
  if (fresh) {
    pairs_.push_back(std::make_unique<Pair>());
    pairs_.back()->index = at->second;
    pairs_.back()->route = routes_.between(flow.from, flow.to);
  }
  return *pairs_[at->second];
}

Duration FairNetwork::latency(const Flow& flow, Pair& pair) const {
  const std::int64_t number = pair.messages++;
  if (jitter_ <= 0) return pair.route.latency;
  Random random({.seed = seed_,
                 .repeat = repeat_,
                 .purpose = Purpose::kLink,
                 .rank = static_cast<std::int32_t>(flow.from * ranks_ + flow.to),
                 .iteration = number});
  return scaled(pair.route.latency, 1.0 + jitter_ * random.exponential());
}

// Of two messages of a pair the second may be done first, on another processor; it is handed over after the first.
std::function<void()> FairNetwork::handled_at(int rank, double bytes, Pair& pair, std::function<void()> then) {
  return [this, rank, bytes, &pair, then = std::move(then)]() mutable {
    pair.handled_at = std::max(pair.handled_at, processors_.handle(rank, bytes, timeline_.now()));
    timeline_.at(pair.handled_at, std::move(then));
  };
}

void FairNetwork::launch(Pair& pair, Waiting waiting) {
  const Time start = std::max(waiting.ready, pair.free_at);
  if (!waiting.shared) {
    pair.free_at = routes_.through(pair.route, start, time_for(waiting.bytes, pair.route.narrowest));
    timeline_.at(pair.free_at, std::move(waiting.arrived));
    return;
  }
  pair.on_links = true;
  pair.current = std::move(waiting);
  if (start <= timeline_.now()) return begin(pair);
  timeline_.at(start, [this, &pair] { begin(pair); });
}

void FairNetwork::begin(Pair& pair) {
  catch_up();
  const int flow = transfers_.begin(std::span(pair.route.resources.data(), pair.route.hops), pair.current.bytes);
  const auto at = static_cast<std::size_t>(flow);
  if (flows_.size() <= at) flows_.resize(at + 1);
  flows_[at] = &pair;
  share_anew();
}

// All that begins and ends at one instant is dealt with together, after the last of it.
void FairNetwork::share_anew() {
  if (std::exchange(asked_for_rates_, true)) return;
  timeline_.at(timeline_.now(), [this] { rates_change(); });
}

void FairNetwork::rates_change() {
  asked_for_rates_ = false;
  transfers_.settle(timeline_.now());
  watch_next_end();
}

void FairNetwork::watch_next_end() {
  const Time end = transfers_.next_end();
  if (end == kNever) return;  // a change is no matter before somebody sends
  const Time next = std::min(end, routes_.next_change());
  if (next >= watched_) return;
  watched_ = next;
  timeline_.at(watched_, [this] { look_at_ends(); });
}

void FairNetwork::look_at_ends() {
  const Time now = timeline_.now();
  if (now >= watched_) watched_ = kNever;
  catch_up();
  ended_.clear();
  for (const int flow : transfers_.ended(now)) ended_.push_back(flows_[static_cast<std::size_t>(flow)]);
  for (Pair* pair : ended_) end(*pair);  // which may begin other flows, of the same numbers
  watch_next_end();
}

void FairNetwork::end(Pair& pair) {
  share_anew();
  pair.on_links = false;
  pair.free_at = timeline_.now();
  timeline_.at(timeline_.now(), std::move(pair.current.arrived));
  while (!pair.on_links && !pair.queue.empty()) {
    Waiting next = std::move(pair.queue.front());
    pair.queue.pop_front();
    launch(pair, std::move(next));
  }
}

class InstantNetwork final : public Network {
 public:
  explicit InstantNetwork(Timeline& timeline) : timeline_(timeline) {}
  void transfer(const Flow&, std::function<void()> arrived) override {
    timeline_.at(timeline_.now(), std::move(arrived));
  }

 private:
  Timeline& timeline_;
};

}  // namespace

std::unique_ptr<Network> make_network(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed,
                                      std::uint32_t repeat) {
  return std::make_unique<FairNetwork>(spec, ranks, timeline, seed, repeat);
}

std::unique_ptr<Network> make_instant_network(Timeline& timeline) { return std::make_unique<InstantNetwork>(timeline); }

}  // namespace hopbench
