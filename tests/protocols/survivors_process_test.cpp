// Protocols that continue, in real processes over each transport: one worker is killed, its survivors finish.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>

#include "backends/base/error.h"
#include "backends/base/record/rank_record.h"
#include "backends/runtime/process/process.h"
#include "backends/transport/wire.h"
#include "models/workload.h"
#include "protocols/node/node.h"
#include "tests/backends/runtime/launched.h"
#include "tests/backends/transport/transport_names.h"

namespace hopbench {
namespace {

using std::chrono::milliseconds;

constexpr int kWorkers = 4, kVictim = 2;
constexpr Iter kIterations = 30;

/// A job: "<transport> <protocol> <microseconds until the victim dies>".
struct Job {
  explicit Job(const std::string& text) { std::istringstream(text) >> transport >> protocol >> dies_after; }
  std::string transport, protocol;
  int dies_after = 0;

  const Protocol& what() const { return find_protocol(protocol); }
  KnobValues knobs() const {
    KnobValues values(what().knobs);
    const auto& all = what().knobs;
    const auto has = [&](const char* name) {
      return std::any_of(all.begin(), all.end(), [&](const Knob& knob) { return std::string(knob.name) == name; });
    };
    if (has("servers")) values.set(all, "servers", 2);
    return values;
  }
};

Topology graph() { return make_topology("complete", kWorkers); }

int servers_of(const Job& job) {
  const KnobValues knobs = job.knobs();
  const Topology workers = graph();
  return job.what().extra_ranks == nullptr ? 0 : job.what().extra_ranks({knobs, workers, kWorkers});
}

std::vector<int> peers_of(const Job& job, int rank) {
  const KnobValues knobs = job.knobs();
  const Topology workers = graph();
  std::set<int> peers;
  for (const auto& [a, b] : job.what().links({knobs, workers, kWorkers})) {
    if (a == rank) peers.insert(b);
    if (b == rank) peers.insert(a);
  }
  return {peers.begin(), peers.end()};
}

/// Runs a trial's rank (suites/trial/rank.cpp), and nothing else. Says how many iterations it did.
void run_rank(ChildChannel& channel, const Job& job) {
  const int rank = channel.rank();
  const WireOptions wires{rank, channel.size(), peers_of(job, rank), "", std::chrono::seconds(20)};
  const std::unique_ptr<Wire> wire = find_transport(job.transport).connect(wires, channel);
  const WorkloadSpec spec{
      .model = "quadratic", .dataset = "", .batch = 4, .backend = "reference", .workers = kWorkers, .size = 4000};
  const std::unique_ptr<Workload> work = make_workload(spec);
  const Topology workers = graph();
  ProcessRuntime runtime({.rank = rank,
                          .size = channel.size(),
                          .peers = wires.peers,
                          .start_monotonic_ns = channel.ready(),
                          .slot = &channel.board().slot(rank)},
                         *wire);
  NodeOptions options;
  options.rank = rank;
  options.workers = kWorkers;
  options.servers = servers_of(job);
  options.graph = &workers;
  options.protocol = &job.what();
  options.knobs = job.knobs();
  options.stop.iterations = kIterations;
  options.costs.gradient = milliseconds(5);
  Node node(runtime, *work, options);
  if (rank == kVictim) {
    std::thread([after = job.dies_after] {
      std::this_thread::sleep_for(std::chrono::microseconds(after));
      raise(SIGKILL);
    }).detach();
  }
  runtime.run(
      [&] {
        job.what().body(node, options.knobs);
        node.finish();
      },
      rank < kWorkers);
  channel.finish(std::to_string(node.record().iters));
}

int one_rank() {
  const auto channel = ChildChannel::open();
  try {
    run_rank(*channel, Job(channel->job()));
    return 0;
  } catch (const std::exception& e) {
    return channel->fail({FailureKind::kError, -1, e.what()}), 1;
  }
}

using Case = std::tuple<std::string, std::string>;  // transport, protocol
class SurvivorsInProcesses : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string why = find_transport(std::get<0>(GetParam())).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(SurvivorsInProcesses, FinishWhenOneIsKilled) {
  const auto& [transport, protocol] = GetParam();
  for (const int microseconds : {0, 41'300, 77'000}) {
    const std::string job = transport + " " + protocol + " " + std::to_string(microseconds);
    LaunchOptions options = launch_of(kWorkers + servers_of(Job(job)), job);
    options.survivors_go_on = true;
    const LaunchResult result = launch(options);
    EXPECT_TRUE(result.ok) << microseconds << ": " << result.failure.text;
    for (int w = 0; w < kWorkers; ++w) {
      const RankOutcome& rank = result.ranks[std::size_t(w)];
      EXPECT_EQ(rank.result, w == kVictim ? "" : std::to_string(kIterations)) << w << ": " << rank.error;
    }
  }
  EXPECT_EQ(processes_with(test_mark()).size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Over, SurvivorsInProcesses,
                         testing::Combine(testing::ValuesIn(single_transports()),
                                          testing::Values("adpsgd", "ps_asp", "ps_backup", "partial_reduce")),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

}  // namespace

int test_rank() { return one_rank(); }

}  // namespace hopbench

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--rank") return hopbench::test_rank();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
