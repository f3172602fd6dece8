// No decision depends on a text. Stored rows whose texts are all "x" lead to the same results as before, and so do runs
// of a program in which every text is "x" from the start (blank_texts.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "results/files/run_folder.h"
#include "results/tables/sensitivity.h"
#include "tests/cli/cli.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using Json = nlohmann::ordered_json;
using Set = std::set<std::string>;

/// Returns the program all of whose texts are "x".
std::string blank_program() { return build_dir() + "/tests/hopbench_blank"; }

/// Trials that end well, diverge, stop because of their scenario, and fail by themselves.
std::string mixed_suite() {
  const std::string small = with(small_suite(), "iterations = 8", "iterations = 4");
  return small.substr(0, small.find("[[scenario]]\nname = \"random\"")) + R"([[protocol]]
name = "dpsgd"
label = "far"
optimizer.lr = 1e6
[[scenario]]
name = "leave"
faults = [{ kind = "leave", ranks = [3], iteration = 5 }]
[[scenario]]
name = "endless"
compute = [{ kind = "pareto", shape = 1e-9 }]
[[scenario]]
name = "late"
faults = [{ kind = "hang", ranks = [0], at = "100s", lasts = "5ms" }]
)";
}

std::vector<Json> rows_of(const std::string& run) {
  std::vector<Json> rows;
  std::istringstream lines(text_of(run + "/trials.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

void rewrite(const std::string& run, const std::function<void(Json&)>& change) {
  std::string text;
  for (Json& row : rows_of(run)) {
    change(row);
    text += row.dump() + "\n";
  }
  std::ofstream(run + "/trials.jsonl", std::ios::binary) << text;
}

void make_blank(Json& row) {
  row["record"]["reason"] = "x";
  for (Json& warning : row["record"]["warnings"]) warning = "x";
}

void make_older(Json& row) {
  row["schema_version"] = "1.1";
  for (const char* field : {"failure_kind", "failure_rank", "warning_kinds"}) row["record"].erase(field);
}

/// The decisions about each trial: its status, and the kinds of its failure and of its warnings.
std::vector<std::string> decided(const std::string& run) {
  std::vector<std::string> all;
  for (const Json& row : rows_of(run)) {
    const Json& record = row["record"];
    all.push_back(
        Json{record["id"], record["status"], record["failure_kind"], record["failure_rank"], record["warning_kinds"]}
            .dump());
  }
  return all;
}

Set kinds_of(const std::string& run) {
  Set kinds;
  for (const Json& row : rows_of(run)) {
    kinds.insert(row["record"]["failure_kind"].get<std::string>());
    for (const Json& kind : row["record"]["warning_kinds"]) kinds.insert(kind.get<std::string>());
  }
  return kinds;
}

/// The texts of a run's rows, the longest first. Outputs have all of a reason or its first line.
Args texts_of(const std::string& run) {
  Set texts;
  for (const Json& row : rows_of(run)) {
    const std::string reason = row["record"]["reason"];
    texts.insert({reason, reason.substr(0, reason.find('\n'))});
    for (const Json& warning : row["record"]["warnings"]) {
      const std::string words = warning;
      if (const std::size_t colon = words.find(": "); colon != std::string::npos) texts.insert(words.substr(colon + 2));
    }
  }
  texts.erase("");
  Args sorted(texts.begin(), texts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sorted;
}

/// The output with "x" for each of the texts, and without what depends on their lengths or says nothing but "x".
std::string blanked(std::string output, const Args& texts) {
  static const std::regex kSpace("\\s+"), kLine("-{2,}"), kNothing("; x\\b");
  const auto flat = [](const std::string& text) { return std::regex_replace(text, kSpace, " "); };
  output = flat(output);
  for (const std::string& text : texts) {
    const std::string from = flat(text);
    for (std::size_t at = 0; (at = output.find(from, at)) != std::string::npos; ++at)
      output.replace(at, from.size(), "x");
  }
  return std::regex_replace(std::regex_replace(output, kLine, "-"), kNothing, "");
}

/// The lines that say what to do about trials, and errors.
std::string advice(const std::string& err) {
  std::string text;
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    const bool shown = line.starts_with("hopbench: ") || line.find(" trials ") != std::string::npos;
    if (shown && line.find("FAILED") == std::string::npos) text += line + "\n";
  }
  return text;
}

// --- Stored texts

class StoredTexts : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    made_ = std::make_unique<Folder>();
    const std::string at = made_->path();
    made_->write("a.toml", mixed_suite());
    ASSERT_EQ(hopbench(at, {"run", "a.toml", "-o", "out"}).code, 3);
    ASSERT_EQ(hopbench(at, {"run", "a.toml", "-o", "good", "-f", "/homogeneous/|/late/"}).code, 0);
    ASSERT_EQ(hopbench(at, {"baseline", "save", "b", "good", "--baselines", "kept", "--partial"}).code, 0);
    fs::copy(*made_ / "good", *made_ / "broken", fs::copy_options::recursive);
    bool first = true;
    rewrite(*made_ / "broken", [&](Json& row) {
      if (!std::exchange(first, false)) return;
      row["record"]["status"] = "failed";
      row["record"]["failure_kind"] = "killed";
      row["record"]["reason"] = "rank 0 was killed by signal 9 (SIGKILL) while running";
    });
  }
  static void TearDownTestSuite() { made_.reset(); }

  void change_all(const std::function<void(Json&)>& change) const {
    fs::copy(made_->path(), other_.path(), fs::copy_options::recursive);
    for (const char* run : {"out", "good", "broken", "kept/b"}) rewrite(other_ / run, change);
  }

  /// Runs commands that read rows on the runs as they were and on the changed ones.
  void expect_alike(const Args& texts) const {
    const Args baselines{"--baselines", "kept"};
    const std::vector<Args> commands = {{"run", "--resume", "out"},
                                        {"why", "good", "hop", "allreduce"},
                                        {"compare", "good", "broken"},
                                        {"compare", "good", "out", "--fail-above", "5"},
                                        {"gate", "--baseline", "b", "--baselines", "kept", "good"},
                                        {"gate", "--baseline", "b", "--baselines", "kept", "broken"},
                                        {"report", "out", "-o", "out.html"},
                                        {"baseline", "save", "c", "out", "--partial", "--baselines", "kept"},
                                        {"baseline", "save", "c", "broken", "--partial", "--baselines", "kept"}};
    for (const Args& words : commands) {
      const Ended as_it_was = hopbench(made_->path(), words), changed = hopbench(other_.path(), words);
      const std::string what = words[0] + " " + words[1] + " " + words.back();
      EXPECT_EQ(changed.code, as_it_was.code) << what << ": " << changed.err;
      EXPECT_EQ(blanked(changed.out, texts), blanked(as_it_was.out, texts)) << what;
      EXPECT_EQ(blanked(advice(changed.err), texts), blanked(advice(as_it_was.err), texts)) << what;
    }
    EXPECT_EQ(blanked(text_of(other_ / "out.html"), texts), blanked(text_of(*made_ / "out.html"), texts));
  }

  Args all_texts() const {
    Args all = texts_of(*made_ / "out");
    for (const std::string& text : texts_of(*made_ / "broken")) all.push_back(text);
    return all;
  }

  static std::unique_ptr<Folder> made_;
  Folder other_;
};
std::unique_ptr<Folder> StoredTexts::made_;

TEST_F(StoredTexts, MayAllBeReplaced) {
  EXPECT_THAT(kinds_of(*made_ / "out"),
              IsSupersetOf({"none", "scenario", "error", "fault never came", "diverged", "no steady window"}));
  change_all(make_blank);
  expect_alike(all_texts());
  // Rows that are kept by force, and rows that run again.
  for (const Args& words : {Args{"run", "--resume", "out", "--force", "--set", "iterations=9"},
                            Args{"run", "--resume", "good", "--retry-failed"}}) {
    const Ended as_it_was = hopbench(made_->path(), words), changed = hopbench(other_.path(), words);
    EXPECT_EQ(changed.code, as_it_was.code) << changed.err;
    EXPECT_EQ(decided(other_ / words[2]), decided(*made_ / words[2]));
  }
  EXPECT_THAT(kinds_of(other_ / "out"), testing::Contains("kept by --force"));
}

TEST_F(StoredTexts, OfOlderRowsAreReadAsBefore) {
  change_all(make_older);
  expect_alike({});
}

TEST_F(StoredTexts, DoNotChooseSettings) {
  change_all(make_blank);
  const auto tried = [](const std::string& path) {
    Sensitivity all;
    const RunFolder run = RunFolder::open(path);
    for (const TrialRow& row : run.rows()) {
      Tried one;
      one.variant = row.labels.variant + " in " + row.labels.scenario;
      one.add(row);
      all.tried.push_back(one);
    }
    return all;
  };
  const Sensitivity before = tried(*made_ / "out"), after = tried(other_ / "out");
  EXPECT_EQ(sensitivity_csv(after), sensitivity_csv(before));
  int failed = 0;
  for (const Tried& one : before.tried) {
    const Failure *const was = before.why_failed(one.variant), *const is = after.why_failed(one.variant);
    ASSERT_EQ(is == nullptr, was == nullptr) << one.variant;
    if (was == nullptr) continue;
    EXPECT_EQ(is->kind, was->kind) << one.variant;
    ++failed;
  }
  EXPECT_GT(failed, 0);
}

// --- Texts that are "x" from the start

class LiveTexts : public testing::Test {
 protected:
  struct Two {
    Ended usual, blank;
  };
  void write(const std::string& name, const std::string& text) const {
    usual_.write(name, text);
    blank_.write(name, text);
  }
  /// Runs both programs. They must end alike and advise the same.
  Two run(const Args& words, const Args& texts = {}) const {
    Two two{hopbench(usual_.path(), words), hopbench(blank_.path(), words, {}, blank_program())};
    EXPECT_EQ(two.blank.code, two.usual.code) << two.usual.err << two.blank.err;
    EXPECT_EQ(blanked(advice(two.blank.err), texts), blanked(advice(two.usual.err), texts));
    return two;
  }
  void expect_same_decisions(const std::string& name) const {
    EXPECT_EQ(decided(blank_ / name), decided(usual_ / name));
    for (const Json& row : rows_of(blank_ / name)) {
      const std::string reason = row["record"]["reason"];
      EXPECT_TRUE(reason.empty() || reason == "x") << reason;
      for (const Json& warning : row["record"]["warnings"])
        EXPECT_THAT(warning.get<std::string>(), testing::EndsWith(": x"));
    }
  }

  /// Returns the tables of `run --json`, whose notes are texts for people: only their kinds must be the same.
  static Json tables_of(const std::string& file) {
    Json tables = Json::parse(text_of(file))["tables"];
    for (Json& table : tables) {
      for (Json& note : table["notes"]) note.erase("text");
    }
    return tables;
  }

  Folder usual_, blank_;
};

TEST_F(LiveTexts, DecideNothingInVirtualTime) {
  write("a.toml", mixed_suite());
  EXPECT_EQ(run({"run", "a.toml", "-o", "out", "--json=out.json"}).usual.code, 3);
  expect_same_decisions("out");
  EXPECT_EQ(tables_of(blank_ / "out.json"), tables_of(usual_ / "out.json"));
  EXPECT_THAT(kinds_of(blank_ / "out"),
              IsSupersetOf({"none", "scenario", "error", "fault never came", "diverged", "no steady window"}));
  const Args save{"baseline", "save", "b", "out", "--partial", "--baselines", "kept"};
  EXPECT_EQ(run(save, texts_of(usual_ / "out")).usual.code, 2);
}

TEST_F(LiveTexts, OfLimitsAreAdvisedToRunAgain) {
  write("a.toml", with(with(small_suite(), "size = 64", "size = 4096"), "iterations = 8", "iterations = 100000"));
  const Two two = run({"run", "a.toml", "-o", "out", "-f", "homogeneous/hop", "--trial-timeout", "200ms"});
  EXPECT_EQ(two.blank.code, 3);
  EXPECT_THAT(two.blank.err, HasSubstr("--retry-failed"));
  expect_same_decisions("out");
  EXPECT_THAT(kinds_of(blank_ / "out"), testing::Contains("time limit"));
}

TEST_F(LiveTexts, DecideNothingInRealProcesses) {
  // No gradient fits into a nanosecond: every measurement is oversubscribed, and made again.
  std::string text =
      with(with(mixed_suite(), "name = \"sim\"", "name = \"gloo\""), "iterations = 4", "iterations = 15");
  write("a.toml", with(with(text, "warmup_time", "warmup = 0\nwarmup_time"), "10ms", "1ns"));
  run({"run", "a.toml", "-o", "out", "-f", "(homogeneous|leave)/allreduce"});
  for (const Folder* folder : {&usual_, &blank_}) {
    EXPECT_THAT(kinds_of(*folder / "out"), IsSupersetOf({"none", "scenario", "oversubscribed", "measured again"}));
  }
}

/// A suite that is tuned by one of two learning rates.
std::string suite_to_tune() {
  return with(with(small_suite(), "iterations = 8", "samples = 800\nevaluations = 10"), "[transport]",
              "[optimizer]\nlr = 0.05\n[transport]") +
         "[[measure]]\nwhat = \"convergence\"\n[tune]\ntrials = 3\nlr = [0.01, 0.1]\n";
}

TEST_F(LiveTexts, ChooseNoSettings) {
  write("a.toml", suite_to_tune());
  EXPECT_EQ(run({"tune", "a.toml"}).usual.code, 0);
  EXPECT_EQ(text_of(blank_ / "a.tuned.toml"), text_of(usual_ / "a.tuned.toml"));
  EXPECT_THAT(text_of(blank_ / "a.tuned.toml"), HasSubstr("tuned = true"));
  write("leave.toml", with(suite_to_tune(), "name = \"homogeneous\"",
                           "name = \"leave\"\nfaults = [{ kind = \"leave\", ranks = [3], iteration = 5 }]"));
  const Ended leaves = hopbench(blank_.path(), {"tune", "leave.toml"}, {}, blank_program());
  EXPECT_EQ(leaves.code, 3) << leaves.err;
  EXPECT_THAT(leaves.err, HasSubstr("(x): tune in another scenario"));
  write("profile.toml", suite_to_tune() + "[profile.far]\noptimizer.lr = 0.07\n");
  const Ended refused = hopbench(blank_.path(), {"tune", "profile.toml", "--profile", "far"}, {}, blank_program());
  EXPECT_EQ(refused.code, hopbench(usual_.path(), {"tune", "profile.toml", "--profile", "far"}).code) << refused.err;
}

}  // namespace
}  // namespace hopbench
