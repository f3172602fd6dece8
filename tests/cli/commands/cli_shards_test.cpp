// `run --shard` and `merge` from outside: the parts of a run, joined, are the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/cli.h"
#include "tests/cli/run_results.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShards[] = {"1/3", "2/3", "3/3"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class Shards : public testing::Test {
 protected:
  Shards() {
    folder_.write("a.toml", small_suite() +
                                "[[measure]]\nwhat = \"rate\"\n[[measure]]\nwhat = \"convergence\"\n"
                                "samples = 600\nevaluations = 4\n");
  }

  Ended run(const Args& words, const Args& variables = {}) const { return hopbench(folder_.path(), words, variables); }
  Ended fine(const Args& words) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended;
  }
  /// Returns the message of a command that must be refused and must leave the folder as it is.
  std::string refused(const Args& words, const Args& variables = {}) const {
    const std::string before = contents(folder_.path());
    const Ended ended = run(words, variables);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_EQ(contents(folder_.path()), before);
    return ended.err;
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  /// Runs the whole suite, and its three shards in 1, 2 and 3: 16 trials.
  void run_all(const Args& more = {}) const {
    Args whole{"run", "a.toml", "-r", "2", "-o", "whole"};
    whole.insert(whole.end(), more.begin(), more.end());
    fine(whole);
    for (const std::string shard : kShards) {
      Args part{"run", "a.toml", "-r", "2", "-o", shard.substr(0, 1), "--shard", shard};
      part.insert(part.end(), more.begin(), more.end());
      fine(part);
    }
  }

  std::string results(const std::string& name) const { return results_of_run(at(name)) + ids_in(name); }
  std::string ids_in(const std::string& name) const {
    std::string ids;
    for (const std::string& line : lines_of(text_of(at(name) + "/trials.jsonl")))
      ids += nlohmann::json::parse(line).at("record").at("id").get<std::string>() + "\n";
    return ids;
  }

  /// Returns the names of all dumped files and what is in them.
  std::string dumps_in(const std::string& name) const {
    Args files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(at(name) + "/dump")) {
      if (!entry.is_regular_file()) continue;
      files.push_back(std::filesystem::relative(entry.path(), at(name)).string() + "\n" +
                      text_of(entry.path().string()));
    }
    EXPECT_GT(files.size(), 0u) << name;
    std::sort(files.begin(), files.end());
    std::string all;
    for (const std::string& file : files) all += file;
    return all;
  }

  Folder folder_;
};

TEST_F(Shards, AreDisjointAndTogetherTheWholeRunInItsOrder) {
  const std::vector<std::string> whole = lines_of(fine({"run", "a.toml", "-r", "3", "--list"}).out);
  ASSERT_EQ(whole.size(), 24u);
  std::vector<std::size_t> places;
  for (const std::string shard : kShards) {
    const auto part = lines_of(fine({"run", "a.toml", "-r", "3", "--list", "--shard", shard}).out);
    EXPECT_EQ(part.size(), 8u) << shard;
    std::size_t last = 0;
    for (const std::string& id : part) {
      const auto place = static_cast<std::size_t>(std::find(whole.begin(), whole.end(), id) - whole.begin());
      ASSERT_LT(place, whole.size()) << id;
      EXPECT_GE(place, last) << "out of order";
      places.push_back(last = place);
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], i) << "there twice, or not at all";
}

TEST_F(Shards, MergedAreTheWholeRunByteForByte) {
  run_all();
  EXPECT_THAT(fine({"merge", "3", "1", "2", "-o", "merged"}).err,
              AllOf(HasSubstr("merged: 16 of 16 trials, from 3 folders"), HasSubstr("results: merged\n")));
  EXPECT_EQ(results("merged"), results("whole"));
  EXPECT_EQ(text_of(at("merged/summary.md")), text_of(at("whole/summary.md")));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("merging")));
  const auto context = nlohmann::json::parse(text_of(at("merged/context.json")));
  ASSERT_EQ(context.at("shards").size(), 3u);
  EXPECT_EQ(context.at("shards").at(1).at("shard").at("number"), 2);
  EXPECT_FALSE(context.contains("shard")) << "the merged run is whole";
  EXPECT_THAT(fine({"run", "--resume", "merged"}).err, HasSubstr("16 of 16 trials are done already"));
  EXPECT_EQ(fine({"compare", "whole", "merged"}).code, 0);
}

TEST_F(Shards, WithSettingsOfTheirRunMergeToo) {
  run_all({"--filter", "hop", "--exclude", "random", "--events", "all", "--shuffle", "5", "--dump", "params"});
  fine({"merge", "1", "2", "3", "-o", "merged"});
  EXPECT_EQ(results("merged"), results("whole"));
  EXPECT_EQ(dumps_in("merged"), dumps_in("whole"));
  EXPECT_EQ(text_of(at("merged/dump.txt")), "params\n");
  EXPECT_THAT(refused({"run", "--resume", "2", "--events", "all", "--shuffle", "5"}), HasSubstr("--dump params"));
  EXPECT_THAT(refused({"run", "--resume", "2", "--shuffle", "5", "--dump", "params"}),
              HasSubstr("begun with --events all"));
  EXPECT_THAT(refused({"run", "--resume", "2", "--events", "all", "--dump", "params"}),
              HasSubstr("begun with --shuffle 5"));
}

TEST_F(Shards, AreResumedAsAnyRun) {
  run_all();
  const std::string before = results("2"), trials = text_of(at("2/trials.jsonl"));
  ASSERT_GE(count_lines(trials), 2u);
  folder_.write("2/trials.jsonl", trials.substr(0, trials.find('\n') + 1));
  EXPECT_THAT(refused({"run", "--resume", "2", "--shard", "1/3"}), HasSubstr("2 holds shard 2/3"));
  EXPECT_THAT(refused({"run", "--resume", "whole", "--shard", "1/3"}), HasSubstr("a whole run"));
  EXPECT_THAT(refused({"run", "--resume", "2", "--events", "all"}), HasSubstr("begun with no --events"));
  EXPECT_THAT(fine({"run", "--resume", "2", "--shard", "2/3"}).err, HasSubstr("1 of "));
  EXPECT_EQ(results("2"), before);
}

TEST_F(Shards, OfNoRunAreRefused) {
  for (const char* text : {"x", "2", "/", "1/", "/3", "1/0", "-1/3", "1/3/5", "1.5/3", "99999999999/3"})
    EXPECT_THAT(refused({"run", "a.toml", "--shard", text}), HasSubstr("such as 2/3")) << text;
  EXPECT_THAT(refused({"run", "a.toml", "--shard", "0/3"}), HasSubstr("numbered from 1"));
  EXPECT_THAT(refused({"run", "a.toml", "--shard", "4/3"}), HasSubstr("there are 1/3 to 3/3"));
  EXPECT_THAT(refused({"run", "a.toml", "--shard", "2/9"}), HasSubstr("has 8 trials only"));
  EXPECT_THAT(refused({"run", "a.toml", "--shard", "1/2", "--save-baseline", "b"}), HasSubstr("merge the shards"));
}

// Each machine would pace its trials by its own speed.
TEST_F(Shards, OfRealProcessesNeedAPaceThatTheSuiteGives) {
  const Args real{"run", "a.toml", "--list", "--shard", "1/2", "--set", "transport.name=\"gloo\"", "--set"};
  const auto with_pace = [&](const std::string& pace) {
    Args words = real;
    words.push_back("compute.pace=\"" + pace + "\"");
    return words;
  };
  EXPECT_THAT(refused(with_pace("auto")), AllOf(HasSubstr("pace = \"auto\""), HasSubstr("hopbench calibrate")));
  EXPECT_THAT(refused(with_pace("off")), HasSubstr("pace = \"off\""));
  EXPECT_EQ(lines_of(fine(with_pace("10ms")).out).size(), 4u);
}

// The pods of an indexed Job have numbers, but each is a run of its own.
TEST_F(Shards, OfAnIndexedJobAreRunsOfTheirOwn) {
  const Args shard{"run", "a.toml", "--list", "--shard", "2/3"};
  EXPECT_EQ(run(shard, {"JOB_COMPLETION_INDEX=1"}).out, fine(shard).out);
  EXPECT_EQ(run(shard, {"SKYPILOT_NODE_RANK=1", "SKYPILOT_NUM_NODES=2"}).out, fine(shard).out);
  EXPECT_THAT(refused({"run", "a.toml", "--list"}, {"JOB_COMPLETION_INDEX=1"}), HasSubstr("HOPBENCH_WORLD_SIZE"));
  const Ended by_variable = run({"run", "a.toml", "--list"}, {"HOPBENCH_SHARD=2/3"});
  EXPECT_EQ(by_variable.out, fine(shard).out);
}

TEST_F(Shards, MissingOnesAreNamedWithTheCommandsThatRunThem) {
  run_all();
  std::filesystem::rename(at("2"), at("two"));
  const std::string trials = text_of(at("3/trials.jsonl"));
  folder_.write("3/trials.jsonl", trials.substr(0, trials.rfind('\n', trials.size() - 2) + 1));
  const std::string said = refused({"merge", "1", "3", "-o", "merged"});
  const std::string run_two = "run 1/suite.toml --shard 2/3 -o shard-2-of-3";
  EXPECT_THAT(said, AllOf(HasSubstr("--partial"), HasSubstr("shard 2/3 is missing: hopbench " + run_two + "\n"),
                          HasSubstr("3 (shard 3/3) lacks 1 of "), HasSubstr(": hopbench run --resume 3\n")));
  fine({"run", "1/suite.toml", "--shard", "2/3", "-o", "shard-2-of-3"});
  fine({"run", "--resume", "3"});
  fine({"merge", "1", "3", "shard-2-of-3", "-o", "merged"});
  EXPECT_EQ(results("merged"), results("whole"));
}

TEST_F(Shards, MergedInPartGoOnAsAnyRun) {
  run_all({"--filter", "hop"});
  EXPECT_THAT(fine({"merge", "3", "1", "-o", "merged", "--partial"}).err,
              AllOf(HasSubstr("of 8 trials, from 2 folders"),
                    HasSubstr("run the trials that are missing with: hopbench run --resume merged --filter hop\n")));
  fine({"run", "--resume", "merged", "--filter", "hop"});
  EXPECT_EQ(text_of(at("merged/trials.csv")), text_of(at("whole/trials.csv")));
  EXPECT_EQ(text_of(at("merged/ranks.csv")), text_of(at("whole/ranks.csv")));
  EXPECT_EQ(text_of(at("merged/curve.csv")), text_of(at("whole/curve.csv")));
}

TEST_F(Shards, OfDifferentRunsDoNotMerge) {
  run_all();
  fine({"run", "a.toml", "-r", "2", "-o", "seed", "--shard", "2/3", "--seed", "7"});
  fine({"run", "a.toml", "-r", "2", "-o", "two", "--shard", "2/2"});
  fine({"run", "a.toml", "-r", "2", "-o", "hop", "--shard", "2/3", "--filter", "hop"});
  const auto merged_with = [&](const std::string& other) {
    return refused({"merge", "1", other, "3", "-o", "merged"});
  };
  EXPECT_THAT(merged_with("seed"), AllOf(HasSubstr("different suites"), HasSubstr("run.seed: 1; 7")));
  EXPECT_THAT(merged_with("two"), AllOf(HasSubstr("different runs"), HasSubstr("--shard N/3; --shard N/2")));
  EXPECT_THAT(merged_with("hop"), AllOf(HasSubstr("different runs"), HasSubstr("no --filter; --filter hop")));
  EXPECT_THAT(merged_with("whole"), HasSubstr("whole holds no shard"));
  EXPECT_THAT(merged_with("a.toml"), HasSubstr("a.toml"));
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "whole"}), HasSubstr("whole holds a run already"));
  folder_.write("2/context.json", with(text_of(at("2/context.json")), "\"number\": 2", "\"number\": 5"));
  EXPECT_THAT(merged_with("2"), AllOf(HasSubstr("2/context.json is damaged"), HasSubstr("no shard 5/3")));
  folder_.write("2/context.json", with(text_of(at("2/context.json")), "\"number\": 5", "\"number\": \"x\""));
  EXPECT_THAT(merged_with("2"), HasSubstr("2/context.json is damaged"));
}

TEST_F(Shards, ThatRanTwiceMergeIfTheirResultsAreTheSame) {
  run_all();
  fine({"run", "a.toml", "-r", "2", "-o", "again", "--shard", "2/3"});
  fine({"merge", "1", "2", "3", "again", "1", "-o", "merged"});
  EXPECT_EQ(results("merged"), results("whole"));
  std::string trials = text_of(at("again/trials.jsonl"));
  const std::string key = "\"params_hash\":\"";
  const std::size_t digit = trials.find(key) + key.size();
  ASSERT_LT(digit, trials.size());
  trials[digit] = trials[digit] == '0' ? '1' : '0';
  folder_.write("again/trials.jsonl", trials);
  EXPECT_THAT(refused({"merge", "1", "2", "3", "again", "-o", "other"}),
              AllOf(HasSubstr("is in 2 (shard 2/3) and in again (shard 2/3), with different results (params_hash: ")));
}

TEST_F(Shards, WithFailedTrialsMergeAndSaySo) {
  folder_.write("a.toml", with(small_suite(), "{ kind = \"bernoulli\", probability = 0.3, factor = 4.0 }",
                               "{ kind = \"pareto\", shape = 1e-9 }"));
  EXPECT_EQ(run({"run", "a.toml", "-o", "whole"}).code, 3);
  EXPECT_EQ(run({"run", "a.toml", "-o", "1", "--shard", "1/2"}).code, 3);
  EXPECT_EQ(run({"run", "a.toml", "-o", "2", "--shard", "2/2"}).code, 3);
  const Ended merged = run({"merge", "1", "2", "-o", "merged"});
  EXPECT_EQ(merged.code, 3) << merged.err;
  EXPECT_THAT(merged.err, HasSubstr("2 of 4 trials failed in virtual time"));
  EXPECT_EQ(text_of(at("merged/trials.csv")), text_of(at("whole/trials.csv")));
}

TEST_F(Shards, HaveFilesOfTheirOwnOnly) {
  run_all();
  folder_.write("secret", "mine");
  const std::string log = std::filesystem::directory_iterator(at("2/events"))->path().string();
  const std::string kept = text_of(log);
  std::filesystem::remove(log);
  std::filesystem::create_symlink(at("secret"), log);
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "all"}), HasSubstr("is a symbolic link, and only a shard's own"));
  std::filesystem::remove(log);
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "all"}), HasSubstr("is neither a file nor a folder"));
  std::filesystem::remove(log);
  std::ofstream(log) << kept;
  std::filesystem::rename(at("3/events"), at("elsewhere"));
  std::filesystem::create_directory_symlink("../elsewhere", at("3/events"));
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "all"}), HasSubstr("3/events is a symbolic link"));
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "2/all"}), HasSubstr("2/all lies in 2, which is read"));
  EXPECT_THAT(refused({"merge", "1", "2", "3", "-o", "2/events/all"}), HasSubstr("lies in 2, which is read"));
}

}  // namespace
}  // namespace hopbench
