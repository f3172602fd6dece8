// Tables and documents whose numbers are not what they seem, and remarks about them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::SizeIs;

class ImportRows : public testing::Test {
 protected:
  Imported csv(const std::string& text, const CsvColumns& columns = {}, int skip = 0) const {
    folder_.write("a.csv", text);
    Imported imported;
    read_csv_recording({folder_ / "a.csv"}, columns, imported);
    finish_rows(imported, "a.csv", skip);
    return imported;
  }
  std::string refused(const std::string& text, const CsvColumns& columns = {}) const {
    return said_by([&] { csv(text, columns); });
  }
  /// Returns a table of two ranks. `seconds` gives the cell of a rank and step; an empty one has no row.
  template <class Seconds>
  static std::string table(int steps, const Seconds& seconds) {
    std::string text = "rank,step,seconds\n";
    for (int step = 0; step < steps; ++step) {
      for (int rank = 0; rank < 2; ++rank)
        if (const std::string cell = seconds(rank, step); !cell.empty())
          text += fmt::format("{},{},{}\n", rank, step, cell);
    }
    return text;
  }
  Folder folder_;
};

TEST_F(ImportRows, IntegersMayBeWrittenAsFractions) {
  const Imported imported = csv("rank,step,seconds\n0.0,4.0,1\n1.0,4,2\n");
  ASSERT_EQ(imported.rows.size(), 2u);
  EXPECT_EQ(imported.rows[1].step, 4);
  EXPECT_THAT(refused("rank,step,seconds\n0.5,1,1\n"), HasSubstr("the rank is '0.5'"));
}

TEST_F(ImportRows, ALastLineThatMayBeCutIsLeftOut) {
  const Imported imported = csv("rank,step,seconds\n0,1,0.5\n0,2,0.25\n0,3,0.2");
  EXPECT_THAT(imported.rows, SizeIs(2));
  EXPECT_THAT(imported.remarks.texts(), Contains(HasSubstr("a.csv:4: the last line has no end and may be cut")));
  EXPECT_THAT(csv("rank,step,seconds\n0,1,0.5\n0,2").rows, SizeIs(1));
}

TEST_F(ImportRows, AHeaderThatRepeatsIsSkipped) {
  EXPECT_THAT(csv("rank,step,seconds\n0,1,1\nrank,step,seconds\n0,2,1\n").rows, SizeIs(2));
}

TEST_F(ImportRows, TimesSinceTheStartAreReported) {
  const auto rising = [](int rank, int step) { return fmt::format("{}", 0.1 * (1 + rank) * (1 + step)); };
  EXPECT_THAT(csv(table(20, rising)).remarks.texts().at(0), HasSubstr("time since the start"));
  const auto equal = [](int, int) { return std::string("0.1"); };
  EXPECT_THAT(csv(table(20, equal)).remarks.texts(), IsEmpty());
  for (const int fall : {1, 5, 19}) {  // a cell that a clock set back makes smaller
    const auto noisy = [&](int rank, int step) {
      return fmt::format("{}", 1 + step - (rank == 0 && step == fall ? 1.01 : 0));
    };
    EXPECT_THAT(csv(table(20, noisy)).remarks.texts(), ElementsAre(HasSubstr("time since the start"))) << fall;
  }
  const auto drifting = [](int rank, int step) {
    return fmt::format("{}", 1 + 0.1 * step + (step % 5 == rank ? 0.3 : 0));
  };
  EXPECT_THAT(csv(table(40, drifting)).remarks.texts(), IsEmpty());
  for (const char* name : {"elapsed_s", "Total Time (s)", "cumulative_seconds", "seconds since start", "wall_s"}) {
    const auto named = [&](const char* cells) {
      return csv(fmt::format("rank,step,{}\n{}", name, cells),
                 {.seconds = name, .unit = std::string(name).ends_with('t') ? "s" : ""})
          .remarks.texts();
    };
    EXPECT_THAT(named("0,0,1\n1,0,1\n0,1,2\n1,1,2.1\n0,2,3\n1,2,3.2\n"), ElementsAre(HasSubstr("time since the start")))
        << name;
    EXPECT_THAT(named("0,0,1\n1,0,1\n0,1,1.1\n1,1,1.2\n0,2,1.2\n1,2,1.3\n"), IsEmpty()) << name;
  }
}

TEST_F(ImportRows, FirstStepsFarFromTheOthersAreReportedAndMayBeLeftOut) {
  const auto compiled = [](int, int step) { return step < 2 ? "30" : "0.1"; };
  const Imported imported = csv(table(40, compiled));
  EXPECT_THAT(imported.remarks.texts().at(0), AllOf(HasSubstr("first steps, 0 to 1, are far"), HasSubstr("--skip 2 ")));
  const Imported skipped = csv(table(40, compiled), {}, 2);
  EXPECT_THAT(skipped.rows, SizeIs(76));
  EXPECT_EQ(skipped.rows.front().step, 2);
  EXPECT_THAT(skipped.remarks.texts(), IsEmpty());
  EXPECT_THAT(said_by([&] { csv("rank,step,seconds\n0,1,1\n", {}, 2); }), HasSubstr("--skip 2 leaves out all steps"));
}

TEST_F(ImportRows, TheMainCauseComesFirstAndStepsAreGrouped) {
  const auto late = [](int rank, int step) {
    return (rank == 1 && step < 30) || (rank == 0 && step % 10 == 5) ? "" : "0.1";
  };
  const std::vector<std::string> texts = csv(table(100, late)).remarks.texts();
  ASSERT_THAT(texts, SizeIs(2));
  EXPECT_THAT(texts[0], HasSubstr("rank 1 begins at step 30: the 27 steps before it (27.8 %) are not of all ranks"));
  EXPECT_EQ(texts[1], "rank 0: steps 35, 45, 55, 65, 75, 85 and 1 more: missing, though other ranks have it");
}

TEST_F(ImportRows, ATraceWithoutCommonStepsIsRefused) {
  const auto apart = [](int rank, int step) { return step % 2 == rank ? "0.1" : ""; };
  EXPECT_THAT(refused(table(10, apart)), HasSubstr("no step is of all ranks"));
}

TEST_F(ImportRows, ColumnsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refused("rank,rank,step,seconds\n"),
              HasSubstr("columns 1 ('rank') and 2 ('rank') could both be the rank"));
  EXPECT_THAT(refused("rank,step,duration_ms,step_time_us\n"), HasSubstr("name one with --seconds-column"));
  EXPECT_THAT(refused("rank,step,compute_ms\n", {.unit = "us"}), HasSubstr("says ms, and --unit says us"));
  EXPECT_THAT(csv("rank,step,compute_ms\n0,1,5\n", {.unit = "ms"}).rows, SizeIs(1));
  EXPECT_THAT(refused("\xff\xfer"), HasSubstr("byte order mark"));
  EXPECT_THAT(said_by([] { parse_layout("dp2 dp2"); }), HasSubstr("dp is there twice"));
}

TEST_F(ImportRows, PidsThatAreNoRanksAreRefused) {
  const auto refused_pids = [&](const std::vector<std::string>& pids) {
    std::string text;
    for (const std::string& pid : pids)
      text += fmt::format(R"({}{{"ph":"X","name":"compute","pid":{},"tid":1,"ts":1,"dur":5,"args":{{"step":3.0}}}})",
                          text.empty() ? "[" : ",", pid);
    folder_.write("a.json", text);  // a list of events may lack its end
    return said_by([&] {
      Imported imported;
      read_perfetto({folder_ / "a.json"}, {}, false, imported);
      finish_rows(imported, "a.json");
    });
  };
  EXPECT_THAT(refused_pids({"0", "1", "100000"}), HasSubstr("the pid of an event is a rank, and 100000 is not from 0"));
  EXPECT_THAT(refused_pids({"131072", "131073"}), HasSubstr("is not from 0 to 99999"));
  EXPECT_THAT(refused_pids({"0", "-1"}), HasSubstr("and -1 is not"));
  EXPECT_THAT(refused_pids({"\"gpu\""}), HasSubstr("their pid is no integer"));
  EXPECT_EQ(refused_pids({"0", "1.0"}), "");
}

}  // namespace
}  // namespace hopbench
