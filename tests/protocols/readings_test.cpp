// The hand traces of docs/readings/*.md are what happens: each table is compared with the event log of the cluster that
// the page describes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/cluster.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using Row = std::vector<std::string>;  // ms, rank, event, with

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The rows of the page's trace: | # | ms | rank | event | with | why |, numbered from 1.
std::vector<Row> trace_of(const std::string& page) {
  std::ifstream file(source_dir() + "/docs/readings/" + page);
  EXPECT_TRUE(file.is_open()) << page;
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("|")) inside = false;
    if (line.starts_with("| # | ms | rank | event | with |")) {
      inside = true;
    } else if (inside && !line.starts_with("|---")) {
      std::vector<std::string> cells;
      std::istringstream cut(line.substr(1));
      for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(trimmed(cell));
      EXPECT_EQ(cells.at(0), std::to_string(rows.size() + 1)) << page;
      rows.push_back({cells.at(1), cells.at(2), cells.at(3), cells.at(4)});
    }
  }
  return rows;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// The events that traces have, in order; what a worker spent stands with the entry it was spent for. Gradients only
/// where a page shows them.
std::vector<Row> trace_of(const Cluster& cluster, bool gradients) {
  std::vector<Row> rows;
  std::map<int, std::vector<std::string>> spent;
  const auto add = [&](const Event& event, const std::string& what, const std::string& with) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(event.time.time_since_epoch()).count();
    rows.push_back({std::to_string(ms), std::to_string(event.rank), what, with});
  };
  for (const Event& event : cluster.events) {
    const std::string k = std::to_string(event.iter), peer = std::to_string(event.peer);
    if (event.what == EventKind::kSpend) {
      spent[event.rank].push_back("spends " + std::to_string(event.count) + " of " + peer);
    } else if (event.what == EventKind::kEnter) {
      add(event, "enters " + k, joined(spent[event.rank]));
      spent[event.rank].clear();
    } else if (event.what == EventKind::kReduced) {
      std::vector<std::string> terms;
      for (std::size_t t = 0; t < event.senders.size(); ++t)
        terms.push_back(std::to_string(event.senders[t]) + "@" + std::to_string(event.tags[t]));
      add(event, "averages in " + k, joined(terms));
    } else if (event.what == EventKind::kApplied && event.rank != event.peer) {
      add(event, "applies " + k, "of " + peer);
    } else if (gradients && event.what == EventKind::kGradient) {
      add(event, "computes " + k, std::to_string(event.count) + " samples");
    }
  }
  return rows;
}

/// The page's ten events are those from the time of its first one on.
void expect_trace(const std::string& page, Cluster cluster, const std::string& protocol, const Knobs& knobs,
                  bool gradients = false) {
  cluster.instant_network = true;
  cluster.keep_events = true;
  cluster.run(protocol, knobs);
  const std::vector<Row> written = trace_of(page);
  std::vector<Row> happened = trace_of(cluster, gradients);
  ASSERT_EQ(written.size(), 10u) << page;
  const int start = std::stoi(written.front().front());
  std::erase_if(happened, [&](const Row& row) { return std::stoi(row.front()) < start; });
  ASSERT_GE(happened.size(), written.size());
  happened.resize(written.size());
  for (std::size_t i = 0; i < written.size(); ++i)
    EXPECT_EQ(joined(happened[i]), joined(written[i])) << page << ", event " << i + 1;
}

TEST(Readings, HopTraceIsWhatHappens) {
  const Knobs knobs = {{"backup", 1}, {"max_ig", 2}, {"max_jump", 2}, {"skip_trigger", 2}};
  expect_trace("hop.md", {.nodes = 3, .slow = {{2, 4.0}}, .topology = "ring"}, "hop", knobs);
}

TEST(Readings, DPsgdTraceIsWhatHappens) {
  expect_trace("dpsgd.md", {.nodes = 3, .slow = {{2, 2.0}}, .topology = "ring"}, "dpsgd", {});
}

TEST(Readings, AllReduceTraceIsWhatHappens) {
  expect_trace("allreduce.md", {.nodes = 2, .slow = {{1, 2.0}}}, "allreduce", {});
}

TEST(Readings, ParameterServerTraceIsWhatHappens) {
  expect_trace("ps.md", {.nodes = 2, .slow = {{1, 4.0}}}, "ps_ssp", {{"staleness", 1}, {"servers", 1}});
}

TEST(Readings, LbBspTraceIsWhatHappens) {
  Cluster cluster{.nodes = 2, .slow = {{1, 2.0}}};
  cluster.workload.batch = 10;
  expect_trace("lb_bsp.md", cluster, "lb_bsp", {{"warmup_steps", 1}}, true);
}

TEST(Readings, DsSyncTraceIsWhatHappens) {
  expect_trace("ds_sync.md", {.nodes = 4, .slow = {{3, 3.0}}}, "ds_sync", {});
}

TEST(Readings, DsspTraceIsWhatHappens) {
  const Knobs knobs = {{"s_l", 1}, {"r_max", 4}, {"servers", 1}};
  expect_trace("dssp.md", {.nodes = 2, .slow = {{1, 3.8}}}, "dssp", knobs);
}

TEST(Readings, RennalaTraceIsWhatHappens) {
  expect_trace("late.md", {.nodes = 2, .slow = {{1, 3.0}}}, "rennala", {{"batch", 2}, {"servers", 1}});
}

std::string text_of(const std::string& path) {
  std::ifstream file(source_dir() + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Readings, EveryDecisionOfHopHasItsTest) {
  const std::string page = text_of("docs/readings/hop.md");
  const std::string tests =
      text_of("tests/protocols/hop/hop_decisions_test.cpp") + text_of("tests/protocols/hop/hop_jumps_test.cpp");
  for (int i = 1; i <= 14; ++i) {
    const std::string decision = "H" + std::to_string(i);
    EXPECT_NE(page.find("* **" + decision + "** "), std::string::npos) << decision;
    EXPECT_NE(page.find("`" + decision + "_"), std::string::npos) << decision;
    EXPECT_NE(tests.find("TEST(HopDecision, " + decision + "_"), std::string::npos) << decision;
  }
}

// Every single test that a page names for a decision is there.
TEST(Readings, NameTestsThatAreThere) {
  std::string tests;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source_dir() + "/tests")) {
    const std::string path = file.path().string();
    if (path.ends_with("_test.cpp")) tests += text_of(path.substr(source_dir().size() + 1));
  }
  for (const auto& page : std::filesystem::directory_iterator(source_dir() + "/docs/readings")) {
    const std::string name = page.path().filename().string(), text = text_of("docs/readings/" + name);
    static const std::regex kTest("`([A-Z][A-Za-z]+)\\.([A-Z][A-Za-z0-9_]+)`");
    for (std::sregex_iterator it(text.begin(), text.end(), kTest), end; it != end; ++it) {
      const std::string named = "(" + it->str(1) + ", " + it->str(2) + ")";
      const bool there =
          tests.find("TEST" + named) != std::string::npos || tests.find("TEST_P" + named) != std::string::npos;
      EXPECT_TRUE(there) << name << " names " << it->str(0);
    }
  }
}

}  // namespace
}  // namespace hopbench
