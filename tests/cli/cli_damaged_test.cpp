// Commands over results that were damaged or edited, from outside: exit code 2 and what is wrong, never an internal
// error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/over_results.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Damaged : public OverResults {
 protected:
  /// Runs each command, which must end with exit code 2 and these words.
  void refused(const std::vector<Args>& commands, const std::string& words) const {
    for (const Args& command : commands) {
      const Ended ended = run(command);
      EXPECT_EQ(ended.code, 2) << command.front() << ": " << ended.out << ended.err;
      EXPECT_THAT(ended.err, HasSubstr(words)) << command.front();
    }
  }
  void copy_run(const std::string& to) const {
    std::filesystem::copy(at("run"), at(to), std::filesystem::copy_options::recursive);
  }
  static constexpr const char* kLog = "/events/small+rate+homogeneous+allreduce+1+0.jsonl";
};

TEST_F(Damaged, AnEmptyEventLogIsCalledEmpty) {
  copy_run("odd");
  folder_.write(std::string("odd") + kLog, "");
  refused({{"baseline", "save", "main", "odd"}, {"trace", "odd"}, {"gate", "--baseline", "run", "odd"}},
          std::string("odd") + kLog + ":1: damaged: the event log is empty: run the trial again");
  EXPECT_THAT(fine({"report", "odd"}).err, HasSubstr("1: damaged: the event log is empty"));
}

TEST_F(Damaged, AnEventOfARankThatDoesNotExistIsRefused) {
  copy_run("odd");
  const std::string log = text_of(at("odd") + kLog);
  folder_.write(std::string("odd") + kLog, log + "{\"t\":1,\"rank\":4,\"what\":\"enter\"}\n");
  refused({{"baseline", "save", "main", "odd"}, {"trace", "odd"}}, "damaged: 'rank' is 4, expected a rank from 0 to 3");
  EXPECT_THAT(fine({"report", "odd"}).err, HasSubstr("expected a rank from 0 to 3"));
}

TEST_F(Damaged, ALogDamagedMidwayLeavesNoTrace) {
  copy_run("odd");
  std::string log = text_of(at("odd") + kLog);
  log.insert(log.find('\n', log.size() / 2) + 1, "{\"t\":\n");
  folder_.write(std::string("odd") + kLog, log);
  refused({{"trace", "odd"}, {"trace", "odd", "-o", at("mine.json")}}, "damaged");
  EXPECT_FALSE(std::filesystem::exists(at("odd/trace.json")));
  EXPECT_FALSE(std::filesystem::exists(at("mine.json")));
}

TEST_F(Damaged, ATableIsCheckedAsRowsAre) {
  const std::string table = text_of(at("run/trials.csv"));
  folder_.write("twice.csv", table + table.substr(table.find('\n') + 1));
  refused({{"compare", "run", "twice.csv"}}, "twice.csv: row 5: trial small/rate/homogeneous/hop/1/0 is in row 1");
  folder_.write("clock.csv", with(table, ",virtual,", ",lunar,"));
  refused({{"compare", "run", "clock.csv"}}, "clock.csv: row 1: 'clock' is 'lunar', which no trial has");
}

TEST_F(Damaged, AnUnknownStatusIsRefused) {
  copy_run("odd");
  folder_.write("odd/trials.jsonl", with(text_of(at("odd/trials.jsonl")), "\"status\":\"ok\"", "\"status\":\"fine\""));
  refused(
      {{"compare", "run", "odd"}, {"report", "odd"}, {"run", "--resume", "odd"}},
      "odd/trials.jsonl:1: damaged: not a finished trial: 'status': 'fine' is not a status of a trial: there are ok, "
      "failed and interrupted");
}

TEST_F(Damaged, AContextOfOtherTypesIsNoInternalError) {
  copy_run("odd");
  for (const char* context : {R"({"environment": 5})", R"({"hopbench": "x"})", R"({"machine": [1]})", R"({"notes": 3})",
                              R"({"notes": [1]})"}) {
    folder_.write("odd/context.json", context);
    refused({{"compare", "run", "odd"}, {"report", "odd"}, {"baseline", "save", "main", "odd"}},
            "odd/context.json is damaged: '");
  }
  // Values within the parts may be anything.
  folder_.write("odd/context.json", R"({"hopbench": {"version": 5, "commit": [], "libraries": 7}, "started": {},
      "machine": {"cpu": null, "memory_bytes": "much"}, "environment": {"OMP_NUM_THREADS": {}}})");
  for (const Args& command :
       {Args{"compare", "run", "odd"}, Args{"report", "odd"}, Args{"gate", "--baseline", "run", "odd"},
        Args{"baseline", "save", "main", "odd"}, Args{"run", "--resume", "odd"}, Args{"cite", "odd"}}) {
    EXPECT_THAT(run(command).err, Not(HasSubstr("internal error"))) << command.front();
  }
}

TEST_F(Damaged, ARateBeyondAllMeasureIsPrintedInFewDigits) {
  copy_run("odd");
  std::string rows = text_of(at("odd/trials.jsonl"));
  for (const std::string name : {"\"samples_per_s\":", "\"window_ideal_samples_per_s\":"}) {
    const std::size_t rate = rows.find(name) + name.size();
    rows.replace(rate, rows.find(',', rate) - rate, "1e308");
  }
  folder_.write("odd/trials.jsonl", rows);
  const std::string out = fine({"compare", "run", "odd"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("e+30"), Not(HasSubstr("0000000000"))));
}

TEST_F(Damaged, ARootThatDoesNotExistIsNamed) {
  const Ended ended = run({"run", "smoke"}, {"HOPBENCH_ROOT=/nowhere"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("HOPBENCH_ROOT is /nowhere, and there is no such folder: set it to a checkout"));
}

TEST_F(Damaged, ALineBreakInAPathIsEscaped) {
  const Ended made = run({"run", "a.toml", "-o", "a\nb", "-f", "hop"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, AllOf(HasSubstr("results: a\\nb\n"), Not(HasSubstr("a\nb"))));
  const std::vector<Args> commands{{"run", "a.toml", "-o", "a\nb"},
                                   {"run", "a.toml", "--json=no\nwhere/x"},
                                   {"report", "run", "-o", "no\nwhere/x"},
                                   {"trace", "run", "-o", "no\nwhere/x"}};
  for (const Args& command : commands) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("\\n"), Not(HasSubstr("a\nb")), Not(HasSubstr("no\nwhere"))));
  }
}

}  // namespace
}  // namespace hopbench
