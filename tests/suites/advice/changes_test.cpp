// The class of what a protocol changes (docs/advice.md), against what runs of it show.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "protocols/node/protocol.h"
#include "results/arithmetic/steady.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

constexpr int kWorkers = 8;

std::string head(int workers) {
  return "schema = 1\n[run]\nworld_size = " + std::to_string(workers) +
         "\niterations = 60\nrepeats = 1\nwarmup_time = \"0s\"\norder = \"sequential\"\n[model]\nname = "
         "\"timing_only\"\nsize = 100_000\nbatch = 16\n[compute]\nnoise = 0\npace = \"10ms\"\n[network]\npreset = "
         "\"10G\"\nhosts = 2\n[topology]\nname = \"ring_based\"\n[transport]\nname = \"sim\"\n[[scenario]]\nname = "
         "\"slow\"\ncompute = [{ kind = \"constant\", factor = 2.5, ranks = [3] }]\n";
}

std::string block(const std::string& name, const std::string& knobs = "") {
  std::string label = name + ":" + knobs;
  std::replace(label.begin(), label.end(), '\n', ' ');
  return "[[protocol]]\nname = \"" + name + "\"\nlabel = \"" + label + "\"\n" + knobs + "\n";
}

/// Returns the candidates of `advise`, every protocol as it is by default, and settings that others turn into.
std::vector<TrialSpec> all_variants() {
  std::stringstream text;
  text << head(kWorkers) << std::ifstream(source_dir() + "/suites/advice/candidates.toml").rdbuf();
  for (const Protocol* protocol : protocols()) text << block(std::string(protocol->name));
  text << block("ps_backup", "backup = 0") << block("k_async", "k = 8") << block("sync_switch", "fraction = 1.0")
       << block("sync_switch", "online = 'greedy'\nfraction = 1.0") << block("lb_bsp", "aggregation = 'servers'")
       << block("dssp", "mode = 'capped'") << block("allreduce", "overlap = false");
  return parse_suite(text.str(), "all.toml", {}).trials;
}

int class_of(const TrialSpec& spec) {
  const Topology graph = graph_of(spec);
  return class_of_changes(find_protocol(spec.protocol),
                          {spec.knobs, graph, spec.workers(), hosts_of_workers(spec), 0, spec.workload.batch});
}

int class_of(const std::string& label) {
  for (const TrialSpec& spec : all_variants()) {
    if (spec.label == label) return class_of(spec);
  }
  ADD_FAILURE() << label;
  return 0;
}

TEST(Changes, NamesTheClassesOfWellKnownMethods) {
  for (const char* same : {"allreduce", "allreduce halving", "lb_bsp", "dynamic_batching:", "ps_bsp",
                           "ps_backup:backup = 0", "k_async:k = 8", "sync_switch:fraction = 1.0"})
    EXPECT_EQ(class_of(same), 1) << same;
  for (const char* later : {"local_sgd H=4", "diloco:", "dpsgd", "hop tokens", "ps_ssp s=3",
                            "powersgd:", "overlap_local_sgd H=8", "dssp:mode = 'capped'", "flexrr"})
    EXPECT_EQ(class_of(later), 2) << later;
  for (const char* rest : {"dropcompute", "ps_backup", "ps_asp", "hop backup", "adpsgd", "dssp", "abs_sgd:"})
    EXPECT_EQ(class_of(rest), 3) << rest;
}

// Trials of classes 1 and 2 lose nothing, are heard, keep their bound and compute all samples; 3 fails in one of
// these.
TEST(Changes, AgreeWithLossesBoundsAndBatches) {
  for (const TrialSpec& spec : all_variants()) {
    SCOPED_TRACE(spec.label);
    const TrialRecord record = simulate_trial(spec);
    std::int64_t iterations = 0, lost = 0, samples = 0, gap = 0;
    bool even = true;
    for (int rank = 0; rank < kWorkers; ++rank) {
      const RankRecord& one = record.ranks[std::size_t(rank)];
      iterations += one.iters, lost += one.gradients_lost, samples += one.samples, gap = std::max(gap, one.gap_max);
      even = even && one.samples == 16 * one.iters;
    }
    // A slice that a worker computes for another counts as a gradient, too.
    const bool moves = find_protocol(spec.protocol).moves_data != nullptr;
    const bool heard = largest_unheard_share(record, kWorkers) <= 0.05, full = moves || samples == 16 * iterations;
    const bool sound = lost == 0 && heard && full && record.gap_bound >= 0 && gap <= record.gap_bound;
    const int kind = class_of(spec);
    if (kind < 3) {
      EXPECT_TRUE(sound || kind == 1) << "lost " << lost << ", unheard " << largest_unheard_share(record, kWorkers)
                                      << ", gap " << gap << " of " << record.gap_bound << ", samples " << samples
                                      << " in " << iterations;
      EXPECT_EQ(lost, 0);
      EXPECT_TRUE(heard && full);
      EXPECT_TRUE(even || moves);
    } else {
      EXPECT_FALSE(sound) << "what makes it class 3?";
    }
  }
}

TEST(Changes, AreKnownWithoutATopologyWhereNoneIsUsed) {
  for (const Protocol* protocol : protocols()) {
    SCOPED_TRACE(protocol->name);
    try {
      TrialSpec spec = parse_suite(head(7) + block(std::string(protocol->name)), "odd.toml", {}).trials.at(0);
      EXPECT_FALSE(uses_topology(*protocol, spec.knobs));
      spec.stop.amount = 3;
      EXPECT_GT(simulate_trial(spec).time_s, 0);
    } catch (const SuiteError& error) {
      const bool of_topology = std::string(error.what()).find("ring_based") != std::string::npos;
      EXPECT_EQ(of_topology, uses_topology(*protocol, KnobValues(protocol->knobs))) << error.what();
    }
  }
}

}  // namespace
}  // namespace hopbench
