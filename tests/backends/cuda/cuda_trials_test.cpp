// Whole trials whose models live on a GPU, which is emulated: in virtual time, and in processes over each transport.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "results/files/run_folder.h"
#include "tests/cli/cli.h"

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
name = "allreduce"
label = "hierarchical"
algorithm = "hierarchical"
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
  std::map<std::string, std::string> hashes(const std::string& name, Args more, const Args& variables = {}) {
    Args words = {"run", "a.toml", "-o", name, "--events", "all"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = hopbench(folder_.path(), words, variables);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return hashes_in(name);
  }

  std::map<std::string, std::string> hashes_in(const std::string& name) {
    std::map<std::string, std::string> all;
    const RunFolder run = RunFolder::open(folder_ / name);
    for (const TrialRow& row : run.rows()) {
      EXPECT_EQ(row.record.status, TrialStatus::kOk) << row.record.failure.text;
      all[row.labels.variant] = row.record.params_hash;
    }
    return all;
  }

  /// Returns the ranks of that variant's trial.
  std::vector<RankRecord> ranks(const std::string& name, const std::string& variant) {
    const RunFolder run = RunFolder::open(folder_ / name);
    for (const TrialRow& row : run.rows()) {
      if (row.labels.variant == variant) return row.record.ranks;
    }
    return {};
  }

  Folder folder_;
};

const Args kOverShm = {"--set", "transport.name=\"shm\""};
const Args kComplete = {"--set", "topology.name=\"complete\""};
Args joined(Args some, const Args& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

TEST_F(CudaTrials, TheGpuIsListed) {
  const Ended list = hopbench(folder_.path(), {"env"});
  EXPECT_THAT(list.out, AllOf(HasSubstr("cuda"), HasSubstr("cuDNN"), HasSubstr("driver")));
}

TEST_F(CudaTrials, EndWithTheSameBitsOnEveryTransport) {
  const auto expected = hashes("sim", {});
  EXPECT_EQ(expected.size(), 5u);
  EXPECT_EQ(hashes("again", {}), expected);
  for (const char* transport : {"shm", "gloo"}) {
    const std::string set = std::string("transport.name=\"") + transport + "\"";
    EXPECT_EQ(hashes(transport, {"--set", set}), expected) << transport;
  }
  EXPECT_EQ(hashes("copied", {"--set", "transport.name=\"shm\"", "--set", "compute.ipc=false"}), expected);
}

// A ring passes on vectors that it borrowed. They are copied on the GPU, not through the host.
TEST_F(CudaTrials, PassVectorsOnWithoutTheHost) {
  hashes("lent", joined({"--filter", "allreduce"}, kOverShm));
  for (const RankRecord& rank : ranks("lent", "allreduce")) {
    EXPECT_EQ(rank.staged_bodies, 0) << rank.rank;
    EXPECT_EQ(rank.gpu_fallbacks, 0) << rank.rank;
    EXPECT_THAT(rank.gpu_remarks, AllOf(HasSubstr("ipc: yes"), HasSubstr("graph of batch 4: yes"))) << rank.rank;
    EXPECT_EQ(rank.gpu, rank.rank % 2 == 0 ? "0000:3b:00.0" : "0000:3c:00.0");
  }
  EXPECT_THAT(text_of(folder_ / "lent/summary.md"), HasSubstr("up to 2 ranks shared a GPU, in turns"));
}

// Threads that wait for the GPU spin only if there are two cores for each rank; and MPS lets ranks compute together.
TEST_F(CudaTrials, NoteHowRanksWaitAndShareAGpu) {
  const Folder mps;
  mps.write("control", "");
  hashes("mps", joined({"--filter", "dpsgd"}, kOverShm), {"CUDA_MPS_PIPE_DIRECTORY=" + mps.path()});
  const bool few_cores = 2 * 4 > std::thread::hardware_concurrency();
  for (const RankRecord& rank : ranks("mps", "dpsgd")) {
    EXPECT_EQ(rank.gpu_remarks.find("waits: asleep") != std::string::npos, few_cores) << rank.gpu_remarks;
    EXPECT_TRUE(rank.gpu_shared_well);
  }
  EXPECT_THAT(text_of(folder_ / "mps/summary.md"), HasSubstr("up to 2 ranks shared a GPU, side by side (MPS)"));
}

// Trials of virtual time that run at once are dealt to the GPUs: here those that get the second one fail.
TEST_F(CudaTrials, ThatRunAtOnceInVirtualTimeTakeGpusInTurn) {
  const Args second_is_old = {"HB_EMULATED_GPU=old-second"};
  hashes("one", {"--jobs", "1"}, second_is_old);
  EXPECT_EQ(hopbench(folder_.path(), {"run", "a.toml", "-o", "two", "--jobs", "2"}, second_is_old).code, 3);
  int ok = 0, on_the_second = 0;
  const RunFolder run = RunFolder::open(folder_ / "two");
  for (const TrialRow& row : run.rows()) {
    ok += row.record.status == TrialStatus::kOk;
    on_the_second += row.record.failure.text.find("GPU 1 (Emulated GPU) is too old") != std::string::npos;
  }
  EXPECT_GT(ok, 0);
  EXPECT_GT(on_the_second, 0);
  EXPECT_EQ(ok + on_the_second, 5);
}

// A ring passes on a vector from the host memory in which it came.
TEST_F(CudaTrials, PassOnWhatCameOverTcpWithoutCopyingItAgain) {
  hashes("ring", {"--filter", "allreduce", "--set", "transport.name=\"gloo\""});
  for (const RankRecord& rank : ranks("ring", "allreduce")) {
    EXPECT_GT(rank.staged_bodies, rank.messages_sent);
    EXPECT_LT(rank.staged_bodies, 2 * rank.messages_sent);
  }
}

// One copy to the host, however many hear it; and one for each vector that is heard.
TEST_F(CudaTrials, CopyAVectorOnceForAllNeighbours) {
  hashes("gloo", joined({"--filter", "dpsgd", "--set", "transport.name=\"gloo\""}, kComplete));
  for (const RankRecord& rank : ranks("gloo", "dpsgd")) {
    EXPECT_GE(rank.messages_sent, 3 * 6);
    EXPECT_EQ(rank.staged_bodies, rank.messages_sent / 3 + rank.messages_sent) << rank.rank;
  }
}

// A ring, and averages with neighbours: between them they do all that a transport does with a GPU's memory.
TEST_F(CudaTrials, GoThroughTheHostWhereOneGpuCannotReadAnother) {
  const Args two = {"--filter", "/(allreduce|dpsgd)/"};
  const auto expected = hashes("sim", two);
  ASSERT_EQ(expected.size(), 2u);
  const std::string unmapped = "ranks 1 3 (this rank's memory cannot be mapped: ";
  for (const auto& [trouble, words] :
       {std::pair{"no-import", unmapped.c_str()},
        {"no-export", "no, because memory cannot be exported"},
        {"corrupt-peer", "ranks 1 3 (this rank's memory is mapped, and reads differently"},
        {"unread-peer", "ranks 1 3 (this rank's memory is mapped, but cannot be read: "},
        {"no-peer", unmapped.c_str()}}) {
    SCOPED_TRACE(trouble);
    EXPECT_EQ(hashes(trouble, joined(two, kOverShm), {std::string("HB_EMULATED_GPU=") + trouble}), expected);
    const RankRecord rank = ranks(trouble, "allreduce").at(0);
    EXPECT_THAT(rank.gpu_remarks, HasSubstr(words));
    EXPECT_GT(rank.staged_bodies, 0);
    EXPECT_GT(rank.gpu_fallbacks, 0);
    EXPECT_THAT(text_of(folder_ / (std::string(trouble) + "/summary.md")), HasSubstr("gpu_remarks"));
  }
}

// Ranks 0 and 2 are on one GPU, 1 and 3 on the other.
TEST_F(CudaTrials, LendToThoseWhoCanReadIt) {
  hashes("pairs", joined(joined({"--filter", "dpsgd"}, kOverShm), kComplete), {"HB_EMULATED_GPU=no-peer"});
  const RankRecord rank = ranks("pairs", "dpsgd").at(0);
  EXPECT_THAT(
      rank.gpu_remarks,
      HasSubstr("ipc: not with ranks 1 3 (its memory cannot be mapped: peer access is not supported between these "
                "two devices), not with ranks 1 3 (this rank's memory cannot be mapped: "));
  EXPECT_EQ(rank.gpu_fallbacks, 2);
}

// Two machines of two GPUs each, as far as hopbench can tell: memory is shared within one, and TCP is between them.
TEST_F(CudaTrials, OnTwoMachinesShareMemoryWithinEach) {
  const auto expected = hashes("sim", {"--set", "network.hosts=2"});
  Args words = {"run", "a.toml", "-o", "two", "--no-events", "--rendezvous", folder_ / "meet"};
  words = joined(words, {"--set", "network.hosts=2", "--set", "transport.name=\"auto\""});
  std::filesystem::create_directory(folder_ / "meet");
  std::vector<std::unique_ptr<Running>> processes;
  for (const char* process : {"1", "0"}) {
    const std::string number = process;
    processes.push_back(std::make_unique<Running>(
        folder_.path(), words,
        Args{"HOPBENCH_RANK=" + number, "HOPBENCH_WORLD_SIZE=2", "HOPBENCH_JOB=two", "HOPBENCH_HOST=host" + number}));
  }
  for (const auto& process : processes) {
    const Ended ended = process->wait();
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  EXPECT_EQ(hashes_in("two"), expected);
  for (const RankRecord& rank : ranks("two", "dpsgd")) {
    EXPECT_THAT(rank.carriers, AllOf(HasSubstr("gloo: "), HasSubstr("shm: "))) << rank.rank;
    EXPECT_THAT(rank.gpu_remarks, HasSubstr("ipc: yes")) << rank.rank;
    EXPECT_EQ(rank.gpu, rank.rank % 2 == 0 ? "0000:3b:00.0" : "0000:3c:00.0") << rank.rank;
    // One copy of each vector for the other machine, and one of each that came from there.
    EXPECT_EQ(rank.staged_bodies, rank.messages_sent) << rank.rank;
  }
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
    EXPECT_EQ(ended.size(), 5u);
    if (expected.empty()) expected = ended;
    EXPECT_EQ(ended, expected) << "the same mix, the same bits";
  }
  const RunFolder run = RunFolder::open(folder_ / "shm");
  EXPECT_EQ(run.rows().front().labels.backend, "cuda, 2 of 4 on reference");
  const auto on_gpus = hashes("cuda", joined({"--filter", "/dpsgd/"}, kOverShm));
  EXPECT_NE(on_gpus.at("dpsgd"), expected.at("dpsgd")) << "nobody computed on the CPU";
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
