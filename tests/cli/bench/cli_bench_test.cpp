// `hopbench bench compute`, `bench sim` and `bench transport` from outside: what they show and what they refuse. How
// fast anything is, is no test's matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/base/process/cores.h"
#include "results/files/machine.h"
#include "tests/cli/cli.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Not;

class BenchCompute : public testing::Test {
 protected:
  BenchCompute() {
    std::istringstream list(hopbench(folder_.path(), {"list", "backends"}).out);
    for (std::string line; std::getline(list, line);)
      if (line.starts_with("onednn") && line.find("[unavailable") != std::string::npos) skipped_ = line;
  }
  void SetUp() override {
    if (!skipped_.empty()) GTEST_SKIP() << skipped_;
  }
  /// Without the memory bandwidth, whose vectors are a good part of a small machine's memory.
  Ended bench(const Args& more) const {
    Args words{"bench", "compute", "--no-vectors"};
    words.insert(words.end(), more.begin(), more.end());
    return hopbench(folder_.path(), words);
  }
  json measured(const Args& more) const {
    Args words{"--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = bench(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out);
  }
  void refused(const Args& words, const std::string& says) const {
    const Ended ended = bench(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr(says));
  }

  Folder folder_;
  std::string skipped_;
};

/// The first line of a text that begins so.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(start)) return line;
  return "";
}

TEST_F(BenchCompute, ShowsARowForEachModelWithItsUnits) {
  const Ended ended = bench({"-m", "softmax", "-m", "mlp", "-b", "2", "-r", "3"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(line_of(ended.out, "FMA peak"), AllOf(HasSubstr("GFLOP/s, one thread"), Not(HasSubstr("2 threads"))));
  EXPECT_THAT(ended.out, HasSubstr("a step (gradient): batch 2, 1 thread\n"));
  std::string columns = line_of(ended.out, "model ");
  for (const char* column : {"parameters", "MFLOP", "ms", "GFLOP/s", "share of peak", "samples/s", "set-up ms",
                             "first ms", "peak MiB", "idle MiB"}) {
    const std::size_t at = columns.find(column);
    ASSERT_NE(at, std::string::npos) << column << " is not in its place in " << ended.out;
    columns = columns.substr(at + 1);
  }
  EXPECT_THAT(line_of(ended.out, "softmax "), AllOf(HasSubstr(" 7850 "), HasSubstr(" .. "), HasSubstr(" %")));
  EXPECT_THAT(line_of(ended.out, "mlp "), HasSubstr(" 101770 "));
  EXPECT_THAT(ended.out, Not(HasSubstr("by layer")));
  EXPECT_THAT(ended.out, Not(HasSubstr("bandwidth")));
  EXPECT_EQ(ended.err, "measuring softmax\nmeasuring mlp\n");
}

TEST_F(BenchCompute, IsNoSuccessIfEverythingWasLeftOut) {
  const Ended none = bench({"-m", "timing_only", "-r", "1"});
  EXPECT_EQ(none.code, 6);
  EXPECT_THAT(none.out, HasSubstr("timing_only was left out: it computes nothing"));
  EXPECT_EQ(bench({"-m", "timing_only", "-m", "softmax", "-r", "1", "-b", "1"}).code, 0);
}

TEST_F(BenchCompute, SaysTheSameAsJson) {
  const json all = measured({"-m", "softmax", "-b", "2", "-r", "3", "--layers"});
  EXPECT_EQ(all.at("schema_version"), "1.0");
  EXPECT_TRUE(all.at("context").contains("hopbench"));
  EXPECT_FALSE(all.contains("bandwidth"));
  EXPECT_EQ(all.at("fma").at("one").size(), 3u);
  ASSERT_EQ(all.at("models").size(), 1u);
  const json& model = all.at("models").front();
  EXPECT_EQ(model.at("model"), "softmax");
  EXPECT_EQ(model.at("skipped"), "");
  EXPECT_EQ(model.at("batch"), 2);
  EXPECT_EQ(model.at("threads"), 1);
  EXPECT_EQ(model.at("flops"), 2 * (2 * 2 * 784 * 10));  // a dense layer, forward and weights: no gradient of the data
  EXPECT_EQ(model.at("step").at("seconds").size(), 3u);
  EXPECT_EQ(model.at("step").at("peaks").size(), 3u);
  for (const double seconds : model.at("step").at("seconds")) EXPECT_GT(seconds, 0);
  EXPECT_THAT(model.at("peak_mib").get<double>(), Gt(model.at("idle_mib").get<double>()));
  std::vector<std::string> parts;
  for (const json& layer : model.at("layers")) parts.push_back(layer.at("direction"));
  EXPECT_THAT(parts, ElementsAre("forward", "forward", "weights", ""));  // with what is at the borders
}

TEST_F(BenchCompute, ShowsWhereAStepGoesByLayer) {
  const Ended ended = bench({"-m", "softmax", "-b", "2", "-r", "1", "--layers"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(line_of(ended.out, "layer "),
              AllOf(HasSubstr("direction"), HasSubstr("ms"), HasSubstr("share of the step")));
  EXPECT_THAT(line_of(ended.out, "dense -> 10 on 1x28x28"), HasSubstr("forward"));
  EXPECT_THAT(ended.out, HasSubstr("all of it: "));
}

TEST_F(BenchCompute, CountsNoRunningStatisticsAmongTheParameters) {
  EXPECT_EQ(measured({"-m", "resnet20", "-b", "1", "-r", "1"}).at("models").front().at("parameters"), 269722);
}

TEST_F(BenchCompute, MeasuresNoModelWhereNoneIsAsked) {
  const Ended ended = bench({"-m", "none", "-r", "1"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("FMA peak"), Not(HasSubstr("model"))));
  EXPECT_EQ(measured({"-m", "none", "-r", "1"}).at("models").size(), 0u);
  EXPECT_THAT(hopbench(folder_.path(), {"bench", "compute", "--help"}).out, HasSubstr("none, alone: no model"));
  refused({"-m", "none", "softmax"}, "--model none means no model");
}

TEST_F(BenchCompute, RefusesWhatItCannotMeasure) {
  refused({"-m", "sofmax"}, "Did you mean 'softmax'?");
  const std::string too_many = std::to_string(usable_cores() + 1);
  refused({"-m", "softmax", "-r", "1", "-t", too_many}, "--threads " + too_many + " are more than the cores");
  refused({"-m", "softmax", "-t", "0"}, "--threads");
  refused({"-m", "softmax", "-b", "0"}, "--batch");
  refused({"-m", "softmax", "--isa", "mmx"}, "--isa");
}

Ended bench_transport(const Folder& folder, const Args& more) {
  Args words{"bench", "transport"};
  words.insert(words.end(), more.begin(), more.end());
  return hopbench(folder.path(), words);
}

TEST(BenchTransport, MeasuresEveryWayAtEverySize) {
  const Folder folder;
  const Ended ended = bench_transport(folder, {"-b", "8", "-e", "8K", "-f", "1024", "-n", "3", "-r", "2", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json rows = json::parse(ended.out)["rows"];
  std::map<std::string, int> seen;
  for (const json& row : rows) {
    ++seen[row["operation"].get<std::string>() + " " + row["way"].get<std::string>()];
    EXPECT_TRUE(row["bytes"] == 8 || row["bytes"] == 8192) << row;
    EXPECT_EQ(row["count"].get<int>() * 4, row["bytes"].get<int>());
    EXPECT_EQ(row["times_s"].size(), 2u);
    EXPECT_EQ(row["wrong"], 0) << row;
    EXPECT_GT(row["time_us"].get<double>(), 0);
    EXPECT_NEAR(row["algbw"].get<double>() * row["time_us"].get<double>() * 1e3 / row["bytes"].get<double>(), 1, 1e-6);
    EXPECT_LE(row["p50_us"].get<double>(), row["p99_us"].get<double>());
  }
  for (const char* way :
       {"pingpong shm", "pingpong bare shm", "average shm", "average bare shm", "average in place", "allreduce shm"})
    EXPECT_EQ(seen[way], 2) << way;
}

TEST(BenchTransport, MeasuresOnlyWhatIsAskedFor) {
  const Folder folder;
  const Ended ended = bench_transport(folder, {"average", "--transport", "shm", "--ranks", "3", "--neighbours", "1",
                                               "-b", "64", "-f", "1", "-n", "2", "-r", "1"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("average, 3 ranks"), HasSubstr("bare shm"), HasSubstr("in place"),
                               Not(HasSubstr("gloo")), Not(HasSubstr("pingpong"))));
}

TEST(BenchTransport, LeavesOutAPeerThatFails) {
  const Folder folder;
  folder.write("bin/mpirun", "#!/bin/sh\nexit 3\n");
  std::filesystem::permissions(folder.path() + "/bin/mpirun", std::filesystem::perms::owner_all);
  const Ended ended = hopbench(folder.path(),
                               {"bench", "transport", "allreduce", "--transport", "shm", "--mpi-peer", "bin/mpirun",
                                "-b", "64", "-f", "1", "-n", "2", "-r", "2"},
                               {"PATH=" + folder.path() + "/bin:/usr/bin:/bin"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("open mpi is left out: mpirun"), HasSubstr("exit code 3")));
  EXPECT_THAT(ended.out, AllOf(HasSubstr(" shm "), Not(HasSubstr("open mpi"))));
}

TEST(BenchTransport, SaysWhatIsWrongWithItsOptions) {
  const Folder folder;
  const auto refused = [&](const Args& words, const std::string& says) {
    const Ended ended = bench_transport(folder, words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(says));
  };
  refused({"-b", "1M", "-e", "1K"}, "begin with the smaller size");
  refused({"average", "--neighbours", "2"}, "2 ranks have at most 1");
  refused({"pingpong", "--ranks", "4"}, "a pingpong is between 2 ranks");
  refused({"--transport", "smh"}, "Did you mean 'shm'");
  refused({"gather"}, "gather");
  const Ended nowhere = bench_transport(folder, {"--interface", "nope0"});
  EXPECT_EQ(nowhere.code, 6);
  EXPECT_THAT(nowhere.err, HasSubstr("there is no network interface 'nope0'"));
  const Ended no_gpu =
      bench_transport(folder, {"average", "--backend", "cuda", "-b", "8", "-e", "8", "-n", "1", "-r", "1"});
  if (no_gpu.code == 0) return;  // there is one
  EXPECT_EQ(no_gpu.code, 6);
  EXPECT_THAT(no_gpu.err, HasSubstr("compute backend 'cuda' is not available"));
}

TEST(Calibrate, SaysThatABackendIsMissingBeforeItMeasures) {
  const Folder folder;
  const Ended ended = hopbench(folder.path(), {"calibrate", "cnn_hetero", "--set", "compute.backend=\"cuda\""});
  if (ended.code == 0) return;  // there is a GPU
  EXPECT_EQ(ended.code, 6) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("compute backend 'cuda' is not available"));
}

TEST(BenchSim, ShowsRatesAndMemoryAsTextAndAsJson) {
  const Folder folder;
  const Args words{"bench", "sim",       "-n", "500",          "--ranks", "8",  "--incast",
                   "20",    "--workers", "8",  "--iterations", "2",       "-r", "2"};
  const Ended text = hopbench(folder.path(), words);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(line_of(text.out, "exchange"),
              AllOf(HasSubstr("8 ranks"), HasSubstr("messages a second of CPU time (median of 2; ")));
  EXPECT_THAT(line_of(text.out, "incast"),
              AllOf(HasSubstr("20 workers"), HasSubstr("messages a second of CPU time (median of 2; ")));
  EXPECT_THAT(line_of(text.out, "Hop"), AllOf(HasSubstr("8 workers x 2 iterations"), HasSubstr("KiB a rank")));
  Args as_json = words;
  as_json.emplace_back("--json");
  const json rows = json::parse(hopbench(folder.path(), as_json).out).at("rows");
  ASSERT_EQ(rows.size(), 3u);
  for (const std::size_t rates : {0, 1}) {
    EXPECT_EQ(rows.at(rates).at("messages_per_cpu_s").size(), 2u);
    EXPECT_THAT(rows.at(rates).at("median").get<double>(), Gt(0));
  }
  EXPECT_EQ(rows.at(2).at("cpu_s").size(), 2u);
  EXPECT_TRUE(rows.at(2).contains("bytes_a_rank"));
}

// 64 KiB when all that the critical path looks at was kept as structs, and all records were kept twice.
TEST(BenchSim, ARankTakesLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is counted with it";
#endif
  const Folder folder;
  const Ended ended = hopbench(folder.path(), {"bench", "sim", "-n", "500", "--ranks", "8", "--incast", "20",
                                               "--workers", "600", "--iterations", "100", "-r", "1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_LT(json::parse(ended.out).at("rows").at(2).at("bytes_a_rank").get<double>(), 45 * 1024);
}

// They are hundreds of megabytes, and many machines lack them: a run on the CPU never loads them.
TEST(Program, NeedsNoLibraryOfAGpu) {
  const Folder folder;
  const std::string command = "ldd '" + program() + "' >'" + (folder / "needs") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string needs = text_of(folder / "needs");
  EXPECT_THAT(needs, HasSubstr("libc.so"));
  for (const char* library : {"libcuda", "libcublas", "libcudnn"}) EXPECT_THAT(needs, Not(HasSubstr(library)));
}

}  // namespace
}  // namespace hopbench
