// A small language for tests of virtual time: ranks that sleep and receive, with both kinds of strands.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backends/base/record/event.h"
#include "backends/runtime/virtual/simulated.h"

namespace hopbench {

using std::chrono::microseconds;
using std::chrono::milliseconds;
constexpr Kind kPing{1}, kPong{2};

inline Time at_ms(std::int64_t ms) { return Time{} + milliseconds(ms); }
inline bool never() { return false; }

inline NetworkSpec lan(Duration latency = milliseconds(1), double bandwidth = 1e6) {
  NetworkSpec spec;
  spec.latency = latency;
  spec.bandwidth = bandwidth;
  spec.packet_bytes = 0;
  return spec;
}

/// Each test runs with fibers and with threads.
class SimulationTest : public testing::TestWithParam<StrandKind> {
 protected:
  void SetUp() override {
    if (!strand_kind_available(GetParam()))
      GTEST_SKIP() << "no fibers in this build: Boost.Context is missing or TSan is on";
  }
  void make(int ranks, Observer* observer = nullptr, int threads = 1) {
    sim_ = std::make_unique<Simulation>(
        SimulationOptions{.ranks = ranks, .strands = GetParam(), .threads = threads, .observer = observer});
  }
  void make_lan(int ranks, Duration latency = milliseconds(1), double bandwidth = 1e6) {
    make(ranks);
    sim_->use(make_network(lan(latency, bandwidth), ranks, *sim_, 1, 0));
  }
  Runtime& rank(int r) { return sim_->rank(r); }
  void sleep(int r, Duration d) { rank(r).await(never, rank(r).now() + d, "sleep"); }
  Message recv(int r, const Match& match) {
    rank(r).await([&] { return rank(r).mailbox.has(match); }, kNever, "a message");
    return *rank(r).mailbox.take(match);
  }
  std::string failure() {
    try {
      sim_->run();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  std::unique_ptr<Simulation> sim_;
};

inline std::string kind_name(const testing::TestParamInfo<StrandKind>& info) {
  return info.param == StrandKind::kFibers ? "Fibers" : "Threads";
}

}  // namespace hopbench
