// Turns what pairs of ranks measured into a network that explains it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "backends/base/text.h"
#include "results/arithmetic/statistics.h"
#include "suites/tuning/calibrate_links.h"

namespace hopbench {
namespace {

constexpr double kUnlimited = 1e300;
constexpr double kLent = 1e11;                   // bytes/s: a model that is lent, not copied, seems to be this fast
constexpr double kNothing = 0.3;                 // of a round trip
constexpr double kSlower = 0.75;                 // of the others' bandwidth: worth a link of its own
constexpr double kFarther = 1.5, kFarBy = 1e-4;  // times the others' latency, plus these seconds

/// Returns the bytes/s of a link whose messages take this long, without the time of the processors of `machine`; 0 if
/// the processors take all of it.
double bandwidth_of(const PairFigures& pair, const Calibration& machine) {
  const PairFigures::Sent least = pair.bodies.front(), most = pair.bodies.back();
  if (most.seconds - pair.round_trip_s < kNothing * pair.round_trip_s) return 0;  // lent, or lost in the noise
  const double a_byte = std::max(0.0, most.seconds - least.seconds) / (most.bytes - least.bytes);
  const double handled = machine.overhead_rate > 0 ? 2 / machine.overhead_rate : 0;
  const double on_link = a_byte - handled;
  return on_link <= 0.3 * handled || on_link < 1 / kLent ? 0 : 1 / on_link;
}

double latency_of(const PairFigures& pair, const Calibration& machine) {
  return std::max(0.0, pair.round_trip_s / 2 - 2 * to_seconds(machine.overhead));
}

/// The link from one host to another. If several ranks are there, the fastest pair counts.
struct HostPair {
  double bandwidth = 0, latency_s = 0;
};
using HostPairs = std::map<std::pair<int, int>, HostPair>;

/// Returns the larger bandwidth; 0 is unlimited.
double faster(double a, double b) { return a == 0 || b == 0 ? 0 : std::max(a, b); }
bool slower_than(double a, double b) { return a > 0 && (b == 0 || a < kSlower * b); }

/// Returns the bandwidth of a host's own NIC, that of its fastest pair, if all its pairs are slower than usual; else 0.
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

/// Returns the bandwidth of the fastest quarter: one slow host of three has two of the three pairs.
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

/// Adds the links between two hosts that differ from the rest: one for both ways if they are alike, else one each way.
void add_links(const HostPairs& pairs, std::pair<int, int> hosts, double known, Duration latency,
               std::vector<NetworkSpec::Link>& links) {
  const auto [a, b] = hosts;
  const HostPair there = pairs.at({a, b}), back = pairs.at({b, a});
  const auto slower = [&](const HostPair& pair) { return slower_than(pair.bandwidth, known) ? pair.bandwidth : 0; };
  NetworkSpec::Link link{.a = a, .b = b};
  const double there_s =
      std::min(there.latency_s, back.latency_s);  // of a round trip, which does not show which way is longer
  if (there_s > kFarther * to_seconds(latency) + kFarBy) link.latency = seconds_to_duration(there_s);
  const bool alike = !slower_than(there.bandwidth, back.bandwidth) && !slower_than(back.bandwidth, there.bandwidth);
  if (alike && slower(there) > 0 && slower(back) > 0) link.bandwidth = std::max(slower(there), slower(back));
  if (link.bandwidth > 0 || link.latency >= Duration{}) links.push_back(link);
  if (link.bandwidth > 0) return;
  if (slower(there) > 0) links.push_back({.a = a, .b = b, .bandwidth = slower(there), .one_way = true});
  if (slower(back) > 0) links.push_back({.a = b, .b = a, .bandwidth = slower(back), .one_way = true});
}

/// Returns the duration in whole microseconds.
std::string microseconds_toml(Duration d) { return fmt::format("\"{}\"", duration_text(d.count() / 1000 * 1000)); }

}  // namespace

std::string rate_toml(double bytes_per_s) {
  return bytes_per_s > 0 ? fmt::format("\"{:.4g}MB/s\"", bytes_per_s / 1e6) : "0";
}

std::string links_toml(const NetworkSpec& network) {
  std::string text =
      fmt::format("latency = {}\nbandwidth = {}\n", microseconds_toml(network.latency), rate_toml(network.bandwidth));
  if (network.links.empty()) return text;
  text += "links = [\n";
  for (const NetworkSpec::Link& link : network.links) {
    text += fmt::format("  {{ a = {}, b = {}", link.a, link.b);
    if (link.bandwidth > 0) text += ", bandwidth = " + rate_toml(link.bandwidth);
    if (link.latency >= Duration{}) text += ", latency = " + microseconds_toml(link.latency);
    if (link.one_way) text += ", one_way = true";
    text += " },\n";
  }
  return text + "]\n";
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
