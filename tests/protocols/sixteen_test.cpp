// suites/sixteen_workers.toml against theory: 16 workers, one of them 4x slower. The rates follow from each protocol's
// rule (docs/sixteen_workers.md derives them); a protocol that waits when it need not, or does not when it must, fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "protocols/node/extra.h"
#include "protocols/node/protocol.h"
#include "suites/language/suite.h"
#include "suites/trial/execute.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

constexpr double kRate = 25;            // of a worker that is not slowed: 40 ms a gradient
constexpr double kSlowest = kRate / 4;  // all wait for the slow one
constexpr double kWithin = 0.005;       // the edges of the window
constexpr double kInRounds = 0.01;  // the same, where workers wait once in 4 iterations, and not all for the slow one
constexpr const char* kSlow = "one 4x slower";

/// The mean of the workers' rates where an iteration of the other 15 takes `fast` of theirs, and the slow one its
/// own 4.
constexpr double others_at(double fast) { return kRate * (15 / fast + 1.0 / 4) / 16; }
constexpr double kOwn = others_at(1);  // nobody waits for the slow one; also all speeds together, shared out evenly

// 240 iterations, half of them rounds of 4, then each worker at its own speed. In the window, from the slow one's 48th
// to the end of the first: 72 rounds of 4 and 120 iterations of 1, in which the slow one does 30.
constexpr double kHalf = kRate * (16 * 72 + 15 * 120 + 30) / 16 / (72 * 4 + 120);

// 15 workers that are always ready together, in groups of P: who is left over waits for the next time. To every fourth
// the slow one comes.
constexpr double kPairs = kRate * ((14 + 14 + 14 + 15) / 4.0 + 1.0 / 4) / 16;    // 16 are even
constexpr double kTriples = kRate * ((15 + 15 + 15 + 14) / 4.0 + 1.0 / 4) / 16;  // 16 are 5 groups and one

// Updates of 8 workers, who wait for theirs. Of the 15 that are ready together 8 go on and 7 wait, with whom the next 8
// make an update. When the slow one comes, 16 are there: two updates, and it begins anew.
constexpr double kHalves = kRate * (8 + 8 + 8 + 16) / 4.0 / 16;

// The target is there after two gradients of the others, who make three until the slow one has made its own.
constexpr double kThirds = kRate * (15 * 3 + 1) / 4 / 16;

// 512 samples by speed, 33.6 and 8.4, in whole ones: 34 for some of the others.
constexpr double kWhole = kRate * 32 / 34;

struct Expected {
  double theory = 0;
  double here = theory;  // where there is a reason to miss it; 0: somewhere between the bounds
  double within = kWithin;
};

struct Variant {
  const char* label;
  Expected expected;
};

constexpr Variant kVariants[] = {
    {"allreduce", {kSlowest}},
    {"allreduce halving", {kSlowest}},
    {"allreduce hierarchical", {kSlowest}},
    {"dpsgd", {kSlowest}},
    {"dpsgd serial", {kSlowest}},
    {"hop", {kSlowest}},
    {"hop notify_ack", {kSlowest}},
    {"hop backup", {kSlowest}},
    {"hop backup queues", {kOwn}},
    {"hop staleness", {kSlowest}},
    {"hop backup+skip 2", {others_at(2)}},
    {"hop backup+skip 10", {kOwn}},
    {"sgp", {kSlowest}},
    {"sgp overlap", {kSlowest}},
    {"sgp topology", {kSlowest}},
    {"gossipgrad", {kSlowest}},
    {"choco", {kSlowest}},
    {"ds_sync", {kSlowest}},
    {"ds_sync hosts", {kSlowest}},
    {"ds_sync servers", {kSlowest}},
    {"local_sgd", {kSlowest}},
    {"local_sgd 16", {kSlowest}},
    {"selsync", {kSlowest}},
    {"selsync flags only", {kSlowest}},
    {"ps_bsp", {kSlowest}},
    {"ps_bsp one server", {kSlowest}},
    {"ps_ssp", {kSlowest}},
    {"ps_ssp 15", {kSlowest}},
    {"flexrr no helpers", {kSlowest}},
    {"dssp capped", {kSlowest, kSlowest, 0.07}},  // bursts of 12 in 176: the edges cut one
    {"r2sp", {kSlowest}},
    {"prague static", {kSlowest}},
    {"sync_switch never", {kSlowest}},
    {"lb_bsp", {kOwn, kWhole}},
    {"lb_bsp last", {kOwn, kWhole}},
    {"lb_bsp narx", {kOwn, kWhole}},
    {"lb_bsp servers", {kOwn, kWhole}},
    {"lb_bsp search", {kOwn, kRate * 32 / 35.5, 0.02}},  // still 35 for some, or 9 for the slow one
    {"dynamic_batching", {kOwn, kWhole}},
    {"flexrr", {kOwn}},  // all speeds together, shared out evenly
    {"lasgd", {kOwn}},
    {"adpsgd", {kOwn}},
    {"adpsgd serial", {kOwn}},
    {"ps_asp", {kOwn}},
    {"dssp", {kOwn}},
    {"elastic_bsp", {kOwn}},
    {"sync_switch", {kOwn}},
    {"sync_switch half", {kHalf}},
    {"sync_switch greedy", {kOwn}},
    {"ps_backup", {kOwn}},
    {"ps_backup 2", {kOwn}},
    {"dbw", {kOwn}},
    {"prague", {kOwn}},
    {"prague one level", {kOwn, 0}},
    {"prague no filter", {0}},
    {"partial_reduce", {kOwn, kPairs}},
    {"partial_reduce 3", {kOwn, kTriples}},
    {"partial_reduce dynamic", {kOwn, kPairs}},
    {"one_peer", {kSlowest}},
    {"matcha", {kSlowest}},
    {"exact_diffusion", {kSlowest}},
    {"d2", {kSlowest}},
    {"gradient_tracking", {kSlowest}},
    {"qg_dsgdm", {kSlowest}},
    {"gossip_pga", {kSlowest}},
    {"consensus_control", {kSlowest}},
    {"moshpit", {kSlowest}},
    {"daso", {kSlowest, kSlowest, kInRounds}},
    {"powersgd", {kSlowest}},
    {"error_feedback", {kSlowest}},
    {"diloco", {kSlowest}},
    {"streaming_diloco", {kSlowest}},
    {"noloco", {kSlowest, kSlowest, kInRounds}},
    {"slowmo", {kSlowest}},
    {"overlap_local_sgd", {kSlowest}},
    {"co2", {kSlowest}},
    {"async_diloco", {kOwn}},
    {"decoupled_diloco", {kOwn}},
    {"halos", {kOwn}},
    {"easgd", {kOwn}},
    {"a_edit", {kOwn}},
    {"delay_adaptive", {kOwn}},
    {"dc_asgd", {kOwn}},
    {"ringmaster", {kOwn}},
    {"rennala", {kOwn}},
    {"gba", {kOwn}},
    {"k_batch_async", {kOwn}},
    {"r_fast", {kOwn}},
    {"netmax", {kOwn}},
    {"dropcompute", {kRate}},
    {"abs_sgd", {kRate}},
    {"k_async", {kHalves}},
    {"dsgd_aau", {0}},
    {"dybw", {0}},
    {"specsync", {kOwn}},
    {"hivemind", {kThirds}},
};

std::vector<TrialSpec> trials(const std::string& scenario, int repeats = 1) {
  std::vector<TrialSpec> chosen;
  SuiteOptions options;
  options.repeats = repeats;
  for (const TrialSpec& spec : load_suite(source_dir() + "/suites/sixteen_workers.toml", options).trials) {
    if (spec.measure == "schedule" && spec.scenario_name == scenario) chosen.push_back(spec);
  }
  return chosen;
}

struct Row {
  double theory = 0, schedule = 0;
};

/// The table of docs/sixteen_workers.md: | variant | theory | schedule | ...
std::map<std::string, Row> documented() {
  std::map<std::string, Row> rows;
  std::ifstream file(source_dir() + "/docs/sixteen_workers.md");
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(cell);
    if (cells.size() < 4 || !cells[0].empty()) continue;
    const std::string name = cells[1].substr(1, cells[1].size() - 2);
    rows[name] = {std::atof(cells[2].c_str()), std::atof(cells[3].c_str())};
  }
  return rows;
}

TEST(SixteenWorkers, AreEveryProtocol) {
  std::set<std::string> run;
  for (const TrialSpec& spec : trials(kSlow)) run.insert(spec.protocol);
  const std::vector<const Protocol*> from_elsewhere = extra_protocols();
  for (const Protocol* protocol : protocols()) {
    if (std::count(from_elsewhere.begin(), from_elsewhere.end(), protocol) > 0) continue;
    EXPECT_EQ(run.count(std::string(protocol->name)), 1u) << protocol->name << " is not in suites/sixteen_workers.toml";
  }
}

TEST(SixteenWorkers, RunAtTheRatesOfTheory) {
  std::map<std::string, Expected> left;
  for (const Variant& variant : kVariants) left[variant.label] = variant.expected;
  for (const TrialSpec& spec : trials(kSlow)) {
    const auto found = left.find(spec.label);
    ASSERT_NE(found, left.end()) << spec.label << " has no theory here";
    const Expected of = found->second;
    const double rate = simulate_trial(spec).iters_per_s;
    if (of.here > 0) {
      EXPECT_NEAR(rate, of.here, of.within * of.here) << spec.label;
    } else {
      EXPECT_GT(rate, kSlowest) << spec.label;
      EXPECT_LT(rate, kOwn) << spec.label;
    }
    const Row row = documented()[spec.label];
    EXPECT_NEAR(row.theory, of.theory, 0.0051) << spec.label << " in docs/sixteen_workers.md";
    if (spec.protocol != "prague") {  // medians, below
      EXPECT_NEAR(row.schedule, rate, 0.0051) << spec.label << " in the page";
    }
    left.erase(found);
  }
  EXPECT_TRUE(left.empty()) << left.begin()->first << " is not in the suite";
}

TEST(SixteenWorkers, AreExplainedByTheScriptWithoutARun) {
  FILE* const pipe = popen(("HOPBENCH=/no/program '" + source_dir() + "/ci/studies/sixteen' --help 2>&1").c_str(), "r");
  std::string text;
  char piece[4096];
  for (std::size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, got);
  EXPECT_EQ(pclose(pipe), 0) << text;
  EXPECT_NE(text.find("ci/studies/sixteen [--json] [RUN OPTION...]"), std::string::npos) << text;
}

TEST(SixteenWorkers, MediansOfPragueAreThoseOfThePage) {
  std::map<std::string, std::vector<double>> rates;
  for (const TrialSpec& spec : trials(kSlow, 6)) {
    if (spec.protocol == "prague") rates[spec.label].push_back(simulate_trial(spec).iters_per_s);
  }
  ASSERT_FALSE(rates.empty());
  for (auto& [label, six] : rates) {
    ASSERT_EQ(six.size(), 6u) << label;
    std::sort(six.begin(), six.end());
    EXPECT_NEAR(documented()[label].schedule, (six[2] + six[3]) / 2, 0.0051) << label;
  }
}

}  // namespace
}  // namespace hopbench
