// Runs of several processes that meet in a folder: trials in virtual time are computed by all of them, and their
// results have the same bytes as those of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <sstream>

#include "results/files/csv.h"
#include "tests/cli/cli.h"
#include "tests/cli/run_results.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kMeasures =
    "[[measure]]\nwhat = \"rate\"\n[[measure]]\nwhat = \"convergence\"\nevaluations = 10\n";

/// Returns the numbers as an idx file begins with them.
std::string head(std::initializer_list<std::uint32_t> numbers) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (const int shift : {24, 16, 8, 0}) bytes += char(number >> shift);
  }
  return bytes;
}

class Processes : public testing::Test {
 protected:
  Processes() {
    folder_.write("a.toml", small_suite() + kMeasures);
    folder_.write(
        "long.toml",
        with(with(small_suite(), "size = 64", "size = 1000"), "iterations = 8", "iterations = 60") + kMeasures);
    std::filesystem::create_directory(folder_ / "meet");
  }

  /// Writes a suite of 24 trials, and the files of its data set.
  void write_data() const {
    std::filesystem::create_directory(at("data"));
    for (const std::string set : {"train", "t10k"}) {
      folder_.write("data/" + set + "-images-idx3-ubyte", head({0x803, 100, 2, 3}) + std::string(600, 'x'));
      folder_.write("data/" + set + "-labels-idx1-ubyte", head({0x801, 100}) + std::string(100, '\1'));
    }
    folder_.write("data.toml", with(small_suite(), "name = \"quadratic\"\nsize = 64",
                                    "name = \"softmax\"\ndataset = { name = \"fashion_mnist\", path = \"" + at("data") +
                                        "\" }\nbatch = 4"));
  }

  std::unique_ptr<Running> process(int number, int of, Args words) const {
    words.insert(words.end(), {"--rendezvous", "meet", "--rendezvous-timeout", "60s"});
    return std::make_unique<Running>(
        folder_.path(), words,
        Args{"HOPBENCH_RANK=" + std::to_string(number), "HOPBENCH_WORLD_SIZE=" + std::to_string(of), "HOPBENCH_JOB=x",
             "HOPBENCH_HOST=host" + std::to_string(number)});
  }
  /// Runs the command in that many processes; returns the end of the first. The others must end as it does.
  Ended by(int processes, const Args& words) const {
    std::vector<std::unique_ptr<Running>> all;
    for (int number = 0; number < processes; ++number) all.push_back(process(number, processes, words));
    const Ended first = all.front()->wait();
    for (int number = 1; number < processes; ++number)
      EXPECT_EQ(all[std::size_t(number)]->wait().code, first.code) << number;
    return first;
  }
  std::string at(const std::string& name) const { return folder_ / name; }
  std::size_t rows(const std::string& run) const { return count_lines(text_of(at(run) + "/trials.jsonl")); }

  std::string results(const std::string& name) const { return results_of_run(at(name)); }
  /// Returns the trials of a run that were computed on a machine.
  std::set<std::string> trials_on(const std::string& run, const std::string& machine) const {
    std::set<std::string> trials;
    const auto table = read_csv(text_of(at(run) + "/host.csv"), "host.csv");
    const auto column = std::find(table[0].begin(), table[0].end(), "machine") - table[0].begin();
    for (const auto& row : table) {
      if (row.at(std::size_t(column)) == machine) trials.insert(row[0]);
    }
    return trials;
  }

  Folder folder_;
};

TEST_F(Processes, ComputeTheSameBytesAsOne) {
  for (const std::string events : {"brief", "all", "none"}) {
    SCOPED_TRACE(events);
    const std::string one = "one-" + events, three = "three-" + events;
    const Args words{"run", "a.toml", "-r", "2", "-j", "1", "--events", events, "-o"};
    Args alone = words, together = words;
    alone.push_back(one), together.push_back(three);
    ASSERT_EQ(hopbench(folder_.path(), alone).code, 0);
    const Ended ended = by(3, together);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(rows(three), 16u);
    if (events == "none") {
      EXPECT_EQ(text_of(at(three) + "/trials.csv"), text_of(at(one) + "/trials.csv"));
      continue;
    }
    EXPECT_EQ(results(three), results(one));
    for (const char* machine : {"host0", "host1", "host2"}) EXPECT_GT(trials_on(three, machine).size(), 0u) << machine;
  }
}

TEST_F(Processes, ALostOneCostsOnlyItsTrials) {
  ASSERT_EQ(hopbench(folder_.path(), {"run", "long.toml", "-r", "2", "-o", "one"}).code, 0);
  const Args words{"run", "long.toml", "-r", "2", "-j", "1", "-o", "two"};
  auto first = process(0, 2, words), second = process(1, 2, words);
  ASSERT_TRUE(soon([&] { return rows("two") >= 3 && !second->ranks().empty(); }));
  second->send(SIGKILL);
  second->wait();
  const Ended ended = first->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("process 1 (host1) was lost: its connection has ended"),
                               HasSubstr("other processes compute its trials"), Not(HasSubstr("FAILED"))));
  EXPECT_EQ(rows("two"), 16u);
  EXPECT_EQ(results("two"), results("one"));
}

TEST_F(Processes, AnInterruptEndsAllAndTheRunGoesOnWithAnyNumber) {
  ASSERT_EQ(hopbench(folder_.path(), {"run", "long.toml", "-r", "2", "-o", "one"}).code, 0);
  const Args words{"run", "long.toml", "-r", "2", "-j", "1", "-o", "two"};
  for (const int interrupted : {0, 1}) {
    SCOPED_TRACE(interrupted);
    auto first = process(0, 2, words), second = process(1, 2, words);
    ASSERT_TRUE(soon([&] { return rows("two") >= 3; }));
    (interrupted == 0 ? first : second)->send(SIGTERM);
    const Ended ended = first->wait();
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(second->wait().code, ended.code);
    EXPECT_THAT(ended.err, HasSubstr("interrupted: "));
    EXPECT_LT(rows("two"), 16u) << "it was too fast to be interrupted";
    const Ended rest = by(3, {"run", "--resume", "two"});
    EXPECT_EQ(rest.code, 0) << rest.err;
    EXPECT_EQ(results("two"), results("one"));
    std::filesystem::remove_all(at("two"));
  }
}

// The second process has begun a trial when three rows are there. From then on it must not read the files.
TEST_F(Processes, ReadADataSetOnce) {
  write_data();
  const Args words{"run", "data.toml", "-r", "6", "-j", "1", "-o", "two"};
  auto first = process(0, 2, words), second = process(1, 2, words);
  ASSERT_TRUE(soon([&] { return rows("two") >= 3; }));
  folder_.write("data/train-images-idx3-ubyte", "damaged");
  const Ended ended = first->wait();
  EXPECT_GT(trials_on("two", "host1").size(), 1u);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("cannot compute a trial")));
}

TEST_F(Processes, OneWithADamagedDataSetLeavesTheTrialsToOthers) {
  write_data();
  const Args words{"run", "data.toml", "-r", "6", "-j", "1", "-o", "two"};
  auto first = process(0, 2, words);
  ASSERT_TRUE(soon([&] { return !std::filesystem::is_empty(at("meet")); }));  // it has read the data
  folder_.write("data/train-images-idx3-ubyte", "damaged");
  auto second = process(1, 2, words);
  const Ended ended = first->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("process 1 (host1) cannot compute a trial: cannot use data file " +
                                   at("data/train-images-idx3-ubyte") + ": at byte 7"));
}

TEST_F(Processes, FailWhereOneWouldFail) {
  folder_.write("a.toml", with(small_suite(), "{ kind = \"bernoulli\", probability = 0.3, factor = 4.0 }",
                               "{ kind = \"pareto\", shape = 1e-9 }"));
  EXPECT_EQ(hopbench(folder_.path(), {"run", "a.toml", "-r", "3", "-o", "one"}).code, 3);
  const Ended ended = by(2, {"run", "a.toml", "-r", "3", "-j", "1", "-o", "two"});
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_EQ(results("two"), results("one"));
}

}  // namespace
}  // namespace hopbench
