#include "backends/runtime/virtual/network.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "backends/runtime/virtual/fifo_network.h"
#include "backends/runtime/virtual/network_routes.h"
#include "backends/runtime/virtual/rendezvous.h"
#include "backends/runtime/virtual/transfers.h"

namespace hopbench {
namespace {

class FairNetwork final : public Network {
 public:
  FairNetwork(const NetworkSpec& spec, int ranks, Timeline& timeline, std::uint64_t seed, std::uint32_t repeat)
      : packet_bytes_(spec.packet_bytes),
        jitter_(spec.jitter),
        ranks_(ranks),
        timeline_(timeline),
        seed_(seed),
        repeat_(repeat),
        routes_(spec, ranks, seed, repeat, [this](int resource, double rate) { set_capacity(resource, rate); }),
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
    std::list<Waiting> queue{};  // empty for most pairs, and then it takes no memory
    Waiting current;             // while on_links
  };
  void set_capacity(int resource, double bytes_per_s);
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
  int resources_ = 0;  // number of resources in transfers_
  Routes routes_;
  Processors processors_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_index_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<Pair*> flows_;  // by the number that transfers_ gave
  std::vector<Pair*> ended_;
  bool asked_for_rates_ = false;
  Time watched_ = kNever;  // the earliest time at which look_at_ends will be called, for an end or a change
};

void FairNetwork::set_capacity(int resource, double bytes_per_s) {
  if (resource < resources_) return transfers_.set_capacity(resource, bytes_per_s);
  HB_ASSERT(transfers_.add_resource(bytes_per_s) == resource);
  ++resources_;
}

// Applies the changes of links since the last call. While anything is on them this is called at the very instant.
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

// The second of two messages of a pair may be handled first, on another processor. It is handed over after the first.
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

// Everything that begins or ends at one instant is handled together, after the last of it.
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
  if (asked_for_rates_) return;  // by old rates a cut flow would end in centuries; rates_change() comes at this instant
  const Time end = transfers_.next_end();
  if (end == kNever) return;  // a change does not matter before a rank sends
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
  for (Pair* pair : ended_) end(*pair);  // this may begin other flows, of the same numbers
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
  std::unique_ptr<Network> network;
  if (spec.queue == NetworkSpec::Queue::kFifo) {
    network = make_fifo_network(spec, ranks, timeline, seed, repeat);
  } else {
    network = std::make_unique<FairNetwork>(spec, ranks, timeline, seed, repeat);
  }
  return spec.rendezvous_bytes > 0 ? make_rendezvous(std::move(network), spec.rendezvous_bytes, timeline)
                                   : std::move(network);
}

std::unique_ptr<Network> make_instant_network(Timeline& timeline) { return std::make_unique<InstantNetwork>(timeline); }

}  // namespace hopbench
