// Recordings with known truth through the readers: generated profiles and tables, and a public recording.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "backends/runtime/trace.h"
#include "suites/import/readers.h"
#include "tests/folder.h"
#include "tests/paths.h"
#include "tests/said.h"

namespace hopbench {
namespace {

// Files of a PyTorch profiler that never ran, whose computation per rank and step is known.

/// A job whose ranks compute, hide a part of their communication behind it, and then wait for the slowest in the rest.
struct ProfiledJob {
  int ranks = 4, steps = 12;
  bool gpu = true;                   // kernels of a GPU; else operators and Gloo
  double clock_range = 3;            // seconds by which clocks differ at most
  double jitter = 20e-6;             // seconds by which the ends of a collective differ
  int step_without_marker = -1;      // of rank 1: its ProfilerStep is missing
  int step_without_collective = -1;  // of rank 2: its last collective is missing

  double clock(int rank) const { return rank == 0 ? 0 : clock_range * ((rank * 7) % 5 - 2.3) / 2.7; }
  /// Returns what a rank computes in a step, seconds.
  double compute(int rank, int step) const {
    return 0.080 * (1 + 0.3 * (rank == 1)) * (1 + 0.1 * ((step * 5) % 7)) + 0.001 * ((rank * 3 + step * 11) % 13);
  }
};

namespace profiles {

/// A text of events, with times in seconds of the job.
class Events {
 public:
  explicit Events(double shift) : shift_(shift) {}
  void add(const char* category, const std::string& name, int pid, const std::string& tid, double begin, double end,
           int correlation = 0) {
    text_ += fmt::format(
        "{}{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {},\n \"ts\": {:.3f}, \"dur\": "
        "{:.3f}, "
        "\"args\": {{\"External id\": 7, \"Input Dims\": [[1, 2], []], \"step\": \"text\"{}}}}}",
        text_.empty() ? "" : ",\n", category, name, pid, tid, 1e6 * (begin + shift_), 1e6 * (end - begin),
        correlation > 0 ? fmt::format(", \"correlation\": {}", correlation) : "");
  }
  /// Adds a kernel and the call that launched it.
  void add_kernel(const std::string& name, const std::string& stream, double launch, double begin, double end) {
    add("cuda_runtime", "cudaLaunchKernel", 77, "77", launch, launch + 5e-6, ++launches_);
    add("kernel", name, 0, stream, begin, end, launches_);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  double shift_;
  int launches_ = 0;
};

/// The communication and computation of one step on a GPU, whose host is ahead of it.
void add_gpu_step(Events& events, double begin, double compute, double end, bool last_collective) {
  const double first = begin + 0.002;  // the host starts it
  for (int piece = 0; piece < 5; ++piece) {
    const double length = (begin + compute - first) / 5;
    events.add_kernel("ampere_sgemm_128x64_nn", "7", begin + piece * 1e-4, first + piece * length,
                      first + (piece + 1) * length);
    events.add("cpu_op", "aten::mm", 77, "77", begin + piece * 1e-4, begin + (piece + 0.5) * 1e-4);
  }
  events.add_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "20", begin + 1e-3, begin + 0.4 * compute,
                    begin + 0.7 * compute);
  events.add("gpu_user_annotation", "nccl:all_reduce", 0, "20", begin + 0.1 * compute, begin + 0.2 * compute);
  if (last_collective)
    events.add_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "20", begin + 1.1e-3,
                      begin + 0.9 * compute, end);
}

/// The same on a processor: the backend's thread communicates while the main thread computes and then waits.
void add_cpu_step(Events& events, double begin, double compute, double end, bool last_collective) {
  events.add("cpu_op", "aten::convolution", 77, "77", begin + 0.001, begin + 0.45 * compute);
  events.add("cpu_op", "c10d::allreduce_", 77, "77", begin + 0.45 * compute, begin + 0.45 * compute + 5e-6);
  events.add("cpu_op", "aten::convolution_backward", 77, "78", begin + 0.44 * compute, begin + compute);
  events.add("user_annotation", "gloo:all_reduce", 77, "90", begin + 0.46 * compute, begin + 0.8 * compute);
  if (last_collective) events.add("user_annotation", "gloo:all_reduce", 77, "91", begin + 0.7 * compute, end);
}

}  // namespace profiles

/// Returns the file of a rank. Files of odd ranks have times relative to baseTimeNanoseconds, those of even ranks
/// absolute ones.
std::string profile_of(const ProfiledJob& job, int rank) {
  constexpr std::int64_t kBase = 1'700'000'000'000'000'000;
  const bool relative = rank % 2 == 1;
  profiles::Events events(job.clock(rank) + (relative ? 100.0 : double(kBase) * 1e-9));
  std::mt19937 random(unsigned(rank) + 1);
  std::uniform_real_distribution<double> jitter(-job.jitter / 2, job.jitter / 2);
  double begin = 5;
  for (int step = 0; step < job.steps; ++step) {
    double slowest = 0;
    for (int other = 0; other < job.ranks; ++other) slowest = std::max(slowest, job.compute(other, step));
    const double end = begin + slowest + 0.006 + jitter(random);
    if (rank != 1 || step != job.step_without_marker)
      events.add("user_annotation", fmt::format("ProfilerStep#{}", step + 3), 77, "77", begin, end + 1e-5);
    (job.gpu ? profiles::add_gpu_step : profiles::add_cpu_step)(events, begin, job.compute(rank, step), end,
                                                                rank != 2 || step != job.step_without_collective);
    begin += slowest + 0.008;
  }
  return fmt::format(
      "{{\n\"schemaVersion\": 1, \"deviceProperties\": [{{\"id\": 0}}],\n\"distributedInfo\": {{\"backend\": \"nccl\", "
      "\"rank\": {}, \"world_size\": {}}},\n\"traceEvents\": [\n{}\n],\n\"traceName\": \"x\", \"baseTimeNanoseconds\": "
      "{}\n}}\n",
      rank, job.ranks, events.text(), relative ? kBase - 100'000'000'000 : 0);
}

/// Writes a file for each rank and returns their paths.
std::vector<std::string> write_profiles(const ProfiledJob& job, const Folder& folder) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < job.ranks; ++rank) {
    const std::string name = fmt::format("host_{}.{}.pt.trace.json", 900 - rank, 17 * rank);
    folder.write(name, profile_of(job, rank));
    paths.push_back(folder / name);
  }
  return paths;
}

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Cells = std::map<std::pair<int, std::int64_t>, double>;  // by rank and step

Cells cells_of(const TraceRows& rows) {
  Cells cells;
  for (const TraceRow& row : rows) cells[{row.rank, row.step}] = row.seconds;
  EXPECT_EQ(cells.size(), rows.size());
  return cells;
}

Imported kineto(const std::vector<std::string>& paths, const Layout& layout = {}) {
  Imported imported;
  read_kineto(paths, layout, imported);
  finish_rows(imported, paths.front());
  return imported;
}
Imported perfetto(const std::vector<std::string>& paths, const Layout& layout = {}, bool align = false) {
  Imported imported;
  read_perfetto(paths, layout, align, imported);
  finish_rows(imported, paths.front());
  return imported;
}

class ImportFiles : public testing::Test {
 protected:
  Imported csv(const std::string& text, const CsvColumns& columns = {}) const {
    folder_.write("a.csv", text);
    Imported imported;
    read_csv_recording({folder_ / "a.csv"}, columns, imported);
    finish_rows(imported, folder_ / "a.csv");
    return imported;
  }
  std::string refused_csv(const std::string& text, const CsvColumns& columns = {}) const {
    return said_by([&] { csv(text, columns); });
  }
  Folder folder_;
};

class ImportProfiles : public ImportFiles, public testing::WithParamInterface<bool> {};

TEST_P(ImportProfiles, ComputeIsRightWithinHalfAPercentThoughClocksDifferBySeconds) {
  const ProfiledJob job{.gpu = GetParam()};
  const Imported imported = kineto(write_profiles(job, folder_));
  const Cells cells = cells_of(imported.rows);
  ASSERT_EQ(cells.size(), std::size_t(job.ranks * job.steps));
  for (const auto& [place, seconds] : cells) {
    const double truth = job.compute(place.first, int(place.second) - 3);
    EXPECT_NEAR(seconds / truth, 1, 0.005) << place.first << " " << place.second;
  }
  ASSERT_EQ(imported.clocks.size(), std::size_t(job.ranks - 1));
  for (const ClockOffset& clock : imported.clocks) {
    EXPECT_NEAR(clock.seconds, job.clock(clock.rank), 2 * job.jitter);
    EXPECT_LE(clock.spread, job.jitter);
    EXPECT_EQ(clock.steps, std::size_t(job.steps));
  }
  EXPECT_THAT(imported.remarks.texts(), IsEmpty());
}

TEST_P(ImportProfiles, MissingMarkersAreReportedAndLeftOutAndNothingElseChanges) {
  ProfiledJob job{.gpu = GetParam(), .step_without_marker = 4, .step_without_collective = 6};
  const Imported imported = kineto(write_profiles(job, folder_));
  const Cells cells = cells_of(imported.rows);
  EXPECT_EQ(cells.size(), std::size_t(job.ranks * job.steps - 1));
  EXPECT_EQ(cells.count({1, 7}), 0u);
  for (const auto& [place, seconds] : cells) {
    if (place == std::pair<int, std::int64_t>{2, 9}) continue;  // no row depends on clocks, so the check leaves it in
    EXPECT_NEAR(seconds / job.compute(place.first, int(place.second) - 3), 1, 0.005)
        << place.first << " " << place.second;
  }
  EXPECT_THAT(imported.remarks.texts(), Contains("rank 1: step 7: missing, though other ranks have it"));
  EXPECT_THAT(imported.remarks.texts(),
              Contains("rank 2: step 9: another number of collectives than on most ranks, on which no row depends (the "
                       "first: step 9: 1, where others have 2)"));
  for (const ClockOffset& clock : imported.clocks) EXPECT_NEAR(clock.seconds, job.clock(clock.rank), 2 * job.jitter);
}

INSTANTIATE_TEST_SUITE_P(Devices, ImportProfiles, testing::Bool(),
                         [](const auto& param) { return std::string(param.param ? "Gpu" : "Processor"); });

TEST_F(ImportFiles, TheRankOfAProfileIsInItsNameIfItHasNoDistributedInfo) {
  const ProfiledJob job{.ranks = 2};
  for (int rank = 0; rank < 2; ++rank) {
    const std::string text = profile_of(job, rank);
    const std::size_t begin = text.find("\"distributedInfo\""), end = text.find("\"traceEvents\"");
    folder_.write(fmt::format("profiles/rank-{}_of_2.json", rank), text.substr(0, begin) + text.substr(end));
  }
  const Cells cells = cells_of(kineto({folder_ / "profiles"}).rows);
  EXPECT_NEAR(cells.at({1, 3}) / job.compute(1, 0), 1, 0.005);
  std::filesystem::rename(folder_ / "profiles/rank-0_of_2.json", folder_ / "profiles/host_12.34.json");
  EXPECT_THAT(said_by([&] { kineto({folder_ / "profiles"}); }), HasSubstr("does not say of which rank it is"));
}

TEST_F(ImportFiles, RanksThatWereNotProfiledAreReported) {
  const ProfiledJob job{.ranks = 6};
  std::vector<std::string> paths = write_profiles(job, folder_);
  const Imported imported = kineto({paths[1], paths[5]});
  const Cells cells = cells_of(imported.rows);
  EXPECT_NEAR(cells.at({0, 3}) / job.compute(1, 0), 1, 0.005);
  EXPECT_NEAR(cells.at({1, 3}) / job.compute(5, 0), 1, 0.005);
  EXPECT_THAT(imported.remarks.texts(), ElementsAre(HasSubstr("ranks 1, 5 are written as 0 to 1")));
  EXPECT_THAT(said_by([&] { kineto({paths[1], paths[1]}); }), HasSubstr("are both of rank 1 and have step 3"));
}

/// Two replicas of two stages. The first stage computes, the second computes both ways, the first computes backward;
/// meanwhile the other one waits for a message.
std::string stage_profile(int replica, int stage, int steps, double clock) {
  profiles::Events events(clock);
  double begin = 1;
  for (int step = 0; step < steps; ++step) {
    const double forward = 0.02 + 0.001 * step, middle = 0.03 + 0.005 * replica, whole = 2 * forward + middle;
    const double end = begin + 2 * forward + 0.035 + 0.004;
    const auto kernel = [&](const char* name, const char* stream, double from, double to) {
      events.add("kernel", name, 0, stream, begin + from, begin + to);
    };
    events.add("user_annotation", fmt::format("ProfilerStep#{}", step), 5, "5", begin, end);
    if (stage == 0) {
      kernel("gemm", "7", 0, forward);
      kernel("ncclDevKernel_SendRecv(x)", "9", forward, forward + middle);
      kernel("gemm", "7", forward + middle, whole);
    } else {
      kernel("ncclDevKernel_SendRecv(x)", "9", 0, forward);
      kernel("gemm", "7", forward, forward + middle);
    }
    events.add("kernel", "ncclDevKernel_AllReduce(x)", 0, "9", begin + (stage == 0 ? whole : forward + middle), end);
    begin = end + 0.001;
  }
  return fmt::format("{{\"distributedInfo\": {{\"rank\": {}}}, \"traceEvents\": [{}]}}", 2 * stage + replica,
                     events.text());
}

TEST_F(ImportFiles, APipelinedReplicaIsTheSpanOfItsRanksOnAlignedClocks) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < 4; ++rank) {
    paths.push_back(folder_ / fmt::format("rank{}.json", rank));
    folder_.write(fmt::format("rank{}.json", rank), stage_profile(rank % 2, rank / 2, 6, 1.7 * rank));
  }
  const Imported imported = kineto(paths, parse_layout("dp2 pp2"));
  const Cells cells = cells_of(imported.rows);
  ASSERT_EQ(cells.size(), 12u);
  for (const auto& [place, seconds] : cells)
    EXPECT_NEAR(seconds / (2 * (0.02 + 0.001 * double(place.second)) + 0.03 + 0.005 * place.first), 1, 0.005);
  ASSERT_TRUE(imported.stage_balance.has_value());
  // The stages of the first replica compute 40 + 2k and 30 ms, those of the second 40 + 2k and 35 ms, k = 2.5 on
  // average.
  EXPECT_NEAR(*imported.stage_balance, ((45 + 30) / 90.0 + (45 + 35) / 90.0) / 2, 1e-3);
  EXPECT_THAT(said_by([&] { kineto(paths, parse_layout("dp2")); }), "");
  EXPECT_THAT(said_by([&] { kineto(paths, parse_layout("dp1 pp2")); }),
              HasSubstr("--parallel is of 2 ranks, but the trace has rank 3"));
  paths.pop_back();
  const Imported without = kineto(paths, parse_layout("tp1,pp2,dp2"));
  EXPECT_EQ(cells_of(without.rows).size(), 6u);
  EXPECT_THAT(without.remarks.texts(), Contains(HasSubstr("replica 1: 1 of its 2 ranks are missing")));
}

TEST_F(ImportFiles, LayoutsAreSizesByName) {
  const Layout layout = parse_layout(" tp4 dp2,pp8 ");
  EXPECT_EQ(layout.data, 2);
  EXPECT_EQ(layout.pipeline, 8);
  EXPECT_EQ(layout.tensor, 4);
  for (const char* bad : {"", "pp2", "dp", "dp0", "dp2x", "xp3 dp1", "dp-1", "dp99999999999", "2"})
    EXPECT_THAT(said_by([&] { parse_layout(bad); }), HasSubstr("--parallel")) << bad;
}

TEST_F(ImportFiles, APublicRecordingOfAPipelinedJobIsAsItWasPublished) {
  const std::string data = source_dir() + "/tests/data/import/";
  Imported expected;
  read_csv_recording({data + "replicas-ST.csv"}, {}, expected);
  const Imported imported = perfetto({data + "timeline-ST.json.gz"});
  const Cells ours = cells_of(imported.rows), theirs = cells_of(expected.rows);
  ASSERT_EQ(theirs.size(), 16u);
  ASSERT_EQ(ours.size(), theirs.size());
  for (const auto& [place, seconds] : theirs) EXPECT_NEAR(ours.at(place), seconds, 1.1e-6);
  EXPECT_THAT(imported.remarks.texts(), IsEmpty());
  ASSERT_TRUE(imported.stage_balance.has_value());
  EXPECT_LT(*imported.stage_balance, 0.9) << "the job was published because its stages are unequal";
}

/// Two ranks without a pipeline: 30 and 40 ms of computation with 10 ms of exposed communication between the halves.
std::string one_document(double clock_of_rank_1, bool with_last_backward = true) {
  std::string events;
  const auto add = [&](const char* name, int pid, int tid, int step, double begin, double end) {
    events += fmt::format(
        "{}{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{\"step\":{}}}}}",
        events.empty() ? "" : ",", name, pid, tid, 1e6 * (begin + pid * clock_of_rank_1), 1e6 * (end - begin), step);
  };
  for (int step = 0; step < 3; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      const double begin = step * 0.1, half = rank == 0 ? 0.015 : 0.02;
      add("forward-compute", rank, 0, step, begin, begin + half);
      add("params-all-gather", rank, 1, step, begin + 0.005, begin + half + 0.010);
      if (with_last_backward || rank == 0 || step < 2)
        add("backward-compute", rank, 0, step, begin + half + 0.010, begin + 2 * half + 0.010);
      add("grads-reduce-scatter", rank, 1, step, begin + 0.01, begin + 0.06);
    }
  }
  return "[" + events + "]";
}

TEST_F(ImportFiles, OneDocumentOfAllRanksIsSpansWithoutExposedCommunication) {
  folder_.write("a.json", one_document(2));
  // The last all-gather and reduce-scatter expose only what lies within the span: 10 ms between the halves.
  const Cells cells = cells_of(perfetto({folder_ / "a.json"}).rows);
  ASSERT_EQ(cells.size(), 6u);
  for (const auto& [place, seconds] : cells) EXPECT_NEAR(seconds, place.first == 0 ? 0.03 : 0.04, 1e-7);
  // Together they are one replica, of 50 ms if their clocks agree. Otherwise one works after the other, 40 and 50 ms.
  const Cells apart = cells_of(perfetto({folder_ / "a.json"}, {.replicas = 1}).rows);
  EXPECT_NEAR(apart.at({0, 0}), 0.09, 1e-6);
  const Imported aligned = perfetto({folder_ / "a.json"}, {.replicas = 1}, true);
  EXPECT_NEAR(cells_of(aligned.rows).at({0, 0}), 0.05, 1e-6);
  EXPECT_NEAR(aligned.clocks.at(0).seconds, 2, 1e-6);
  EXPECT_TRUE(aligned.clocks_applied);
  EXPECT_THAT(said_by([&] { perfetto({folder_ / "a.json"}, {.replicas = 3}); }),
              HasSubstr("--replicas 3 does not divide the 2 ranks"));
  folder_.write("a.json", one_document(0, false));
  const Imported cut = perfetto({folder_ / "a.json"});
  EXPECT_EQ(cut.rows.size(), 5u);
  EXPECT_THAT(cut.remarks.texts(), Contains(HasSubstr("rank 1: step 2: no backward computation")));
}

TEST_F(ImportFiles, AStepOfADocumentWithADamagedEventHasNoRow) {
  const std::string whole = one_document(0);
  const std::size_t begin = whole.find("backward-compute", whole.find("\"step\":1"));  // of rank 0
  for (const char* name : {"backward-compute", "forward-compute", "params-all-gather", "grads-reduce-scatter"}) {
    for (const auto& [key, value] : std::vector<std::pair<std::string, const char*>>{{"dur", "-1"},
                                                                                     {"dur", "null"},
                                                                                     {"dur", "1e9"},
                                                                                     {"ts", "null"},
                                                                                     {"ts", "1e15"},
                                                                                     {"ts", "-1e9"},
                                                                                     {"ts", "290000"}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name, key, value));
      std::string text = whole;
      std::size_t at = text.find(name, text.rfind("\"step\":0", begin));
      at = text.find(key + "\":", at) + key.size() + 2;
      text.replace(at, text.find(',', at) - at, value);
      folder_.write("a.json", text);
      const Imported imported = perfetto({folder_ / "a.json"});
      EXPECT_EQ(imported.rows.size(), 5u);
      for (const auto& [place, seconds] : cells_of(imported.rows))
        EXPECT_NEAR(seconds, place.first == 0 ? 0.03 : 0.04, 1e-7);
      EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr("rank 0: step 1: one of its events is damaged")));
    }
  }
}

TEST_F(ImportFiles, DocumentsThatCannotBeReadAreRefusedWithTheirPlace) {
  const auto refused = [&](const std::string& text) {
    folder_.write("a.json", text);
    return said_by([&] { perfetto({folder_ / "a.json"}); });
  };
  EXPECT_THAT(refused("{\"traceEvents\": [{\"name\": \"a\","), HasSubstr("a.json: damaged at byte"));
  EXPECT_THAT(refused("\x0a\x07 binary"), HasSubstr("a.json"));
  EXPECT_THAT(refused("PK"), HasSubstr("is not JSON: export the trace as Chrome JSON"));
  EXPECT_THAT(refused("{}"), HasSubstr("no event has args.step"));
  EXPECT_THAT(refused("[[1, 2], 3, \"x\", {\"args\": {\"step\": {}}}]"), HasSubstr("no event has args.step"));
  EXPECT_THAT(refused("[\"" + std::string(std::size_t{17} << 20, 'x') + "\"]"), HasSubstr("more than 16 MiB"));
  EXPECT_THAT(said_by([&] { perfetto({folder_ / "none.json"}); }), HasSubstr("none.json cannot be read: No such file"));
  EXPECT_THAT(said_by([&] { perfetto({folder_.path()}); }), HasSubstr("it is a directory"));
  const std::string whole = text_of(source_dir() + "/tests/data/import/timeline-ST.json.gz");
  EXPECT_THAT(refused(whole.substr(0, whole.size() / 2)), HasSubstr("its gzip data end early"));
  folder_.write("b.json", "{\"traceEvents\": []}");
  EXPECT_THAT(said_by([&] { kineto({folder_ / "b.json"}); }), HasSubstr("b.json has no step"));
}

TEST_F(ImportFiles, TablesAreReadUnderUsualNamesAndUnits) {
  const Cells wanted{{{0, 4}, 0.25}, {{0, 5}, 0.5}, {{1, 4}, 1}, {{1, 5}, 2}};
  EXPECT_EQ(cells_of(csv("rank,step,seconds\n0,4,0.25\n1,4,1\n0,5,0.5\n1,5,2\n").rows), wanted);
  EXPECT_EQ(
      cells_of(
          csv("# c\nStep Time (ms);\"Worker\";x;Iteration\r\n250;0;;4\r\n1000;1;;4\r\n500;0;;5\r\n2000;1;;5\r\n").rows),
      wanted);
  EXPECT_EQ(
      cells_of(csv("rank\tstep\tbegin_us\tend_us\n0\t4\t0\t250000\n1\t4\t0\t1e6\n0\t5\t5e5\t1e6\n1\t5\t5e5\t2500000\n")
                   .rows),
      wanted);
  EXPECT_EQ(cells_of(csv("who,gpu,k,took\n0,9,4,250\n1,9,4,1000\n0,9,5,500\n1,9,5,2000\n",
                         {.rank = "who", .step = "k", .seconds = "took", .unit = "ms"})
                         .rows),
            wanted);
  const CsvColumns spans{.begin = "a", .end = "b", .unit = "s"};
  EXPECT_EQ(cells_of(csv("rank,step,seconds,a,b\n0,4,9,1,1.25\n1,4,9,1,2\n0,5,9,1,1.5\n1,5,9,1,3\n", spans).rows),
            wanted);
}

TEST_F(ImportFiles, TablesThatCannotBeReadAreRefusedWithTheirPlace) {
  EXPECT_THAT(refused_csv(""), HasSubstr("a.csv has no header"));
  EXPECT_THAT(refused_csv("rank,seconds\n"), HasSubstr("a.csv:1: no column is the step: name it with --step-column"));
  EXPECT_THAT(refused_csv("rank,step\n"), HasSubstr("name it with --seconds-column"));
  EXPECT_THAT(refused_csv("rank,step,duration\n"), HasSubstr("'duration' does not say its unit: give --unit"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n", {.rank = "who"}),
              HasSubstr("no column is called 'who' (--rank-column)"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1\n"), HasSubstr("a.csv:2: 2 cells, not 3"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1,0,15\n"),
              HasSubstr("4 cells, not 3: if numbers have a decimal comma"));
  EXPECT_THAT(refused_csv("rank;step;seconds\n0;1;0,15\n"), HasSubstr("'0,15' in column 3 has a decimal comma"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1,1\nx,1,1\n"), HasSubstr("a.csv:3: the rank is 'x'"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1.5,1\n"), HasSubstr("the step is '1.5'"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1,1s\n"),
              HasSubstr("a.csv:2: '1s' in column 3 is not a number: correct the cell"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n"), HasSubstr("no step of any rank can be used"));
  EXPECT_THAT(refused_csv("rank,step,seconds\n0,1,-1\n"),
              HasSubstr("rank 0: step 1: a time that is not from 1e-09 s to 1000000000 s: left out (the first: -1 s)"));
}

TEST_F(ImportFiles, RowsThatAreMissingOrThereTwiceAreReportedAndLeftOut) {
  const Imported imported =
      csv("rank,step,seconds\n0,1,1\n0,2,1\n0,2,2\n0,3,5\n1,1,\n1,2,3\n1,3,4\n1,4,5\n0,4,nan\n0,5,6\n1,5,7\n");
  EXPECT_EQ(
      cells_of(imported.rows),
      (Cells{{{0, 1}, 1.0}, {{0, 3}, 5.0}, {{0, 5}, 6.0}, {{1, 2}, 3.0}, {{1, 3}, 4.0}, {{1, 4}, 5.0}, {{1, 5}, 7.0}}));
  for (const char* remark :
       {"rank 1: step 1: no time: left out", "rank 0: step 2: more than one row: all are left out",
        "rank 0: step 4: a time that is not from", "ranks 0, 1: 3 steps, among them steps 2, 4 of rank 0: missing"})
    EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr(remark)));
}

TEST_F(ImportFiles, WhatIsWrittenIsATraceOfTheSameTimes) {
  const Imported imported = csv("rank,step,seconds\n7,4,0.000123456789\n9,4,1234.5\n7,5,1e-6\n9,5,2\n");
  std::ostringstream text;
  write_trace(imported.rows, "a title\nin two lines", text);
  folder_.write("x.trace.csv", text.str());
  const auto trace = Trace::read(folder_ / "x.trace.csv");
  EXPECT_EQ(trace->ranks(), 2);
  EXPECT_EQ(trace->steps(), 2);
  EXPECT_NEAR(trace->seconds(0, 0), 0.000123456789, 1e-13);
  EXPECT_NEAR(trace->seconds(1, 0), 1234.5, 1e-6);
  EXPECT_NEAR(trace->seconds(0, 1), 1e-6, 1e-15);
}

}  // namespace
}  // namespace hopbench
