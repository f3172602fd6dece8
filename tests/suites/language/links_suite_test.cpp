// Links in a suite: emulated for real processes, changed by scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/record/kinds.h"
#include "suites/language/suite.h"
#include "suites/trial/completion.h"
#include "suites/trial/plan.h"

namespace hopbench {
namespace {

constexpr const char* kTop = R"(schema = 1
[run]
world_size = 4
repeats = 1
[model]
name = "quadratic"
[compute]
pace = "10ms"
[[protocol]]
name = "allreduce"
)";

Suite read(const std::string& text) { return parse_suite(kTop + text, "links.toml", {}); }

/// The mistakes of a suite, each with its line counted from the text's own first.
std::string mistakes_of(const std::string& text) {
  try {
    read(text);
  } catch (const SuiteError& error) {
    std::string all;
    for (const Mistake& m : error.mistakes()) all += std::to_string(m.line - 10) + ": " + m.message + "\n";
    return all;
  }
  return "";
}

TEST(LinksSuite, EmulatesLinksOfRealProcessesOnly) {
  const Suite suite = read(
      "[network]\nemulate = true\n[[measure]]\n[[measure]]\nname = \"v\"\ntransport.name = \"sim\"\n"
      "[[measure]]\nname = \"own\"\nemulate = false\n");
  ASSERT_EQ(suite.trials.size(), 3u);
  for (const TrialSpec& trial : suite.trials) EXPECT_EQ(trial.emulate, trial.measure == "rate") << trial.measure;
}

TEST(LinksSuite, AddsAScenariosLinksToTheNetworks) {
  const Suite suite = read(R"([network]
emulate = true
hosts = 2
links = [{ a = 0, bandwidth = "1MB/s", one_way = true }]
[[scenario]]
name = "thin"
links = [{ a = 1, bandwidth = "2MB/s", from = "1s", until = "2s" }, { a = 0, b = 1, latency = "5ms" }]
)");
  const TrialSpec& trial = suite.trials.at(0);
  const NetworkSpec network = network_of(trial, make_plan(trial));
  EXPECT_EQ(network.host_of, (std::vector<int>{0, 0, 1, 1}));
  ASSERT_EQ(network.links.size(), 3u);
  EXPECT_TRUE(network.links[0].one_way);
  EXPECT_EQ(network.links[0].until, kNever);
  EXPECT_EQ(network.links[1].from, Time(std::chrono::seconds(1)));
  EXPECT_EQ(network.links[1].until, Time(std::chrono::seconds(2)));
  EXPECT_EQ(network.links[1].bandwidth, 2e6);
  EXPECT_EQ(network.links[2].b, 1);
  EXPECT_EQ(network.links[2].latency, Duration(std::chrono::milliseconds(5)));
  EXPECT_FALSE(network.links[2].one_way);
}

TEST(LinksSuite, IsTheSameOnceMoreWhenItIsResolved) {
  const std::string text =
      "[network]\nemulate = true\n[[scenario]]\nname = \"thin\"\n"
      "links = [{ a = 1, latency = \"2ms\", until = \"2s\" }]\n";
  const Suite suite = read(text), again = parse_suite(suite.resolved, "again.toml", {});
  ASSERT_EQ(again.trials.size(), 1u);
  EXPECT_EQ(to_json(again.trials[0]), to_json(suite.trials[0]));
}

TEST(LinksSuite, LetsAProfileReplaceLinks) {
  const std::string text =
      "[network]\nemulate = true\n[[scenario]]\nname = \"thin\"\n"
      "links = [{ a = 1, latency = \"2ms\" }]\n[profile.wide]\nscenario.thin.links = []\n";
  SuiteOptions wide;
  wide.profile = "wide";
  EXPECT_EQ(read(text).trials[0].scenario.links.size(), 1u);
  EXPECT_TRUE(parse_suite(kTop + text, "links.toml", wide).trials[0].scenario.links.empty());
}

TEST(LinksSuite, TellsThatNobodyObeysTheNetwork) {
  const auto told = [](const std::string& text) {
    const std::vector<std::string> notes = read(text).notes;
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& note) { return note.starts_with("links as they are"); });
  };
  EXPECT_TRUE(told("[network]\nbandwidth = 1e6\n"));
  EXPECT_FALSE(told("[network]\nbandwidth = 1e6\nemulate = true\n"));
  EXPECT_FALSE(told("[network]\nhosts = 2\n"));
  EXPECT_FALSE(told("[network]\nbandwidth = 1e6\n[[measure]]\n[[measure]]\nname = \"v\"\ntransport.name = \"sim\"\n"));
  EXPECT_FALSE(told("[network]\nbandwidth = 1e6\n[matrix]\n\"transport.name\" = [\"gloo\", \"sim\"]\n"));
}

TEST(LinksSuite, CountsAScenarioWithLinksAsNoControl) {
  const std::vector<std::string> notes =
      read("[network]\nemulate = true\n[[scenario]]\nname = \"x\"\nlinks = [{ a = 1, latency = \"2ms\" }]\n").notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.starts_with("no homogeneous control"); }));
}

// Iterations of 10 ms.
TrialRecord record_with(double link_late_median_s) {
  const TrialSpec trial = read("[network]\nemulate = true\n").trials.at(0);
  const Plan plan = make_plan(trial);
  TrialRecord record;
  for (int r = 0; r < plan.ranks(); ++r) {
    RankRecord rank;
    rank.rank = r;
    for (int k = 0; k < 600; ++k)
      rank.marks.push_back({.end = Time(std::chrono::milliseconds(10 * (k + 1))), .iter = k, .samples = 32});
    rank.finished = rank.marks.back().end;
    rank.link_late_median_s = r == 2 ? link_late_median_s : 0;
    record.ranks.push_back(std::move(rank));
  }
  complete_record(record, trial, plan);
  return record;
}

TEST(LinksSuite, MarksTrialsWhoseMessagesWereLate) {
  const auto marked = [](const TrialRecord& record) { return has(record.warnings, WarningKind::kLateLinks); };
  EXPECT_TRUE(marked(record_with(0.00051)));
  EXPECT_FALSE(marked(record_with(0.00049)));
}

TEST(LinksSuite, TellsOfLinksOfHostsThatAreNotThere) {
  const std::string emulated = "[network]\nemulate = true\nhosts = 2\n";
  const auto notes = [&](const std::string& links) { return read(emulated + links).notes; };
  const auto has = [](const std::vector<std::string>& all, const std::string& note) {
    return std::find(all.begin(), all.end(), note) != all.end();
  };
  const std::string note = "a link names host 2, which no trial has: the hosts are 0 to 1";
  EXPECT_TRUE(has(notes("links = [{ a = 2, bandwidth = 1e6 }]\n"), note));
  EXPECT_TRUE(has(notes("links = [{ a = 0, b = 2, bandwidth = 1e6 }]\n"), note));
  EXPECT_TRUE(has(notes("[[scenario]]\nname = \"x\"\nlinks = [{ a = 2, bandwidth = 1e6 }]\n"), note));
  EXPECT_FALSE(has(notes("links = [{ a = 1, bandwidth = 1e6 }]\n"), note));
  // A parameter server has a host of its own.
  EXPECT_FALSE(
      has(notes("links = [{ a = 2, bandwidth = 1e6 }]\n[[protocol]]\nname = \"ps_bsp\"\nservers = 1\n"), note));
}

TEST(LinksSuite, PutsHostsIntoRacks) {
  const auto racks = [](const std::string& text) {
    return read("[transport]\nname = \"sim\"\n[network]\nuplink = \"1GB/s\"\n" + text).trials.at(0).network.rack_of;
  };
  EXPECT_EQ(racks("racks = 2\n"), (std::vector<int>{0, 0, 1, 1})) << "every worker on a host of its own";
  EXPECT_EQ(racks("racks = 2\nhosts = 2\n"), (std::vector<int>{0, 1}));
  EXPECT_EQ(racks("racks = [1, 0]\nhosts = [0, 1, 1, 1]\n"), (std::vector<int>{1, 0}));
}

TEST(LinksSuite, RefusesRacksThatAreNone) {
  EXPECT_EQ(mistakes_of("[network]\nracks = 2\n"), "2: 'racks' is only allowed with 'uplink': give its bandwidth\n");
  EXPECT_EQ(mistakes_of("[network]\nuplink = 1e9\n"),
            "2: 'uplink' is only allowed with 'racks': say which host is in which rack\n");
  const std::string uplink = "[network]\nuplink = 1e9\n";
  EXPECT_EQ(mistakes_of(uplink + "racks = 5\n"), "3: 5 racks are more than there are hosts (4)\n");
  EXPECT_EQ(mistakes_of(uplink + "hosts = 2\nracks = [0, 1, 1]\n"), "4: 'racks' lists 3 hosts, but workers are on 2\n");
  const std::string numbers = "4: 'racks' must name racks 0, 1 and so on, at least two and none left out\n";
  EXPECT_EQ(mistakes_of(uplink + "hosts = 2\nracks = [1, 1]\n"), numbers);
  EXPECT_EQ(mistakes_of(uplink + "hosts = 2\nracks = [0, 2]\n"), numbers);
}

// Wherever the hosts of servers are numbered: without a worker they come earlier.
TEST(LinksSuite, LeavesServersInTheirRackWithoutAWorker) {
  const Suite suite = read(
      "[[protocol]]\nname = \"ps_bsp\"\nservers = 1\n[[protocol]]\nname = \"ps_bsp\"\nservers = 1\nlabel = \"some\"\n"
      "without = [3]\n[transport]\nname = \"sim\"\n[network]\nuplink = 1e9\nracks = [0, 0, 1, 1]\n");
  for (const TrialSpec& trial : suite.trials) {
    if (trial.protocol != "ps_bsp") continue;
    const Plan plan = make_plan(trial);
    const NetworkSpec network = network_of(trial, plan);
    EXPECT_EQ(network.rack_of.at(std::size_t(plan.host_of.back())), 0) << trial.label;
  }
}

TEST(LinksSuite, PutsLoneServersOnHostsOfTheirOwnOrBesideWorker0) {
  const auto host_of = [](const std::string& knobs, const std::string& network) {
    const Suite suite =
        read("[[protocol]]\nname = \"ps_bsp\"\n" + knobs + "\n[transport]\nname = \"sim\"\n[network]\n" + network);
    for (const TrialSpec& trial : suite.trials) {
      if (trial.protocol == "ps_bsp") return network_of(trial, make_plan(trial)).host_of;
    }
    return std::vector<int>{};
  };
  const std::string beside = "servers_apart = false\n", hosts = "hosts = [1, 0, 0, 1]\n";
  EXPECT_EQ(host_of("servers = 2", ""), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(host_of("servers = 2", beside), (std::vector<int>{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(host_of("servers = 2", hosts + beside), (std::vector<int>{1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(host_of("", hosts + beside), (std::vector<int>{1, 0, 0, 1, 1, 0, 0, 1})) << "each has a worker";
  const auto hash = [](const std::string& text) { return read(text).trials.at(0).hash(); };
  const std::string sim = "[transport]\nname = \"sim\"\n[network]\n";
  EXPECT_EQ(hash(sim), hash(sim + "servers_apart = true\n"));
  EXPECT_NE(hash(sim), hash(sim + beside));
  EXPECT_EQ(hash(sim + "instant = true\n"), hash(sim + "instant = true\n" + beside));
}

TEST(LinksSuite, KeysThatATrialDoesNotObeyLeaveItsHash) {
  const std::string keys =
      "goodput = 0.9\nqueue = \"fifo\"\nburst = 10\nrendezvous_bytes = 9\nuplink = 1e9\nracks = 2\n";
  const auto hash = [](const std::string& text) { return read("[network]\n" + text).trials.at(0).hash(); };
  EXPECT_EQ(hash(keys), hash("")) << "real processes";
  const auto simulated = [](const std::string& text) {
    return read("[transport]\nname = \"sim\"\n[network]\n" + text).trials.at(0).hash();
  };
  EXPECT_EQ(simulated(keys + "instant = true\n"), simulated("instant = true\n"));
  EXPECT_NE(simulated(keys), simulated(""));
}

TEST(LinksSuite, TakesABurstWhereOnlySomePointsHaveQueues) {
  const Suite suite =
      read("[transport]\nname = \"sim\"\n[network]\nburst = 1000.0\n[matrix]\nnetwork.queue = [\"fair\", \"fifo\"]\n");
  ASSERT_EQ(suite.trials.size(), 2u);
  for (const TrialSpec& trial : suite.trials)
    EXPECT_EQ(trial.network.burst, trial.network.queue == NetworkSpec::Queue::kFifo ? 1000 : 0);
}

TEST(LinksSuite, RefusesQueuesWhereTheyMeanNothing) {
  const std::string sim = "[transport]\nname = \"sim\"\n[network]\n";
  EXPECT_EQ(mistakes_of(sim + "burst = 1000.0\n"), "4: 'burst' is only allowed with queue = \"fifo\"\n");
  EXPECT_EQ(mistakes_of(sim + "queue = \"fifo\"\njitter = 0.5\n"),
            "5: 'jitter' is only allowed with queue = \"fair\": leave out one of them\n");
  EXPECT_EQ(mistakes_of("[network]\nemulate = true\nqueue = \"fifo\"\n"),
            "3: queue = \"fifo\" is only allowed in virtual time: emulated links share fairly\n");
  EXPECT_EQ(mistakes_of(sim + "queue = \"fifo\"\n[[scenario]]\nname = \"x\"\n"
                              "faults = [{ kind = \"cut\", a = 1, at = \"1s\", lasts = \"1s\" }]\n"),
            "7: scenario 'x' cuts links, but measure 'rate' has queue = \"fifo\", where links are never cut: take "
            "\"fair\" or choose its scenarios\n");
  EXPECT_EQ(mistakes_of(sim + "queue = \"fifo\"\nburst = 1000.0\ngoodput = 0.956\nrendezvous_bytes = 65536\n"), "");
}

// Each with its line, once, and what to do.
TEST(LinksSuite, IsRefusedWhereItMeansNothing) {
  const std::string emulated = "[network]\nemulate = true\n[[scenario]]\nname = \"x\"\n";
  EXPECT_EQ(
      mistakes_of("[[scenario]]\nname = \"x\"\nlinks = [{ a = 1, latency = \"2ms\" }]\n"),
      "3: scenario 'x' changes links, but measure 'rate' has the machine's own: set network.emulate = true, measure "
      "in virtual time (sim) or choose its scenarios\n");
  EXPECT_EQ(mistakes_of("[transport]\nname = \"sim\"\n[network]\ninstant = true\n[[scenario]]\nname = \"x\"\n"
                        "links = [{ a = 1, latency = \"2ms\" }]\n"),
            "7: scenario 'x' changes links, but measure 'rate' has none: leave out network.instant or choose its "
            "scenarios\n");
  EXPECT_EQ(mistakes_of("[network]\nemulate = true\ninstant = true\n"),
            "3: 'instant' and 'emulate' exclude each other: real processes' messages take their time\n");
  EXPECT_EQ(mistakes_of(emulated + "links = [{ a = 1 }]\n"),
            "5: this link is as it was: give it a 'bandwidth' or a 'latency'\n");
  EXPECT_EQ(mistakes_of(emulated + "links = [{ a = 1, b = 1, bandwidth = 1e6 }]\n"),
            "5: 'a' and 'b' are one host: leave out 'b' to mean its NIC\n");
  EXPECT_EQ(mistakes_of("[network]\nemulate = true\nlinks = [{ a = 1 }]\n"),
            "3: this link is as it was: give it a 'bandwidth' or a 'latency'\n");
  for (const char* value : {"7", "\"0s\""}) {
    const std::string told = mistakes_of(
        std::string("[network]\nemulate = true\nlinks = [{ a = 1, bandwidth = 1e6, until = ") + value + " }]\n");
    EXPECT_NE(told.find("unknown key 'until' in [network.links]"), std::string::npos) << told;
    EXPECT_EQ(told.find("later than"), std::string::npos) << "what a scenario's would mean: " << told;
  }
  EXPECT_EQ(mistakes_of(emulated + "links = [{ a = 1, bandwidth = 1e6, from = \"2s\", until = \"2s\" }]\n"),
            "5: 'until' must be later than 'from'\n");
  for (const char* bad :
       {"links = 3\n", "links = [{ bandwidth = 1e6 }]\n", "links = [{ a = -1, bandwidth = 1e6 }]\n",
        "links = [{ a = 1, bandwidth = 1e6, untill = \"2s\" }]\n", "links = [{ a = 1, latency = \"2\" }]\n",
        "links = [{ a = 1, bandwidth = 1e6, one_way = 1 }]\n"}) {
    const std::string told = mistakes_of(emulated + bad);
    EXPECT_EQ(told.substr(0, 2), "5:") << bad << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << bad << told;
  }
}

TEST(LinksSuite, AMistakeInTheLastOfManyRulesIsTheOnlyOne) {
  std::string rules = "[network]\nemulate = true\n[[scenario]]\nname = \"x\"\nlinks = [";
  for (int i = 0; i < 3000; ++i) rules += "{ a = 1, latency = \"1ms\", until = \"1s\" },\n";
  EXPECT_EQ(mistakes_of(rules + "{ a = 1, latency = \"1ms\", until = 7 }]\n"),
            "3005: 'until' must be a time such as \"40ms\", \"1.5s\" or \"2min\", not an integer\n");
}

TEST(Hosts, OfServersAreTheirRegionsWhereAProtocolSaysSo) {
  const std::string text =
      "schema = 1\nname = \"n\"\n[run]\nworld_size = 5\n[model]\nname = \"quadratic\"\n[compute]\nbackend = "
      "\"reference\"\n"
      "pace = \"5ms\"\n[topology]\nname = \"ring\"\n[network]\nhosts = [0, 2, 0, 1, 2]\n[[protocol]]\nname = "
      "\"halos\"\n"
      "[[protocol]]\nname = \"ps_asp\"\nservers = 2\n[[scenario]]\nname = \"s\"\n"
      "[[measure]]\nwhat = \"convergence\"\ntransport = \"sim\"\nsamples = 800\n";
  const std::vector<int> regions = {0, 2, 0, 1, 2, 0, 2, 1, 0}, own = {0, 2, 0, 1, 2, 3, 4};
  const std::vector<TrialSpec> trials = parse_suite(text, "hosts.toml", {}).trials;
  ASSERT_FALSE(trials.empty());
  for (const TrialSpec& trial : trials)
    EXPECT_EQ(make_plan(trial).host_of, trial.protocol == "halos" ? regions : own) << trial.protocol;
}

}  // namespace
}  // namespace hopbench
