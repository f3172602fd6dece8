// The number of trials in virtual time that each process computes, and what becomes of those that a lost process had.
#include "suites/campaign/errands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <stdexcept>

namespace hopbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FleetMember member(int host, int cores, int usable, const std::string& isa = "avx2") {
  FleetMember made;
  made.machine = "machine" + std::to_string(host);
  made.host = host;
  made.context = "{\"machine\": {\"cores\": " + std::to_string(cores) +
                 ", \"usable_cores\": " + std::to_string(usable) + ", \"isa\": \"" + isa + "\"}}";
  return made;
}

/// Agents that do what the test says.
class FakeFleet : public Fleet {
 public:
  explicit FakeFleet(std::vector<FleetMember> members) : members_(std::move(members)), lost_(members_.size()) {}

  const std::vector<FleetMember>& members() const override { return members_; }
  Crew& crew(int) override { throw std::logic_error("no ranks here"); }
  void set_exit_code(int) override {}
  Places places() const override { return {}; }
  void begin_errand(int process, std::int64_t number, const Errand& errand) override {
    begun[process].push_back(errand.job);
    under_way_.push_back({process, number, errand.job});
    most[process] = std::max(most[process], count(process));
  }
  std::vector<EndedErrand> await_errands(Duration) override {
    if (on_await) on_await();
    std::erase_if(under_way_, [&](const UnderWay& each) { return !lost_[std::size_t(each.process)].empty(); });
    if (under_way_.empty() || idle) return {};
    const UnderWay first = under_way_.front();
    under_way_.pop_front();
    LaunchResult result;
    result.ok = !failures.contains({first.process, first.job});
    if (!result.ok) result.failure = {failures[{first.process, first.job}], -1, "no disk"};
    result.ranks.resize(1);
    result.ranks[0].result = first.job;
    return {{first.process, first.number, result}};
  }
  void interrupt_errands() override { ++interrupts; }
  const std::string& why_lost(int process) const override { return lost_[std::size_t(process)]; }

  void lose(int process) { lost_[std::size_t(process)] = "gone"; }

  std::map<int, std::vector<std::string>> begun;  // by process
  std::map<int, std::size_t> most;                // number under way at once
  std::map<std::pair<int, std::string>, FailureKind> failures;
  std::function<void()> on_await;
  bool idle = false;
  int interrupts = 0;

 private:
  struct UnderWay {
    int process;
    std::int64_t number;
    std::string job;
  };
  std::size_t count(int process) const {
    return std::size_t(std::count_if(under_way_.begin(), under_way_.end(),
                                     [&](const UnderWay& each) { return each.process == process; }));
  }
  std::vector<FleetMember> members_;
  std::vector<std::string> lost_;
  std::deque<UnderWay> under_way_;
};

/// Pieces that no other thread takes.
class FakePieces : public Pieces {
 public:
  explicit FakePieces(std::size_t n) : left_(n) {}
  std::optional<std::size_t> take() override {
    if (has_failed) return std::nullopt;
    if (!returned.empty()) {
      const std::size_t piece = *returned.begin();
      returned.erase(returned.begin());
      return piece;
    }
    return next_ < left_ ? std::optional(next_++) : std::nullopt;
  }
  void done(std::size_t piece) override { EXPECT_TRUE(finished.insert(piece).second) << piece << " twice"; }
  void give_back(std::size_t piece) override { returned.insert(piece); }
  bool failed() override { return has_failed; }

  std::set<std::size_t> finished, returned;
  bool has_failed = false;

 private:
  std::size_t left_, next_ = 0;
};

std::vector<int> jobs_in(const std::vector<Share>& shares) {
  std::vector<int> jobs;
  for (const Share& share : shares) jobs.push_back(share.jobs);
  return jobs;
}

std::string said;
void hear(const std::string& text) { said += text; }

std::vector<int> jobs_of(std::vector<FleetMember> members, int jobs = 0) {
  FakeFleet fleet(std::move(members));
  said.clear();
  return jobs_in(shares_of(&fleet, jobs, hear));
}

TEST(Shares, AreTheCoresThatAProcessHas) {
  EXPECT_THAT(jobs_of({member(0, 4, 4), member(1, 16, 16)}), ElementsAre(4, 16));
  EXPECT_THAT(jobs_of({member(0, 4, 4), member(1, 16, 16)}, 3), ElementsAre(3, 3)) << "--jobs is for each process";
  EXPECT_THAT(jobs_of({member(0, 8, 2), member(0, 8, 2), member(1, 8, 8)}), ElementsAre(2, 2, 8)) << "pinned ones";
  EXPECT_THAT(jobs_of({member(0, 8, 8), member(0, 8, 8), member(0, 8, 8)}), ElementsAre(2, 2, 2)) << "8 for three";
  EXPECT_THAT(jobs_of({member(0, 2, 2), member(0, 2, 2), member(0, 2, 2)}), ElementsAre(1, 1, 1));
  EXPECT_EQ(said, "");
  const std::vector<Share> alone = shares_of(nullptr, 3, hear);
  EXPECT_THAT(jobs_in(alone), ElementsAre(3));
  EXPECT_GE(alone[0].cores, 1);
}

TEST(Shares, AreNoneWhereResultsCouldDiffer) {
  EXPECT_THAT(jobs_of({member(0, 4, 4), member(1, 4, 4, "avx512f"), member(2, 4, 4)}), ElementsAre(4, 0, 4));
  EXPECT_THAT(said,
              HasSubstr("process 1 (machine1) computes no trials in virtual time: its instruction sets (avx512f)"));
  FleetMember unknown = member(1, 4, 4);
  unknown.context = "[";
  EXPECT_THAT(jobs_of({member(0, 4, 4), unknown}), ElementsAre(4, 0));
}

TEST(Shares, OfFewTrialsAreSpread) {
  std::vector<Share> shares{{0, 4, 4}, {1, 4, 4}, {2, 8, 0}};
  spread(shares, 8);
  EXPECT_THAT(jobs_in(shares), ElementsAre(4, 4, 0));
  spread(shares, 3);
  EXPECT_THAT(jobs_in(shares), ElementsAre(2, 2, 0));
  spread(shares, 1);
  EXPECT_THAT(jobs_in(shares), ElementsAre(1, 1, 0));
}

class Elsewhere : public testing::Test {
 protected:
  Elsewhere() {
    said.clear();
    work_.errand = [](std::size_t piece, const Share&, int slot) {
      EXPECT_GE(slot, 0);
      return Errand{.job = std::to_string(piece), .place = {slot, 9}};
    };
    work_.keep = [&](std::size_t piece, const Share& share, const LaunchResult& result) {
      EXPECT_EQ(result.ranks.at(0).result, std::to_string(piece));
      kept_[piece] = share.process;
    };
    work_.lost = [&](std::size_t piece) { lost_.insert(piece); };
    work_.interrupts = [&] { return interrupts_; };
    work_.tell = hear;
  }
  void run() { do_elsewhere(fleet_, {{0, 4, 4}, {1, 2, 2}, {2, 1, 1}}, pieces_, work_); }

  FakeFleet fleet_{{member(0, 4, 4), member(1, 2, 2), member(2, 1, 1)}};
  FakePieces pieces_{10};
  ErrandWork work_;
  std::map<std::size_t, int> kept_;
  std::set<std::size_t> lost_;
  int interrupts_ = 0;
};

TEST_F(Elsewhere, EachAgentHasAsManyAsItsJobs) {
  run();
  EXPECT_EQ(pieces_.finished.size(), 10u);
  EXPECT_EQ(kept_.size(), 10u);
  EXPECT_EQ(fleet_.most, (std::map<int, std::size_t>{{1, 2}, {2, 1}}));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_EQ(said, "");
}

TEST_F(Elsewhere, WhatALostAgentHadGoesToTheOthers) {
  int turn = 0;
  fleet_.on_await = [&] {
    if (++turn == 2) fleet_.lose(1);
  };
  run();
  EXPECT_EQ(pieces_.finished.size(), 10u);
  EXPECT_EQ(lost_.size(), 2u);
  for (const std::size_t piece : lost_) EXPECT_EQ(kept_[piece], 2) << piece;
  EXPECT_EQ(said, "process 1 (machine1) was lost: gone; other processes compute its trials\n");
}

TEST_F(Elsewhere, WithoutAnyAgentLeftPiecesAreGivenBack) {
  fleet_.idle = true;
  fleet_.on_await = [&] { fleet_.lose(1), fleet_.lose(2); };
  run();
  EXPECT_EQ(pieces_.returned, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_THAT(kept_, IsEmpty());
}

// A data set or memory may be missing there.
TEST_F(Elsewhere, AnAgentWhoseMachineLacksSomethingGetsNoMore) {
  fleet_.failures[{1, "0"}] = FailureKind::kEnvironment;
  fleet_.failures[{2, "1"}] = FailureKind::kError;  // the trial's own failure, the same everywhere
  run();
  EXPECT_EQ(pieces_.finished.size(), 10u);
  EXPECT_EQ(lost_, std::set<std::size_t>{0});
  EXPECT_EQ(kept_[0], 2);
  EXPECT_EQ(kept_[1], 2);
  EXPECT_LE(fleet_.begun[1].size(), 2u);
  EXPECT_EQ(said, "process 1 (machine1) cannot compute a trial: no disk; other processes compute its trials\n");
}

TEST_F(Elsewhere, InterruptsArePassedOn) {
  int turn = 0;
  fleet_.on_await = [&] {
    ++turn;
    fleet_.idle = turn < 5;
    if (turn == 2) interrupts_ = 1;
    if (turn == 3) {
      EXPECT_EQ(fleet_.interrupts, 1);
    }
    if (turn == 4) pieces_.has_failed = true;
  };
  run();
  EXPECT_EQ(fleet_.interrupts, 2);
  EXPECT_EQ(pieces_.finished.size(), 3u) << "what had begun";
}

}  // namespace
}  // namespace hopbench
