// The simulated network against SimGrid's flow model CM02, on platforms where both mean the same: one latency, no
// cross-traffic, no TCP window. SimGrid is an oracle of this test only; the product never links it.
//
// Each platform is played in a child process of its own, since a second engine keeps the first one's clock.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/random.h"
#include "tests/backends/runtime/network_play.h"
// clang-format off: that of SimGrid 3.32 cannot be included before s4u.hpp
#include <simgrid/version.h>
// clang-format on

namespace hopbench {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kLatency_s = 0.001;

struct ThinLink {
  int a, b;          // hosts
  double bandwidth;  // bytes/s, each way
};

/// Hosts with a NIC each, some of them slow, and of one rank or of many; some pairs of hosts are joined by a thin link.
struct Platform {
  int hosts = 0;
  double bandwidth = 125e6;
  std::vector<double> nic{};  // by host, where it is not `bandwidth`
  std::vector<ThinLink> thin{};
  std::vector<int> host_of{};  // by rank; empty: rank r is on host r
  std::vector<int> rack_of{};  // by host; empty: no racks
  double uplink = 0;           // bytes/s of each rack, each way
  int host(int rank) const { return host_of.empty() ? rank : host_of[static_cast<std::size_t>(rank)]; }
  double nic_of(int h) const { return nic.empty() ? bandwidth : nic[static_cast<std::size_t>(h)]; }
};

s4u::NetZone* full_zone() {
#if SIMGRID_VERSION >= 40000
  return s4u::Engine::get_instance()->get_netzone_root()->add_netzone_full("all");
#else
  return s4u::create_full_zone("root");
#endif
}

std::vector<s4u::Host*> build(const Platform& platform) {
  s4u::NetZone* zone = full_zone();
  std::vector<s4u::Host*> hosts;
  std::vector<s4u::Link*> out, in;
  for (int h = 0; h < platform.hosts; ++h) {
    const std::string name = std::to_string(h);
    hosts.push_back(zone->create_host("host" + name, 1e9)->seal());
    out.push_back(zone->create_link("out" + name, platform.nic_of(h))->set_latency(kLatency_s)->seal());
    in.push_back(zone->create_link("in" + name, platform.nic_of(h))->set_latency(0.0)->seal());
  }
  std::vector<s4u::Link*> up, down;
  for (std::size_t rack = 0; rack < platform.rack_of.size(); ++rack) {
    const std::string name = std::to_string(rack);
    up.push_back(zone->create_link("up" + name, platform.uplink)->set_latency(0.0)->seal());
    down.push_back(zone->create_link("down" + name, platform.uplink)->set_latency(0.0)->seal());
  }
  std::map<std::pair<int, int>, s4u::Link*> thin;
  for (const ThinLink& link : platform.thin) {
    for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const std::string name = "thin" + std::to_string(from) + "to" + std::to_string(to);
      thin[{from, to}] = zone->create_link(name, link.bandwidth)->set_latency(0.0)->seal();
    }
  }
  for (int a = 0; a < platform.hosts; ++a) {
    for (int b = 0; b < platform.hosts; ++b) {
      if (a == b) continue;
      std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(out[static_cast<std::size_t>(a)])};
      if (const auto between = thin.find({a, b}); between != thin.end()) route.emplace_back(between->second);
      if (!platform.rack_of.empty()) {
        const auto from = static_cast<std::size_t>(platform.rack_of[static_cast<std::size_t>(a)]);
        const auto to = static_cast<std::size_t>(platform.rack_of[static_cast<std::size_t>(b)]);
        if (from != to) route.insert(route.end(), {s4u::LinkInRoute(up[from]), s4u::LinkInRoute(down[to])});
      }
      route.emplace_back(in[static_cast<std::size_t>(b)]);
      zone->add_route(hosts[static_cast<std::size_t>(a)]->get_netpoint(),
                      hosts[static_cast<std::size_t>(b)]->get_netpoint(), nullptr, nullptr, route, false);
    }
  }
  zone->seal();
  return hosts;
}

std::vector<double> simgrid_times(const Platform& platform, const std::vector<TimedFlow>& flows) {
  std::string name = "oracle", quiet = "--log=root.thresh:critical";
  char* argv[] = {name.data(), quiet.data(), nullptr};
  int argc = 2;
  s4u::Engine engine(&argc, argv);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:0");
  // With the default, Lazy, SimGrid 3.32 lets the flows into some NICs of the all-to-all below exceed its bandwidth.
  s4u::Engine::set_config("network/optim:Full");
  const std::vector<s4u::Host*> hosts = build(platform);
  std::vector<double> arrived(flows.size(), -1);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const auto host = [&](int rank) { return hosts[static_cast<std::size_t>(platform.host(rank))]; };
    s4u::Actor::create("flow", host(flows[i].from),
                       [&flows, &arrived, i, from = host(flows[i].from), to = host(flows[i].to)] {
                         s4u::this_actor::sleep_until(flows[i].at_s);
                         s4u::Comm::sendto(from, to, static_cast<std::uint64_t>(flows[i].bytes));
                         arrived[i] = s4u::Engine::get_clock();
                       });
  }
  engine.run();
  return arrived;
}

std::vector<double> simgrid_in_a_child(const Platform& platform, const std::vector<TimedFlow>& flows) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::vector<double> times = simgrid_times(platform, flows);
    const auto bytes = static_cast<ssize_t>(times.size() * sizeof(double));
    _exit(write(ends[1], times.data(), times.size() * sizeof(double)) == bytes ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> times(flows.size());
  char* at = reinterpret_cast<char*>(times.data());
  for (std::size_t left = times.size() * sizeof(double); left > 0;) {
    const ssize_t got = read(ends[0], at, left);
    if (got <= 0) break;
    at += got;
    left -= static_cast<std::size_t>(got);
  }
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return times;
}

std::vector<double> our_times(const Platform& platform, const std::vector<TimedFlow>& flows) {
  NetworkSpec spec;
  spec.latency = seconds_to_duration(kLatency_s);
  spec.bandwidth = platform.bandwidth;
  spec.packet_bytes = 0;
  spec.host_of = platform.host_of;
  spec.rack_of = platform.rack_of;
  spec.uplink = platform.uplink;
  for (std::size_t h = 0; h < platform.nic.size(); ++h)
    spec.links.push_back({.a = static_cast<int>(h), .bandwidth = platform.nic[h]});
  for (const ThinLink& link : platform.thin)
    spec.links.push_back({.a = link.a, .b = link.b, .bandwidth = link.bandwidth});
  return play(flows, [&](int ranks, Timeline& timeline) { return make_network(spec, ranks, timeline, 1, 0); });
}

void expect_agreement(const Platform& platform, const std::vector<TimedFlow>& flows) {
  const std::vector<double> wanted = simgrid_in_a_child(platform, flows);
  const std::vector<double> ours = our_times(platform, flows);
  ASSERT_EQ(wanted.size(), ours.size());
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double took = wanted[i] - flows[i].at_s;
    ASSERT_GT(took, 0);
    worst = std::max(worst, std::abs(ours[i] - wanted[i]) / took);
  }
  EXPECT_LT(worst, 0.01);
  testing::Test::RecordProperty("worst", std::to_string(worst));
}

TEST(SimGrid, AgreesOnARing) {
  std::vector<TimedFlow> flows;
  for (int r = 0; r < 16; ++r) {
    flows.push_back({r, (r + 1) % 16, 4'000'000});
    flows.push_back({r, (r + 15) % 16, 4'000'000});
  }
  expect_agreement({.hosts = 16}, flows);
}

TEST(SimGrid, AgreesOnAnIncast) {
  std::vector<TimedFlow> flows;
  for (int r = 1; r < 24; ++r) flows.push_back({r, 0, 1'000'000 * r, 0.002 * (r % 5)});
  expect_agreement({.hosts = 24}, flows);
}

TEST(SimGrid, AgreesOnAllToAllOverUnequalNics) {
  Platform platform{.hosts = 8};
  for (int h = 0; h < 8; ++h) platform.nic.push_back(25e6 * (1 + h % 4));
  std::vector<TimedFlow> flows;
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) {
      if (a != b) flows.push_back({a, b, 2'000'000 + 100'000 * a});
    }
  }
  expect_agreement(platform, flows);
}

TEST(SimGrid, AgreesOnTwoGroupsWithAThinLinkBetween) {
  Platform platform{.hosts = 4, .thin = {{0, 1, 20e6}}, .host_of = {0, 0, 0, 1, 1, 1, 2, 3}};
  std::vector<TimedFlow> flows;
  for (int i = 0; i < 3; ++i) {
    flows.push_back({i, 3 + i, 3'000'000 + 500'000 * i, 0.01 * i});
    flows.push_back({3 + i, i, 2'000'000});
    flows.push_back({i, 6, 4'000'000});  // shares the NIC, not the thin link
    flows.push_back({7, 3 + i, 4'000'000, 0.05});
  }
  expect_agreement(platform, flows);
}

/// 4 to 12 hosts of 1 to 3 ranks behind NICs of 20 to 120 MB/s; a quarter of the pairs behind a link of 5 to 50 MB/s.
Platform random_platform(Random& random) {
  Platform platform{.hosts = 4 + static_cast<int>(random.below(9))};
  for (int h = 0; h < platform.hosts; ++h) {
    platform.nic.push_back(20e6 + 100e6 * random.uniform());
    for (std::uint64_t ranks = 1 + random.below(3); ranks > 0; --ranks) platform.host_of.push_back(h);
    for (int other = 0; other < h; ++other) {
      if (random.chance(0.25)) platform.thin.push_back({other, h, 5e6 + 45e6 * random.uniform()});
    }
  }
  return platform;
}

/// Between a third of the pairs of ranks on different hosts, within the first second. One message a pair: SimGrid knows
/// no order within a pair.
std::vector<TimedFlow> random_flows(const Platform& platform, Random& random) {
  std::vector<TimedFlow> flows;
  const int ranks = static_cast<int>(platform.host_of.size());
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (platform.host(a) == platform.host(b) || !random.chance(1.0 / 3)) continue;
      flows.push_back({a, b, 100'000 + static_cast<std::int64_t>(random.below(5'000'000)), random.uniform()});
    }
  }
  return flows;
}

TEST(SimGrid, AgreesOnFiftyRandomPlatforms) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random({.seed = seed});
    const Platform platform = random_platform(random);
    const std::vector<TimedFlow> flows = random_flows(platform, random);
    ASSERT_FALSE(flows.empty());
    expect_agreement(platform, flows);
  }
}

// Uplinks of less than, about and more than what their racks' NICs have together.
TEST(SimGrid, AgreesOnTwentyRandomPlatformsOfRacks) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random({.seed = seed});
    Platform platform = random_platform(random);
    const int racks = 2 + static_cast<int>(random.below(3));
    for (int h = 0; h < platform.hosts; ++h) platform.rack_of.push_back(h % racks);
    platform.uplink = 10e6 + 200e6 * random.uniform();
    expect_agreement(platform, random_flows(platform, random));
  }
}

}  // namespace
}  // namespace hopbench
