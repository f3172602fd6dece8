// Whole trials whose models live on a GPU, which is emulated: in virtual time, and in processes over each transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "results/run_folder.h"
#include "tests/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSuite = R"(schema = 1
name = "gpu"
[run]
world_size = 4
iterations = 6
repeats = 1
warmup_time = "0s"
evaluation_samples = 64
[model]
name = "softmax"
batch = 4
[model.dataset]
name = "synthetic"
[compute]
backend = "cuda"
pace = "off"
cost = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "dpsgd"
[[protocol]]
name = "hop"
[[protocol]]
name = "ps_bsp"
)";

class CudaTrials : public testing::Test {
 protected:
  CudaTrials() { folder_.write("a.toml", kSuite); }

  /// params_hash of every variant.
  std::map<std::string, std::string> hashes(const std::string& name, Args more) {
    Args words = {"run", "a.toml", "-o", name, "--events", "all"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = hopbench(folder_.path(), words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    std::map<std::string, std::string> all;
    const RunFolder run = RunFolder::open(folder_ / name);
    for (const TrialRow& row : run.rows()) {
      EXPECT_EQ(row.record.status, TrialStatus::kOk) << row.record.failure.text;
      all[row.labels.variant] = row.record.params_hash;
    }
    return all;
  }

  Folder folder_;
};

TEST_F(CudaTrials, TheGpuIsListed) {
  const Ended list = hopbench(folder_.path(), {"env"});
  EXPECT_THAT(list.out, AllOf(HasSubstr("cuda"), HasSubstr("cuDNN"), HasSubstr("driver")));
}

TEST_F(CudaTrials, EndWithTheSameBitsOnEveryTransport) {
  const auto expected = hashes("sim", {});
  EXPECT_EQ(expected.size(), 4u);
  EXPECT_EQ(hashes("again", {}), expected);
  for (const char* transport : {"shm", "gloo"}) {
    const std::string set = std::string("transport.name=\"") + transport + "\"";
    EXPECT_EQ(hashes(transport, {"--set", set}), expected) << transport;
  }
  EXPECT_EQ(hashes("copied", {"--set", "transport.name=\"shm\"", "--set", "compute.ipc=false"}), expected);
}

TEST_F(CudaTrials, OfOtherPrecisionsAreToldApart) {
  const auto fp32 = hashes("fp32", {"--filter", "allreduce"});
  const auto bf16 = hashes("bf16", {"--filter", "allreduce", "--set", "compute.precision=\"bf16\""});
  EXPECT_NE(fp32, bf16);
  const RunFolder run = RunFolder::open(folder_ / "bf16");
  EXPECT_EQ(run.rows().front().labels.backend, "cuda bf16");
  EXPECT_THAT(text_of(folder_ / "bf16/trials.csv"), HasSubstr("cuda bf16"));
  const Ended refused = hopbench(folder_.path(), {"run", "a.toml", "--set", "compute.backend=\"reference\"", "--set",
                                                  "compute.precision=\"bf16\""});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("compute.precision"));
}

TEST_F(CudaTrials, MixWithRanksOnTheCpu) {
  const Args mixed{"--set", "compute.others=[{ranks=[0,2],backend=\"reference\"}]"};
  std::map<std::string, std::string> expected;
  for (const char* transport : {"shm", "gloo"}) {
    Args words = mixed;
    words.insert(words.end(), {"--set", std::string("transport.name=\"") + transport + "\""});
    const auto ended = hashes(transport, words);
    EXPECT_EQ(ended.size(), 4u);
    if (expected.empty()) expected = ended;
    EXPECT_EQ(ended, expected) << "the same mix, the same bits";
  }
  const RunFolder run = RunFolder::open(folder_ / "shm");
  EXPECT_EQ(run.rows().front().labels.backend, "cuda, 2 of 4 on reference");
  EXPECT_NE(hashes("cuda", {"--set", "transport.name=\"shm\""}), expected) << "nobody computed on the CPU";
}

TEST_F(CudaTrials, OfALinearModelEndAlikeOnEveryTransport) {
  const Args linear = {"--set", "model.name=\"linear_svm\"", "--set", "model.dataset.name=\"synthetic_sparse\"",
                       "--set", "optimizer.momentum=0.9"};
  const auto expected = hashes("sim", linear);
  for (const char* transport : {"shm", "gloo"}) {
    Args words = linear;
    words.insert(words.end(), {"--set", std::string("transport.name=\"") + transport + "\""});
    EXPECT_EQ(hashes(transport, words), expected) << transport;
  }
}

}  // namespace
}  // namespace hopbench
