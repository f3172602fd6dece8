#include "suites/calibrate_links.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "backends/base/error.h"
#include "backends/runtime/emulated_wire.h"
#include "backends/transport/wire.h"
#include "results/statistics.h"
#include "suites/job.h"

namespace hopbench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kRoundTrips = 30, kLarge = 3;
constexpr std::size_t kFloats = 1 << 16, kMoreFloats = 1 << 20;  // 256 KiB; 4 MiB where that is over in no time
constexpr double kNoTime = 0.02;                                 // seconds
constexpr double kUnlimited = 1e300;
constexpr double kLent = 1e11;                   // bytes/s: a model that is lent, not copied, seems to go as fast
constexpr double kNothing = 0.3;                 // of a round trip
constexpr double kSlower = 0.75;                 // of the others' bandwidth: worth a link of its own
constexpr double kFarther = 1.5, kFarBy = 1e-4;  // of the others' latency, and seconds besides

// Rank 0 lets one rank after the other measure; whoever is not measuring answers.
class LinkMeter {
 public:
  LinkMeter(ChildChannel& channel, Wire& wire)
      : rank_(channel.rank()), size_(channel.size()), wire_(wire), slot_(channel.board().slot(channel.rank())) {}

  json lead() {
    json pairs = json::array();
    for (int from = 0; from < size_; ++from) {
      for (int to = 0; to < size_; ++to) {
        if (from == to) continue;
        if (from == 0) {
          pairs.push_back(measure(to));
          continue;
        }
        send(from, kGo, {}, {to});
        pairs.push_back(json::parse(text_of(await(kDone))));
      }
    }
    for (int rank = 1; rank < size_; ++rank) send(rank, kEnd);
    return pairs;
  }

  void follow() {
    while (true) {
      const Message message = next();
      if (message.kind == kEnd) return;
      if (message.kind == kGo) send_text(0, kDone, measure(int(message.words[0])).dump());
    }
  }

 private:
  static constexpr Kind kPing{1}, kPong{2}, kGo{3}, kDone{4}, kEnd{5};

  json measure(int peer) {
    std::vector<double> small, large;
    for (int i = 0; i < kRoundTrips; ++i) small.push_back(exchange(peer, {}));
    std::size_t floats = kFloats;
    const Payload some = Vec(kFloats).share();
    exchange(peer, some);
    if (exchange(peer, some) < kNoTime) floats = kMoreFloats;
    const Payload body = floats == kFloats ? some : Vec(floats).share();
    for (int i = 0; i < kLarge; ++i) large.push_back(exchange(peer, body));
    return {{"from", rank_},
            {"to", peer},
            {"round_trip", median(small)},
            {"large", median(large)},
            {"bytes", double(floats * sizeof(float))}};
  }

  double exchange(int peer, const Payload& body) {
    const auto begin = Clock::now();
    send(peer, kPing, body);
    await(kPong);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void send(int to, Kind kind, const Payload& body = {}, const Words& words = {}) {
    const Message message{.from = rank_,
                          .kind = kind,
                          .iter = 0,
                          .words = words,
                          .body = body,
                          .bytes = kHeaderBytes + std::int64_t(body.stored() * sizeof(float))};
    while (!wire_.try_send(to, message)) wire_.wait(std::chrono::milliseconds(10));
  }
  // A short text as a body: a float a character.
  void send_text(int to, Kind kind, const std::string& text) {
    const std::vector<float> characters(text.begin(), text.end());
    send(to, kind, Vec::from_host(characters).share());
  }
  static std::string text_of(const Message& message) {
    const std::vector<float> characters = Vec::copy_of(message.body).to_host();
    return {characters.begin(), characters.end()};
  }

  /// Answers meanwhile.
  Message await(Kind kind) {
    while (true) {
      Message message = next();
      if (message.kind == kind) return message;
    }
  }
  Message next() {
    while (true) {
      std::optional<Message> got = wire_.poll();
      if (!got) {
        wire_.wait(std::chrono::milliseconds(100));
        continue;
      }
      slot_.beats.fetch_add(1, std::memory_order_relaxed);
      if (got->kind == kGone) throw trial_error("rank " + std::to_string(got->from) + " died during calibration");
      if (got->kind != kPing) return std::move(*got);
      send(got->from, kPong);
    }
  }

  const int rank_, size_;
  Wire& wire_;
  RankSlot& slot_;
};

/// What a link must carry if a message takes this long and processors take `machine`'s part of it; 0: they take it all.
double bandwidth_of(const PairFigures& pair, const Calibration& machine) {
  if (pair.large_s - pair.round_trip_s < kNothing * pair.round_trip_s) return 0;  // lent, or lost in the noise
  const double a_byte = (pair.large_s - pair.round_trip_s) / pair.bytes;
  const double handled = machine.overhead_rate > 0 ? 2 / machine.overhead_rate : 0;
  const double on_link = a_byte - handled;
  return on_link <= 0.3 * handled || on_link < 1 / kLent ? 0 : 1 / on_link;
}

double latency_of(const PairFigures& pair, const Calibration& machine) {
  return std::max(0.0, pair.round_trip_s / 2 - 2 * to_seconds(machine.overhead));
}

/// From one host to another; the fastest of several ranks' there.
struct HostPair {
  double bandwidth = 0, latency_s = 0;
};
using HostPairs = std::map<std::pair<int, int>, HostPair>;

/// 0 is unlimited.
double faster(double a, double b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }
bool slower_than(double a, double b) { return a > 0 && (b == 0 || a < kSlower * b); }

/// The bandwidth of a host's own NIC if all its pairs are slower than most: that of the fastest of them.
double nic_of(const HostPairs& pairs, int host, double usual) {
  bool first = true;
  double fastest = 0;
  for (const auto& [hosts, pair] : pairs) {
    if (hosts.first != host && hosts.second != host) continue;
    fastest = first ? pair.bandwidth : faster(fastest, pair.bandwidth);
    first = false;
  }
  return slower_than(fastest, usual) ? fastest : 0;
}

HostPairs by_hosts(std::span<const PairFigures> pairs, const Calibration& machine, std::span<const int> host_of) {
  const auto host = [&](int rank) { return host_of.empty() ? rank : host_of[std::size_t(rank)]; };
  HostPairs known;
  for (const PairFigures& pair : pairs) {
    if (host(pair.from) == host(pair.to)) continue;
    const HostPair now{bandwidth_of(pair, machine), latency_of(pair, machine)};
    const auto [at, fresh] = known.try_emplace({host(pair.from), host(pair.to)}, now);
    if (fresh) continue;
    at->second.bandwidth = faster(at->second.bandwidth, now.bandwidth);
    at->second.latency_s = std::min(at->second.latency_s, now.latency_s);
  }
  return known;
}

/// Of the fastest quarter: one slow host of three has two of the three pairs.
double usual_bandwidth(const HostPairs& pairs) {
  std::vector<double> bandwidths;
  for (const auto& [hosts, pair] : pairs) bandwidths.push_back(pair.bandwidth == 0 ? kUnlimited : pair.bandwidth);
  std::sort(bandwidths.begin(), bandwidths.end());
  const double usual = bandwidths[(3 * (bandwidths.size() - 1) + 3) / 4];
  return usual == kUnlimited ? 0 : usual;
}

Duration usual_latency(const HostPairs& pairs) {
  std::vector<double> latencies;
  for (const auto& [hosts, pair] : pairs) latencies.push_back(pair.latency_s);
  return seconds_to_duration(median(latencies));
}

/// The links between two hosts that are worth saying: one for both ways where both are alike, otherwise each its own.
void add_links(const HostPairs& pairs, std::pair<int, int> hosts, double known, Duration latency,
               std::vector<NetworkSpec::Link>& links) {
  const auto [a, b] = hosts;
  const HostPair there = pairs.at({a, b}), back = pairs.at({b, a});
  const auto slower = [&](const HostPair& pair) { return slower_than(pair.bandwidth, known) ? pair.bandwidth : 0; };
  NetworkSpec::Link link{.a = a, .b = b};
  const double there_s =
      std::min(there.latency_s, back.latency_s);  // of a round trip: nothing says which way is longer
  if (there_s > kFarther * to_seconds(latency) + kFarBy) link.latency = seconds_to_duration(there_s);
  const bool alike = !slower_than(there.bandwidth, back.bandwidth) && !slower_than(back.bandwidth, there.bandwidth);
  if (alike && slower(there) > 0 && slower(back) > 0) link.bandwidth = std::max(slower(there), slower(back));
  if (link.bandwidth > 0 || link.latency >= Duration{}) links.push_back(link);
  if (link.bandwidth > 0) return;
  if (slower(there) > 0) links.push_back({.a = a, .b = b, .bandwidth = slower(there), .one_way = true});
  if (slower(back) > 0) links.push_back({.a = b, .b = a, .bandwidth = slower(back), .one_way = true});
}

}  // namespace

std::string calibrate_links_rank(ChildChannel& channel, const TrialSpec& spec) {
  const Transport& transport = find_transport(spec.transport);
  if (transport.prepare != nullptr) transport.prepare();
  WireOptions options{.rank = channel.rank(),
                      .size = channel.size(),
                      .peers = {},
                      .interface = spec.interface,
                      .connect_timeout = spec.rendezvous_timeout,
                      .body_bytes = kMoreFloats * sizeof(float),
                      .eager_bytes = std::size_t(spec.eager_bytes)};
  for (int peer = 0; peer < channel.size(); ++peer) {
    if (peer != channel.rank()) options.peers.push_back(peer);
  }
  std::unique_ptr<Wire> wire = transport.connect(options, channel);
  if (spec.emulate) wire = std::make_unique<EmulatedWire>(std::move(wire), options.peers, kLinksFd);
  channel.ready();
  channel.board().slot(channel.rank()).phase = Phase::kRunning;
  LinkMeter meter(channel, *wire);
  json pairs = json::array();
  if (channel.rank() == 0) {
    pairs = meter.lead();
  } else {
    meter.follow();
  }
  wire->close(std::chrono::seconds(10));
  return pairs.dump();
}

std::vector<PairFigures> calibrate_links(const TrialSpec& spec, const std::atomic<int>* interrupts) {
  LaunchOptions options;
  options.command = {"", "rank"};
  options.ranks = spec.workers();
  options.job = to_text(Job{.role = Job::Role::kCalibrateLinks, .spec = spec, .event_log = ""});
  options.rendezvous_timeout = spec.rendezvous_timeout;
  options.stall_timeout = spec.stall_timeout;
  options.trial_timeout = spec.trial_timeout;
  options.interrupts = interrupts;
  std::optional<LinkEmulator> links;
  if (spec.emulate) links.emplace(network_of(spec, make_plan(spec)), options.ranks, spec.seed, spec.repeat);
  options.links = links ? &*links : nullptr;
  const LaunchResult launched = launch(options);
  if (!launched.ok) {
    throw Error(launched.interrupted ? ExitCode::kInterrupted : ExitCode::kTrialsFailed,
                "calibration of links failed: " + launched.failure.text);
  }
  std::vector<PairFigures> pairs;
  for (const json& j : json::parse(launched.ranks[0].result))
    pairs.push_back({j.at("from"), j.at("to"), j.at("round_trip"), j.at("large"), j.at("bytes")});
  return pairs;
}

NetworkSpec network_from(std::span<const PairFigures> pairs, const Calibration& machine, std::span<const int> host_of) {
  const HostPairs by_host = by_hosts(pairs, machine, host_of);
  NetworkSpec network;
  if (by_host.empty()) return network;
  network.bandwidth = usual_bandwidth(by_host);
  network.latency = usual_latency(by_host);
  network.overhead = machine.overhead;
  network.overhead_rate = machine.overhead_rate;
  network.processors = machine.processors;
  std::map<int, double> nics;
  for (const auto& [hosts, pair] : by_host) nics[hosts.first] = 0;
  for (auto& [h, nic] : nics) {
    nic = nic_of(by_host, h, network.bandwidth);
    if (nic > 0) network.links.push_back({.a = h, .b = -1, .bandwidth = nic});
  }
  const auto limit = [&](int h) { return nics[h] > 0 ? nics[h] : network.bandwidth; };
  for (const auto& [hosts, pair] : by_host) {
    if (hosts.first > hosts.second) continue;
    const double a = limit(hosts.first), b = limit(hosts.second);
    const double known = a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
    add_links(by_host, hosts, known, network.latency, network.links);
  }
  return network;
}

}  // namespace hopbench
