// Profiles of GPUs: which kernels belong to a step, what communicates, and what is damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "suites/import/readers.h"
#include "tests/folder.h"
#include "tests/said.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// The events of a profile, with times in milliseconds.
class Recorded {
 public:
  void span(const std::string& category, const std::string& name, int thread, double begin, double length,
            const std::string& args = "") {
    text += fmt::format(R"({}{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                        text.empty() ? "" : ",\n", category, name, thread, 1000 * begin, 1000 * length, args);
  }
  void step(int number, double begin, double length) {
    span("user_annotation", fmt::format("ProfilerStep#{}", number), 1, begin, length);
  }
  void kernel(const std::string& name, int stream, double begin, double length) {
    span("kernel", name, stream, begin, length);
  }
  void launched(const std::string& name, int stream, double launch, double begin, double length) {
    const std::string args = fmt::format(R"("correlation":{})", ++launches_);
    if (launches_ != lost) span("cuda_runtime", "cudaLaunchKernel", 1, launch, 0.005, args);
    span("kernel", name, stream, begin, length, args);
  }
  std::string document(int rank = 0) const {
    return fmt::format(R"({{"distributedInfo":{{"rank":{}}},"traceEvents":[{}]}})", rank, text);
  }
  std::string text;
  int lost = -1;  // the launch that is not in the file

 private:
  int launches_ = 0;
};

/// Steps of a host that takes `host` ms for each, of a GPU that computes 12 ms and exposes 8 ms of communication.
Recorded lagging(double host, int lost = -1, double from = 0) {
  Recorded profile;
  profile.lost = lost;
  for (int i = 0; i < 8; ++i) {
    const double begin = from + i * host, gpu = from + 5 + i * std::max(host, 20.0);
    profile.step(i, begin, host);
    profile.launched("gemm", 7, begin + 0.1, gpu, 12);
    profile.launched("ncclDevKernel_AllReduce(x)", 20, begin + 6, gpu + 12, 8);
  }
  return profile;
}

/// Returns the text with another value in the event that has both words.
std::string changed(const std::string& text, const std::string& word, const std::string& other, const std::string& key,
                    const std::string& value) {
  std::string found, line;
  for (std::istringstream lines(text); std::getline(lines, line); found += line + "\n") {
    if (line.find(word) == line.npos || line.find(other) == line.npos) continue;
    const std::size_t at = line.find(':', line.find(fmt::format("\"{}\"", key))) + 1;
    line.replace(at, line.find_first_of(",}", at) - at, value);
  }
  return found;
}

/// Four steps of 100 ms from 1 s on, without launches: 60 ms of computation, then NCCL.
Recorded plain(double compute = 60, const std::function<void(Recorded&, int, double)>& more = {}) {
  Recorded profile;
  for (int i = 0; i < 4; ++i) {
    const double begin = 1000 + 100 * i;
    profile.step(i + 3, begin, 100);
    profile.kernel("gemm", 7, begin + 1, compute - 1);
    profile.kernel("ncclDevKernel_AllReduce(x)", 20, begin + compute, 100 - compute);
    if (more) more(profile, i, begin);
  }
  return profile;
}

class ImportKineto : public testing::Test {
 protected:
  Imported import_text(const std::string& text, const std::vector<std::string>& words = {}) const {
    folder_.write("profile.json", text);
    return import_files({folder_ / "profile.json"}, {}, words);
  }
  static Imported import_files(const std::vector<std::string>& paths, const Layout& layout = {},
                               const std::vector<std::string>& words = {}) {
    Imported imported;
    for (const std::string& word : words) imported.communication.add_word(word);
    read_kineto(paths, layout, imported);
    finish_rows(imported, paths.front());
    return imported;
  }
  static void expect(const Imported& imported, std::size_t rows, double milliseconds) {
    EXPECT_EQ(imported.rows.size(), rows);
    for (const TraceRow& row : imported.rows)
      EXPECT_NEAR(row.seconds * 1000, milliseconds, 0.001 * milliseconds) << row.step;
  }
  Folder folder_;
};

TEST_F(ImportKineto, AKernelBelongsToTheStepThatLaunchedIt) {
  for (const double host : {4.0, 16.0, 19.0}) {
    const Imported imported = import_text(lagging(host).document());
    expect(imported, 8, 12);
    EXPECT_THAT(imported.remarks.texts(), IsEmpty());
  }
  // The time before and after its kernels counts where the GPU waits for the host.
  expect(import_text(lagging(40).document()), 8, 32);
}

TEST_F(ImportKineto, WhereALaunchIsMissingOnlyTheStepsBesideItAreLeftOut) {
  for (const int lost : {1, 7, 8, 16}) {  // a computation or communication at the edge of a step
    const Imported imported = import_text(lagging(16, lost).document());
    EXPECT_GE(imported.rows.size(), 6u) << lost;
    EXPECT_LT(imported.rows.size(), 8u) << lost;
    expect(imported, imported.rows.size(), 12);
    EXPECT_THAT(imported.remarks.texts(),
                Contains(AllOf(HasSubstr("launches are not in the file"), HasSubstr("1 kernels"))));
    EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr("may belong to it are missing or damaged: left out")));
  }
  // Kernels that run when the recording begins are of earlier steps.
  Recorded busy;
  for (int i = 0; i < 5; ++i) busy.span("kernel", "gemm", 7, 0.01 + i, 0.9, fmt::format(R"("correlation":{})", i - 20));
  const Imported running = import_text("[" + busy.text + "," + lagging(16).text + "]");
  expect(running, 8, 12);
  EXPECT_THAT(running.remarks.texts(), ElementsAre(HasSubstr("launched before the recording")));
  Recorded without;  // any launch: the marks of the host do not tell what is of a step
  for (int i = 0; i < 4; ++i) {
    without.step(i, 16 * i, 16);
    without.kernel("gemm", 7, 5 + 20 * i, 12);
    without.kernel("ncclDevKernel_AllReduce(x)", 20, 17 + 20 * i, 8);
  }
  EXPECT_THAT(said_by([&] { import_text(without.document()); }), HasSubstr("launches"));
  const Imported in_time = import_text(plain().document());
  expect(in_time, 4, 60);
  EXPECT_THAT(in_time.remarks.texts(), Contains(HasSubstr("a step is what the processor marks")));
}

TEST_F(ImportKineto, AnEventThatNeverEndedDecidesNothingElse) {
  for (const double length : {9223372036854.775807, 9223372036.854, 700.0, 1e5}) {
    for (const int stream : {9, 7}) {
      for (const int step : {0, 1, 3}) {
        if (step == 3 && length < 1000) continue;  // within the profile's length after its last step
        const Imported imported = import_text(plain(60, [&](Recorded& profile, int i, double begin) {
                                                if (i == step) profile.kernel("gemm", stream, begin + 70, length);
                                              }).document());
        expect(imported, 4, 60);
        EXPECT_THAT(imported.remarks.texts(),
                    Contains(testing::AnyOf(HasSubstr("had never ended"), HasSubstr("without a usable time"))))
            << length << " " << stream << " " << step;
      }
    }
  }
  // A mark that ends too late is a step that is left out.
  std::string text = plain().document();
  text.replace(text.find("\"dur\":100000", text.find("ProfilerStep#4")), 12, "\"dur\":290000");
  const Imported imported = import_text(text);
  expect(imported, 3, 60);
  EXPECT_THAT(imported.remarks.texts(),
              Contains(HasSubstr("rank 0: step 4: marked beyond the begin of the next step")));
}

TEST_F(ImportKineto, AKernelOrLaunchAtAWrongTimeDecidesNothingElse) {
  for (const double host : {16.0, 19.0, 40.0}) {
    const std::string whole = lagging(host).document();
    for (int correlation = 1; correlation <= 16; ++correlation) {
      const std::int64_t step = (correlation - 1) / 2;
      const double begin = 1000 * (5 + double(step) * std::max(host, 20.0) + (correlation % 2 == 0 ? 12 : 0));
      for (const double at : {1e15, 0.0, begin + 41'000, begin - 90'000}) {
        if (std::abs(at - begin) < 1e5 && (step < 5 || step == 7)) continue;  // 90 ms earlier, or later than the last
        const std::string id = fmt::format("\"correlation\":{}}}", correlation);
        for (const char* event : {"\"kernel\"", "cudaLaunchKernel"}) {
          SCOPED_TRACE(fmt::format("host {} {} of launch {} at {}", host, event, correlation, at));
          const Imported imported = import_text(changed(whole, event, id, "ts", fmt::format("{}", at)));
          EXPECT_GE(imported.rows.size(), 6u);
          expect(imported, imported.rows.size(), host > 20 ? 32 : 12);
          EXPECT_THAT(imported.remarks.texts(), Contains(AllOf(HasSubstr("left out"), HasSubstr("(the first: 1 "))));
        }
      }
    }
  }
}

TEST_F(ImportKineto, TheStepOfADamagedKernelOrMarkHasNoRow) {
  const std::vector<std::pair<const char*, const char*>> damages{{"dur", "-1"},   {"dur", "null"}, {"dur", "1e9"},
                                                                 {"ts", "\"x\""}, {"ts", "0"},     {"ts", "1e15"}};
  for (const double host : {16.0, 19.0, 40.0}) {
    const std::string whole = lagging(host, -1, 10'000).document();
    const auto without = [&](int step, const std::string& text, std::size_t least) {
      const Imported imported = import_text(text);
      EXPECT_GE(imported.rows.size(), least);
      for (const TraceRow& row : imported.rows) EXPECT_NE(row.step, step);
      expect(imported, imported.rows.size(), host > 20 ? 32 : 12);
      EXPECT_THAT(imported.remarks.texts(), Not(Contains(HasSubstr("no row depends"))));
    };
    for (int step = 0; step < 8; ++step) {
      const std::string mark = fmt::format("ProfilerStep#{}\"", step);
      for (const auto& [key, value] : damages) {
        SCOPED_TRACE(fmt::format("host {}, step {}, {} {}", host, step, key, value));
        for (const int kernel : {1, 2})
          without(step,
                  changed(whole, "\"kernel\"", fmt::format("\"correlation\":{}}}", 2 * step + kernel), key, value), 6);
        without(step, changed(whole, mark, "user_annotation", key, value), 7);
      }
      for (const double shift : {-2.5, -1.5, -0.3, 0.3, 1.5, 2.5})  // steps
        if (step + shift > 0 && step + shift < 7)
          without(
              step,
              changed(whole, mark, "user_annotation", "ts", fmt::format("{}", 1000 * (10'000 + host * (step + shift)))),
              6);
    }
  }
}

TEST_F(ImportKineto, WithoutLaunchesADamagedCollectiveIsOfTheStepInWhichItBegins) {
  Recorded on_host;
  for (int i = 0; i < 4; ++i) {
    on_host.step(i + 3, 1000 + 100 * i, 100);
    on_host.span("cpu_op", "aten::mm", 1, 1000 + 100 * i, 60);
    on_host.span("user_annotation", "gloo:all_reduce", 55, 1060 + 100 * i, 40);
  }
  for (const std::string& whole : {on_host.document(), plain().document()}) {
    const char* const name = whole.find("gloo") != whole.npos ? "gloo:all_reduce" : "AllReduce";
    const auto with = [&](const char* key, const char* value) {
      return changed(whole, name, "\"ts\":1160000", key, value);
    };
    for (const char* length : {"-1", "null", "1e9"}) {
      const Imported imported = import_text(with("dur", length));
      expect(imported, 3, 60);
      EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr("rank 0: step 4: one of its events is damaged")));
    }
    for (const char* begin : {"null", "0", "1e15"})
      EXPECT_THAT(said_by([&] { import_text(with("ts", begin)); }), HasSubstr("a damaged event may be of any step"));
  }
}

TEST_F(ImportKineto, GraphsAndClocksThatDifferAreNoDamage) {
  for (const double skew : {0.0, 0.02, 3.0}) {  // ms by which the clock of the GPU is behind
    Recorded profile;
    for (int i = 0; i < 8; ++i) {
      const double begin = 40 * i;
      profile.step(i, begin, 40);
      const std::string args = fmt::format(R"("correlation":{})", i + 1);  // of all kernels of a graph
      profile.span("cuda_runtime", "cudaGraphLaunch", 1, begin + 0.1, 0.005, args);
      for (int k = 0; k < 12; ++k) {
        profile.span("kernel", "gemm", 7 + k % 2, begin + 0.11 + k - skew, 1, args);
        profile.span("kernel", "ncclDevKernel_AllReduce(x)", 20, begin + 12.11 + k - skew, 1, args);
      }
    }
    const Imported imported = import_text(profile.document());
    EXPECT_THAT(imported.remarks.texts(), IsEmpty()) << skew;
    if (skew < 1) expect(imported, 8, 28);
  }
}

TEST_F(ImportKineto, HostAndGpuCommunicateTogether) {
  const auto gloo = [](Recorded& profile, int, double begin) {
    profile.span("user_annotation", "gloo:all_reduce", 55, begin + 40, 20);
  };
  Recorded mixed, alone;
  for (int i = 0; i < 4; ++i) {
    for (Recorded* profile : {&mixed, &alone}) {
      profile->step(i, 100 * i, 100);
      profile->kernel("gemm", 7, 100 * i, 50);
      profile->span("user_annotation", "gloo:all_reduce", 55, 100 * i + (profile == &mixed ? 70 : 50),
                    profile == &mixed ? 30 : 50);
    }
    mixed.kernel("ncclDevKernel_AllReduce(x)", 20, 100 * i + 50, 20);
  }
  expect(import_text(mixed.document()), 4, 50);
  expect(import_text(alone.document()), 4, 50);
  expect(import_text(plain(60, gloo).document()), 4, 60);  // beside kernels nothing is exposed
}

TEST_F(ImportKineto, NamesOfCommunicationAreKnownOrGiven) {
  const auto with = [&](const std::string& name) {
    Recorded profile;
    for (int i = 0; i < 4; ++i) {
      profile.step(i, 100 * i, 100);
      profile.kernel("gemm", 7, 100 * i, 60);
      profile.kernel("ncclDevKernel_Broadcast(x)", 20, 100 * i + 60, 5);
      profile.kernel(name, 21, 100 * i + 65, 35);
    }
    return profile.document();
  };
  for (const char* name : {"mscclKernel_Sum_half_LL128", "void deep_ep::internode::combine<8>",
                           "vllm::cross_device_reduce_2stage<half, 8>", "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
                           "quickreduce::twoshot", "nvshmemi_put_kernel"})
    expect(import_text(with(name)), 4, 60);
  const Imported unknown = import_text(with("my_Dispatch_kernel"));
  expect(unknown, 4, 95);
  EXPECT_EQ(unknown.communication.longest(NameKind::kSuspect, 5).at(0).first, "my_Dispatch_kernel");
  EXPECT_NEAR(unknown.communication.longest(NameKind::kSuspect, 5).at(0).second, 0.14, 1e-9);
  const Imported given = import_text(with("my_Dispatch_kernel"), {"dispatch_k"});
  expect(given, 4, 60);
  EXPECT_EQ(given.communication.longest(NameKind::kCommunication, 1).at(0).first, "my_Dispatch_kernel");
  EXPECT_THAT(said_by([&] { import_text(with("x"), {""}); }), HasSubstr("--communication needs a word"));
}

TEST_F(ImportKineto, AnotherNumberOfCollectivesIsAReasonOnlyWhereRowsDependOnClocks) {
  std::vector<std::string> paths;
  for (int rank = 0; rank < 4; ++rank) {
    const auto more = [&](Recorded& profile, int, double begin) {
      if (rank == 0) profile.kernel("ncclDevKernel_Broadcast(x)", 21, begin + 99, 0.5);
    };
    paths.push_back(folder_ / fmt::format("rank{}.json", rank));
    folder_.write(fmt::format("rank{}.json", rank), plain(rank == 0 ? 85 : 60, more).document(rank));
  }
  const Imported imported = import_files(paths);
  EXPECT_EQ(imported.rows.size(), 16u);
  EXPECT_NEAR(imported.rows.front().seconds, 0.085, 1e-4);
  EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr("rank 0: steps 3, 4, 5, 6: another number of collectives")));
  const std::vector<std::string> grouped = [&] {
    Imported pairs;
    read_kineto(paths, parse_layout("dp2 pp2"), pairs);
    return pairs.remarks.texts();
  }();
  EXPECT_THAT(grouped.front(), StartsWith("rank 1 is left out: all its steps"));
  EXPECT_THAT(grouped, Not(Contains(HasSubstr("rank 1: steps 3, 4, 5, 6: another"))));
}

TEST_F(ImportKineto, ValuesThatAreNotNeededMayBeAnything) {
  const std::string whole = plain(60, [](Recorded& profile, int, double begin) {
                              profile.span("python_function", "NAME", 3, begin + 10, 5, R"("bandwidth":VALUE)");
                            }).document();
  const auto with = [&](const std::string& value, const std::string& name) {
    std::string text = whole;
    for (std::size_t at; (at = text.find("VALUE")) != text.npos;) text.replace(at, 5, value);
    for (std::size_t at; (at = text.find("NAME")) != text.npos;) text.replace(at, 4, name);
    return text;
  };
  for (const char* value :
       {"inf", "nan", "-nan", "NaN", "-Infinity", "-nan(ind)", "1.#INF", "[1, {}, \"]\"]", "1e999", "01"})
    expect(import_text(with(value, "x")), 4, 60);
  for (const char* name : {"lib\\cuda\\init.py(219): f", "a\x01\n\tb", "\xe9\xff", "a\\\\", "say \\\"x\\\"", "\\ud83d"})
    expect(import_text(with("1", name)), 4, 60);
  std::string text = with("1", "x");
  expect(import_text("\xef\xbb\xbf" + text), 4, 60);
  text.resize(text.size() - 2);  // without ]}
  const Imported open = import_text(text);
  expect(open, 4, 60);
  EXPECT_THAT(open.remarks.texts(), Contains(HasSubstr("may have been cut")));
  expect(import_text(text + ",]}"), 4, 60);
  EXPECT_THAT(said_by([&] { import_text(text.substr(0, text.size() - 3)); }),
              HasSubstr("the file ends within a value"));
  EXPECT_THAT(said_by([&] { import_text(text + "]} x"); }), HasSubstr("something follows the end"));
  EXPECT_THAT(said_by([&] { import_text("\xff\xfe{"); }), HasSubstr("byte order mark says that it is UTF-16"));
  // Where a value is needed, it is a number.
  for (std::size_t at; (at = text.find("\"ts\":1")) != text.npos;) text.replace(at, 6, "\"ts\":\"x\",\"y\":1");
  EXPECT_THAT(said_by([&] { import_text(text); }),
              AllOf(HasSubstr("has numbers for ts and dur"), Not(HasSubstr("schedule"))));
}

TEST_F(ImportKineto, OneFileNeedsNoRankAndSeveralMayBeOfOne) {
  const std::string text = "{\"traceEvents\":[" + plain().text + "]}";
  for (const char* name : {"trace_20240229.json", "x__1016002.json", "a_1.2.json", "x.json"}) {
    folder_.write(name, text);
    expect(import_files({folder_ / name}), 4, 60);
  }
  Recorded later;
  for (int i = 0; i < 3; ++i) {
    later.step(20 + i, 9000 + 100 * i, 100);
    later.kernel("gemm", 7, 9000 + 100 * i, 60);
    later.kernel("ncclDevKernel_AllReduce(x)", 20, 9060 + 100 * i, 40);
  }
  folder_.write("worker0.1623143089861.json", text);
  folder_.write("worker0.1623143566756.json", "{\"traceEvents\":[" + later.text + "]}");
  const std::vector<std::string> cycles{folder_ / "worker0.1623143566756.json", folder_ / "worker0.1623143089861.json"};
  expect(import_files(cycles), 7, 60);
  expect(import_files(cycles, {.replicas = 1}), 7, 60);
}

}  // namespace
}  // namespace hopbench
