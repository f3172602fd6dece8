// Every protocol in real processes: its promise on another transport than virtual time. ci/check runs it, as it takes
// minutes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/transport/wire.h"
#include "suites/language/suite.h"
#include "tests/backends/transport/transport_names.h"
#include "tests/cli/cli.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

/// The trials of suites/all_protocols.toml with a slow worker on that transport, as `run --json` gives them.
nlohmann::json trials_on(const std::string& transport, const Args& more) {
  const Folder folder;
  Args words{"run",
             "suites/all_protocols.toml",
             "--profile",
             "quick",
             "--filter",
             "slower",
             "--json",
             "--set",
             "transport.name=" + transport,
             "--rendezvous-timeout",
             "2min"};  // ci/check runs several at once
  words.insert(words.end(), more.begin(), more.end());
  const Ended ended = hopbench(folder.path(), words);
  EXPECT_EQ(ended.code, 0) << ended.err;
  return nlohmann::json::parse(ended.out).at("trials");
}

class Transports : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string why = find_transport(GetParam()).unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }
  void expect_promises_kept(const Args& more) const;
};

void Transports::expect_promises_kept(const Args& more) const {
  const Suite suite = load_suite(source_dir() + "/suites/all_protocols.toml", {});
  std::map<std::string, bool> promised;
  for (const TrialSpec& spec : suite.trials)
    promised[spec.label] = same_everywhere(find_protocol(spec.protocol), spec.knobs);
  std::map<std::string, std::string> hash;
  for (const nlohmann::json& trial : trials_on("sim", more))
    hash[trial.at("labels").at("variant")] = trial.at("record").at("params_hash");
  EXPECT_EQ(hash.size(), promised.size());
  const nlohmann::json real = trials_on(GetParam(), more);
  EXPECT_EQ(real.size(), promised.size());
  for (const nlohmann::json& trial : real) {
    const std::string variant = trial.at("labels").at("variant");
    const nlohmann::json& record = trial.at("record");
    EXPECT_EQ(record.at("status"), "ok") << variant << ": " << record.at("reason");
    if (promised.at(variant)) {
      EXPECT_EQ(record.at("params_hash"), hash[variant]) << variant;
    }
  }
}

TEST_P(Transports, GiveTheSameParametersWhereProtocolsPromiseIt) { expect_promises_kept({}); }

TEST_P(Transports, GiveTheSameParametersOverEmulatedLinks) {
  expect_promises_kept({"--set", "network.emulate=true", "--set", "network.latency=2ms", "--set", "network.jitter=1.0",
                        "--set", "network.bandwidth=20Mbit/s", "--set",
                        "network.links=[{ a = 1, latency = \"9ms\" }]"});
}

TEST_P(Transports, GiveTheSameParametersOfSparseModelsWithLazyMomentumAndDecay) {
  Args more;
  for (const char* setting : {"model.name=\"linear_svm\"", "model.dataset.name=\"synthetic_sparse\"", "model.size=0",
                              "optimizer.lr=0.5", "optimizer.momentum=0.9", "optimizer.weight_decay=0.01"}) {
    more.emplace_back("--set");
    more.emplace_back(setting);
  }
  expect_promises_kept(more);
}

constexpr const char* kAdamW = R"(schema = 1
name = "adamw"
[run]
world_size = 4
iterations = 40
repeats = 1
warmup_time = "0s"
[model]
name = "quadratic"
size = 70
[optimizer]
name = "adamw"
weight_decay = 0.1
[compute]
backend = "reference"
pace = "5ms"
[topology]
name = "ring"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "dpsgd"
[[protocol]]
name = "ps_bsp"
servers = 2
[[protocol]]
name = "diloco"
inner_state = "average"
[[scenario]]
name = "equal"
)";

std::map<std::string, std::string> hashes_with_adamw(const Folder& folder, const std::string& transport) {
  const Ended ended = hopbench(folder.path(), {"run", folder / "adamw.toml", "--json", "--set",
                                               "transport.name=" + transport, "--rendezvous-timeout", "2min"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::map<std::string, std::string> hashes;
  const nlohmann::json all = nlohmann::json::parse(ended.out);
  for (const nlohmann::json& trial : all.at("trials"))
    hashes[trial.at("labels").at("variant")] = trial.at("record").at("params_hash");
  return hashes;
}

TEST_P(Transports, GiveTheSameParametersWithAdamW) {
  const Folder folder;
  folder.write("adamw.toml", kAdamW);
  const auto hashes = hashes_with_adamw(folder, GetParam());
  EXPECT_EQ(hashes, hashes_with_adamw(folder, "sim"));
  EXPECT_EQ(hashes.size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Over, Transports, testing::ValuesIn(single_transports()),
                         [](const auto& test) { return test.param; });

TEST(AllProtocols, AreInTheSuite) {
  const Suite suite = load_suite(source_dir() + "/suites/all_protocols.toml", {});
  for (const Protocol* protocol : protocols()) {
    const auto is_it = [&](const TrialSpec& spec) { return spec.protocol == protocol->name; };
    EXPECT_TRUE(std::any_of(suite.trials.begin(), suite.trials.end(), is_it)) << protocol->name;
  }
}

}  // namespace
}  // namespace hopbench
