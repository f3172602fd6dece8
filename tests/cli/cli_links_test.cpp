// Real processes over emulated links take as long as virtual time says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/transport/wire.h"
#include "tests/cli/cli.h"

namespace hopbench {
namespace {

// D-PSGD on a ring of four: each iteration rank 1 sends and gets two models of 407 kB. Over a NIC of 50 Mbit/s that is
// 130 ms, beside 10 ms of compute; over 1 Gbit/s 7 ms.
constexpr const char* kSuite = R"(schema = 1
name = "thin"
[run]
world_size = 4
iterations = 8
repeats = 2
warmup_time = "0s"
[model]
name = "mlp"
dataset = "synthetic"
batch = 2
[compute]
backend = "reference"
pace = "10ms"
[network]
emulate = true
bandwidth = "1Gbit/s"
[topology]
name = "ring"
[[protocol]]
name = "dpsgd"
[[scenario]]
name = "thin"
links = [{ a = 1, bandwidth = "50Mbit/s" }]
[[scenario]]
name = "thin for a time"
links = [{ a = 1, bandwidth = "10Mbit/s", from = "100ms", until = "1s" }]
[[scenario]]
name = "recorded"
links = [{ a = 1, kind = "trace", file = "link.csv", end = "hold" }]
[[scenario]]
name = "slow phases"
links = [{ a = 1, bandwidth = "50Mbit/s", kind = "markov", factor = 4, slow = "300ms", normal = "600ms" }]
)";
// 100 Mbit/s, 4 Mbit/s for most of a second, and 200 Mbit/s.
constexpr const char* kRecording = "time,bandwidth\n0,12.5e6\n0.2,0.5e6\n1,25e6\n";

/// By transport, then by scenario: how long the trial took, the shorter of two.
using Times = std::map<std::string, std::map<std::string, double>>;

Times times_on(const std::string& transport) {
  const Folder folder;
  std::ofstream(folder.path() + "/thin.toml") << kSuite;
  std::ofstream(folder.path() + "/link.csv") << kRecording;
  const Ended ended = hopbench(folder.path(), {"run", "thin.toml", "--json", "--set", "transport.name=" + transport});
  EXPECT_EQ(ended.code, 0) << ended.err;
  Times times;
  const nlohmann::json run = nlohmann::json::parse(ended.out);
  for (const nlohmann::json& trial : run.at("trials")) {
    const nlohmann::json &labels = trial.at("labels"), &record = trial.at("record");
    EXPECT_EQ(record.at("status"), "ok") << record.at("reason");
    double& time = times[labels.at("transport")].try_emplace(labels.at("scenario"), 1e9).first->second;
    time = std::min(time, record.at("time_s").get<double>());
    if (transport == "sim") continue;
    for (const nlohmann::json& rank : record.at("ranks"))
      EXPECT_GT(rank.at("link_late_p99_s").get<double>(), 0) << "nobody ever waited for a message";
  }
  return times;
}

TEST(EmulatedLinks, TakeAsLongAsInVirtualTime) {
  const std::map<std::string, double> virtual_time = times_on("sim").at("sim");
  EXPECT_GT(virtual_time.at("thin"), 18 * 0.13) << "the thin NIC is what counts";
  EXPECT_GT(virtual_time.at("thin for a time"), 1.0);
  EXPECT_LT(virtual_time.at("thin for a time"), 2.0);
  EXPECT_GT(virtual_time.at("recorded"), 1.0);
  EXPECT_LT(virtual_time.at("recorded"), 2.5);
  EXPECT_GT(virtual_time.at("slow phases"), virtual_time.at("thin"));
  for (const Transport& transport : transports()) {
    if (transport.chooses || !transport.unavailable().empty()) continue;
    const std::string name = transport.name;
    const std::map<std::string, double> real = times_on(name).at(name + "+emulated");
    EXPECT_EQ(real.size(), 4u);
    // A busy machine makes it longer, and nothing makes it shorter.
    for (const auto& [scenario, time] : real) {
      EXPECT_GT(time / virtual_time.at(scenario), 0.98) << name << ", " << scenario;
      EXPECT_LT(time / virtual_time.at(scenario), 1.15) << name << ", " << scenario;
    }
  }
}

}  // namespace
}  // namespace hopbench
