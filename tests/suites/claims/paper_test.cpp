// expected.toml: what it may say, and that of every paper that comes with the program.
#include "suites/claims/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "models/dataset.h"
#include "results/files/columns.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

using testing::HasSubstr;

constexpr const char* kPaper = R"([paper]
title = "T"
venue = "V 2019"
sizes = "smaller"

[[suite]]
file = "a.toml"
data = []
memory = "1 GiB"
minutes = { smoke = 0.5, full = 12 }

[[claim]]
id = "one"
figure = "Fig. 1"
says = "hop is sooner"
published = "1.8x"
confidence = "paper"
suite = "a.toml"
metric = "time_to_target_s"
ratio = { of = { variant = "allreduce" }, over = { variant = "hop" } }
at_least = 1.5
at_most = 2.5
)";

std::string replaced_in(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no " + from);
  return text.replace(at, from.size(), to);
}

Paper paper_of(const std::string& text) { return parse_paper(text, "p/expected.toml", "p"); }

std::string mistakes_in(const std::string& text) {
  try {
    paper_of(text);
  } catch (const SuiteError& error) {
    return error.what();
  }
  return "";
}

std::string mistakes_with(const std::string& from, const std::string& to) {
  return mistakes_in(replaced_in(kPaper, from, to));
}

TEST(Paper, IsReadFromItsText) {
  const Paper paper = paper_of(kPaper);
  EXPECT_EQ(paper.name, "p");
  EXPECT_EQ(paper.title, "T");
  EXPECT_EQ(paper.suite("a.toml").full_minutes, 12);
  ASSERT_EQ(paper.claims.size(), 1u);
  const Claim& claim = paper.claims[0];
  EXPECT_EQ(claim.kind, Claim::Kind::kRatio);
  ASSERT_EQ(claim.selections.size(), 2u);
  EXPECT_EQ(claim.selections[1].variant, "hop");
  EXPECT_EQ(claim.at_least, 1.5);
  EXPECT_EQ(claim.at_most, 2.5);
  EXPECT_EQ(claim.expects.at("smoke"), ClaimVerdict::kHolds);
  EXPECT_EQ(claim.expects.at("full"), ClaimVerdict::kHolds);
}

TEST(Paper, ExpectsByProfile) {
  const Paper paper = paper_of(std::string(kPaper) + "expect = { full = \"differs\" }\nbecause = \"of b\"\n");
  EXPECT_FALSE(paper.claims[0].expects.contains("smoke"));
  EXPECT_EQ(paper.claims[0].expects.at("full"), ClaimVerdict::kDiffers);
  EXPECT_EQ(paper.claims[0].because, "of b");
}

TEST(Paper, TellsMistakesWithTheirPlaces) {
  EXPECT_THAT(mistakes_with("venue", "vunue"),
              HasSubstr("p/expected.toml:3:1: unknown key 'vunue' in [paper]: did you"));
  EXPECT_THAT(mistakes_with("venue", "vunue"), HasSubstr("[paper] needs 'venue'"));
  EXPECT_THAT(mistakes_with("\"paper\"", "\"memry low\""), HasSubstr("unknown confidence 'memry low': did you mean"));
  EXPECT_THAT(mistakes_with("suite = \"a", "suite = \"b"), HasSubstr("unknown suite 'b.toml': did you mean 'a.toml'?"));
  EXPECT_THAT(mistakes_with("over =", "ovr ="), HasSubstr("ratio needs 'over'"));
  EXPECT_THAT(mistakes_with("at_least = 1.5\nat_most = 2.5\n", ""), HasSubstr("needs 'at_least' or 'at_most'"));
  EXPECT_THAT(mistakes_with("at_least = 1.5", "at_least = 3.5"), HasSubstr("'at_least' is above 'at_most'"));
  EXPECT_THAT(mistakes_with("at_least = 1.5", "at_least = \"x\""), HasSubstr("'at_least' in [[claim]] is a number"));
  EXPECT_THAT(mistakes_with("at_least = 1.5", "order = []"), HasSubstr("one of 'ratio', 'value' and 'order'"));
  EXPECT_THAT(mistakes_with("full = 12", "fall = 12"), HasSubstr("minutes needs 'full'"));
  EXPECT_THAT(mistakes_in(std::string(kPaper) + "expect = \"differs\"\n"), HasSubstr("needs 'because'"));
  EXPECT_THAT(mistakes_in(std::string(kPaper) + "expect = \"difers\"\n"), HasSubstr("did you mean 'differs'?"));
  const std::string claim = std::string(kPaper).substr(std::string(kPaper).find("[[claim]]"));
  EXPECT_THAT(mistakes_in(kPaper + claim), HasSubstr("two claims are called 'one'"));
}

TEST(Paper, LetsNoRecalledNumberDecide) {
  const std::string recalled = replaced_in(kPaper, "\"paper\"", "\"memory low\"");
  EXPECT_THAT(mistakes_in(recalled), HasSubstr("a number that is recalled (memory low) decides nothing"));
  EXPECT_EQ(mistakes_in(replaced_in(recalled, "at_least = 1.5\nat_most = 2.5", "at_least = 1.0")), "");
}

TEST(Paper, SelectionsNameOneOfTheSuite) {
  constexpr const char* kSuite = R"(schema = 1
name = "a"
[run]
world_size = 4
[model]
name = "quadratic"
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
[[protocol]]
name = "hop"
[[scenario]]
name = "homogeneous"
[[scenario]]
name = "slow"
compute = [{ kind = "constant", factor = 2.0, ranks = [0] }]
)";
  const Suite suite = parse_suite(kSuite, "a.toml", {});
  const auto complaint = [&](const std::string& text) -> std::string {
    try {
      check_claims(paper_of(text), "a.toml", "full", suite);
    } catch (const SuiteError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint(kPaper),
              HasSubstr("is more than one: rate / homogeneous / allreduce; rate / slow / allreduce"));
  std::string whole =
      replaced_in(kPaper, "{ variant = \"allreduce\" }", "{ variant = \"allreduce\", scenario = \"slow\" }");
  whole = replaced_in(whole, "{ variant = \"hop\" }", "{ variant = \"hop\", scenario = \"slow\" }");
  EXPECT_EQ(complaint(whole), "");
  EXPECT_THAT(complaint(replaced_in(whole, "\"hop\"", "\"hup\"")), HasSubstr("'slow / hup' in a (full) is nothing"));
}

/// Returns the data sets that the suite reads from files. Drawn ones are not listed.
std::set<std::string> data_read_by(const Suite& suite) {
  std::set<std::string> names;
  for (const TrialSpec& trial : suite.trials) {
    if (trial.workload.dataset.empty() || find_dataset(trial.workload.dataset).get.empty()) continue;
    names.insert(trial.workload.dataset);
  }
  return names;
}

bool have_data(const PaperSuite& suite) {
  return std::all_of(suite.data.begin(), suite.data.end(), [](const std::string& name) {
    return std::filesystem::is_directory(find_dataset(name).default_path);
  });
}

void check_paper(const Paper& paper) {
  const std::set<std::string> columns = [] {
    std::set<std::string> names;
    for (const Column& column : hopbench::columns()) names.insert(column.name);
    return names;
  }();
  for (const Claim& claim : paper.claims) {
    EXPECT_TRUE(columns.contains(claim.metric) || claim.metric.starts_with("ranks.")) << paper.name << " " << claim.id;
  }
  std::set<std::string> names;
  for (const PaperSuite& entry : paper.suites) {
    for (const std::string& data : entry.data) EXPECT_NO_THROW(find_dataset(data)) << entry.file;
    if (!have_data(entry)) continue;  // epochs are samples of the data
    for (const std::string& profile : paper_profiles()) {
      const Suite suite = load_suite(paper.folder + "/" + entry.file, options_of_profile(profile));
      EXPECT_NO_THROW(check_claims(paper, entry.file, profile, suite));
      EXPECT_EQ(data_read_by(suite), std::set<std::string>(entry.data.begin(), entry.data.end())) << entry.file;
      const bool fresh = names.insert(suite.name).second;
      EXPECT_TRUE(fresh || profile != "smoke") << "two suites called " << suite.name;
    }
  }
}

TEST(Paper, EveryOneThatComesWithTheProgramIsInOrder) {
  int papers = 0;
  const std::string folder = source_dir() + "/suites/papers";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++papers;
    const Paper paper = load_paper(entry.path().string());
    check_paper(paper);
    for (const auto& file : std::filesystem::directory_iterator(entry.path())) {
      const std::string name = file.path().filename().string();
      if (file.path().extension() != ".toml" || name == "expected.toml") continue;
      EXPECT_TRUE(std::any_of(paper.suites.begin(), paper.suites.end(), [&](const auto& s) { return s.file == name; }))
          << name << " is in no expected.toml";
    }
  }
  EXPECT_GE(papers, 1);
}

}  // namespace
}  // namespace hopbench
