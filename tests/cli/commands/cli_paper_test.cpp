// `hopbench reproduce` from outside, over a paper of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kExpected = R"([paper]
title = "A Tiny Paper"
venue = "TEST 2026"
sizes = "all of it is small"

[[suite]]
file = "small.toml"
data = []
memory = "1 GiB"
minutes = { smoke = 0.01, full = 0.02 }

[[claim]]
id = "sooner"
figure = "Fig. 1"
says = "hop ends sooner under random slowdowns"
published = "1.1x | more"
confidence = "memory low"
suite = "small.toml"
metric = "time_s"
ratio = { of = { variant = "allreduce", scenario = "random" }, over = { variant = "hop", scenario = "random" } }
at_least = 1.0

[[claim]]
id = "impossible"
figure = "Fig. 2"
says = "it takes no time"
published = "0 s"
confidence = "paper"
suite = "small.toml"
metric = "time_s"
value = { variant = "hop", scenario = "homogeneous" }
at_most = 0.001
expect = "differs"
because = "everything takes time"
)";

constexpr const char* kCifar = R"(
[[suite]]
file = "cifar.toml"
data = ["cifar10"]
memory = "1 GiB"
minutes = { smoke = 1, full = 2 }

[[claim]]
id = "pictures"
figure = "Fig. 3"
says = "of pictures"
published = "not known"
confidence = "derived"
suite = "cifar.toml"
metric = "time_s"
value = { variant = "hop" }
at_most = 1
)";

class Reproduce : public testing::Test {
 protected:
  Reproduce() {
    folder_.write("suites/papers/tiny/small.toml", small_suite() + "[profile.smoke]\nrun.iterations = 6\n");
    write(kExpected);
  }
  void write(const std::string& text) const { folder_.write("suites/papers/tiny/expected.toml", text); }
  // No home: there are no data sets but Debian's.
  Ended run(const Args& words) const {
    return hopbench(folder_.path(), words, {"HOPBENCH_ROOT=" + folder_.path(), "XDG_DATA_HOME=" + folder_.path()});
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  Folder folder_;
};

TEST_F(Reproduce, TellsPapersAndClaims) {
  EXPECT_THAT(run({"reproduce"}).out, AllOf(HasSubstr("tiny"), HasSubstr("TEST 2026"), HasSubstr("drawn")));
  EXPECT_THAT(run({"reproduce", "tiny", "--list"}).out,
              AllOf(HasSubstr("A Tiny Paper, TEST 2026"), HasSubstr("sooner  Fig. 1: hop ends sooner"),
                    HasSubstr("published: 0 s (paper)"),
                    HasSubstr("hopbench reproduce tiny --claim impossible --profile full"), HasSubstr("1 GiB")));
  EXPECT_THAT(run({"list", "suites"}).out,
              AllOf(HasSubstr("suites/papers/tiny/small.toml"), Not(HasSubstr("expected"))));
}

TEST_F(Reproduce, RunsAndJudges) {
  const Ended ended = run({"reproduce", "tiny", "-o", "out", "--json=" + at("a.json"), "--markdown", at("a.md")});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("small.toml (smoke)"), HasSubstr("n = 1; seed 1; virtual time"),
                               HasSubstr("differs, as expected"), HasSubstr("everything takes time"),
                               HasSubstr("2 of 2 claims came out as expected")));
  EXPECT_THAT(ended.out, Not(HasSubstr("samples/s"))) << "no tables";
  EXPECT_TRUE(std::filesystem::exists(at("out/small/trials.csv")));
  EXPECT_THAT(run({"reproduce", "tiny", "-o", "out"}).err, HasSubstr("out/small holds a run already"));
  const nlohmann::json claims = nlohmann::json::parse(text_of(at("a.json"))).at("claims");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].at("verdict"), "holds");
  EXPECT_GT(claims[0].at("number"), 1.0);
  EXPECT_EQ(claims[1].at("expected"), "differs");
  EXPECT_THAT(text_of(at("a.md")),
              HasSubstr("| tiny | Fig. 1 | hop ends sooner under random slowdowns | 1.1x \\| more"));
  EXPECT_EQ(count_lines(text_of(at("a.md"))), 4u);
}

TEST_F(Reproduce, ChecksWhatItWritesBeforeItRuns) {
  folder_.write("mine/small/notes.txt", "mine");
  const auto refused = [&](Args words, const std::string& says) {
    words.insert(words.begin(), {"reproduce", "tiny"});
    const std::string before = contents(folder_.path());
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(says));
    EXPECT_EQ(contents(folder_.path()), before);
  };
  refused({"-o", "mine"}, "mine/small is not empty and does not hold a run of hopbench (notes.txt)");
  refused({"-o", "out", "--markdown", "no/a.md"}, "--markdown=no/a.md: there is no folder no");
  refused({"-o", "out", "--json=suites/papers/tiny/expected.toml"}, "this command itself reads or writes that file");
  refused({"-o", "out", "--markdown", "suites/papers/tiny/small.toml"},
          "this command itself reads or writes that file");
}

TEST_F(Reproduce, RunsOneClaimInFull) {
  const Ended ended = run({"reproduce", "tiny", "--claim", "sooner", "--profile", "full", "-o", "out", "--json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const nlohmann::json claims = nlohmann::json::parse(ended.out).at("claims");
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].at("profile"), "full");
}

TEST_F(Reproduce, JudgesResultsThatAreThere) {
  EXPECT_EQ(run({"run", "suites/papers/tiny/small.toml", "--profile", "smoke", "-o", "out"}).code, 0);
  const std::string before = contents(folder_.path());
  for (const char* from : {"out", "."}) {
    if (*from == '.') std::filesystem::rename(at("out"), at("small"));
    const Ended ended = run({"reproduce", "tiny", "--from", from});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("small.toml (smoke)"));
    EXPECT_THAT(ended.err, IsEmpty());
  }
  std::filesystem::rename(at("small"), at("out"));
  EXPECT_EQ(run({"run", "suites/papers/tiny/small.toml", "--filter", "homogeneous", "-o", "part"}).code, 0);
  const Ended part = run({"reproduce", "tiny", "--from", "part"});
  EXPECT_EQ(part.code, 6);
  EXPECT_THAT(part.out, AllOf(HasSubstr("not run: claim sooner: 'random / allreduce' is nothing in these results"),
                              HasSubstr("1 of 1 claims came out as expected; 1 not run")));
  std::filesystem::remove_all(at("part"));
  EXPECT_EQ(contents(folder_.path()), before);
  EXPECT_EQ(run({"reproduce", "tiny", "--from", "nowhere"}).code, 2);
}

TEST_F(Reproduce, FailsWhereAVerdictIsNotTheExpectedOne) {
  write(with(kExpected, "expect = \"differs\"", "expect = \"holds\""));
  const Ended ended = run({"reproduce", "tiny", "-o", "out"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("differs, but expected: holds"), HasSubstr("1 of 2 claims")));
}

TEST_F(Reproduce, SaysWhichDataIsMissingAndRunsTheOthers) {
  folder_.write("suites/papers/tiny/cifar.toml", with(small_suite(), "name = \"small\"", "name = \"cifar\""));
  write(std::string(kExpected) + kCifar);
  const Ended ended = run({"reproduce", "tiny", "-o", "out"});
  EXPECT_EQ(ended.code, 6);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("not run: cifar10 is not there"), HasSubstr("ci/fetch-data cifar10"),
                               HasSubstr("2 of 2 claims came out as expected; 1 not run")));
  const Ended tires = run({"reproduce", "--kick-the-tires", "-o", "all"});
  EXPECT_EQ(tires.code, 0) << tires.err;
  EXPECT_THAT(tires.err, HasSubstr("minutes"));
  EXPECT_TRUE(std::filesystem::exists(at("all/tiny/small/trials.csv")));
}

TEST_F(Reproduce, TellsMistakesBeforeItRuns) {
  EXPECT_THAT(run({"reproduce", "tinny"}).err, HasSubstr("Did you mean 'tiny'?"));
  EXPECT_THAT(run({"reproduce", "tiny", "--claim", "soner"}).err, HasSubstr("Did you mean 'sooner'?"));
  write(with(kExpected, "metric = \"time_s\"", "metric = \"time\""));
  const Ended ended = run({"reproduce", "tiny", "-o", "out"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("expected.toml:12:1: unknown metric 'time'"));
  write(with(kExpected, "\"homogeneous\"", "\"homogenous\""));
  EXPECT_THAT(run({"reproduce", "tiny"}).err, HasSubstr("'homogenous / hop' in small (smoke) is nothing"));
  EXPECT_EQ(run({"reproduce", "--kick-the-tires", "tiny"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(at("out")));
}

}  // namespace
}  // namespace hopbench
