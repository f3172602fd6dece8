// Prague's groups without a cluster: the generator is asked by workers whose steps, averages and ends come in any
// order.
#include "protocols/groups/group_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/base/error.h"

namespace hopbench::groups {
namespace {

using Members = std::vector<int>;
using Answers = std::vector<std::pair<int, Members>>;

std::vector<int> each_alone(int n) {
  std::vector<int> hosts;
  for (int w = 0; w < n; ++w) hosts.push_back(w);
  return hosts;
}

Random random_of(std::uint64_t seed) { return Random({.seed = seed, .purpose = Purpose::kTest}); }

Answers answers_of(GroupGenerator& generator) {
  Answers answers;
  for (const auto& [worker, group] : generator.answers()) answers.emplace_back(worker, group.members);
  return answers;
}

// Each worker asks once and is given its group; nobody releases.
std::map<int, Members> all_ask(GroupGenerator& generator, int n, std::uint64_t seed = 1) {
  std::map<int, Members> given;
  for (int w = 0; w < n; ++w) {
    generator.request(w, random_of(seed + std::uint64_t(w)));
    for (const auto& [worker, members] : answers_of(generator)) given[worker] = members;
  }
  return given;
}

void release_all(GroupGenerator& generator, int n) {
  for (int w = 0; w < n; ++w) generator.release(w);
}

TEST(Division, SplitsAllIdleWorkersIntoDisjointGroups) {
  for (int n : {2, 3, 7, 16}) {
    for (int size : {2, 3, 4}) {
      GroupGenerator generator(each_alone(n), {.group_size = size});
      const auto given = all_ask(generator, n, std::uint64_t(n));
      std::set<Members> groups;
      Members all;
      for (const auto& [worker, members] : given) {
        EXPECT_TRUE(std::binary_search(members.begin(), members.end(), worker));
        EXPECT_GE(int(members.size()), std::min(size, n));
        EXPECT_LT(int(members.size()), 2 * size);
        if (groups.insert(members).second) all.insert(all.end(), members.begin(), members.end());
      }
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, each_alone(n));  // each worker once
    }
  }
}

TEST(Division, IsAnotherOneEachTime) {
  GroupGenerator generator(each_alone(9), {.group_size = 3});
  const auto first = all_ask(generator, 9, 1);
  release_all(generator, 9);
  const auto second = all_ask(generator, 9, 100);
  EXPECT_NE(first, second);
}

TEST(GroupBuffer, HoldsTheGroupAWorkerWasDrawnInto) {
  GroupGenerator generator(each_alone(2), {.group_size = 2});
  generator.request(0, random_of(1));
  const auto first = generator.answers();
  generator.request(1, random_of(2));
  const auto second = generator.answers();
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].group.number, second[0].group.number);  // no group of its own
  EXPECT_EQ(second[0].group.members, (Members{0, 1}));
}

TEST(LockVector, HoldsAGroupBackWhileAMemberIsInAnother) {
  GroupGenerator generator(each_alone(2), {.group_size = 2});
  generator.request(0, random_of(1));
  generator.request(1, random_of(2));
  EXPECT_EQ(generator.answers().size(), 2u);
  generator.release(0);
  generator.request(0, random_of(3));
  EXPECT_TRUE(generator.answers().empty());  // 1 is still averaging
  generator.release(1);
  EXPECT_EQ(answers_of(generator), (Answers{{0, {0, 1}}}));  // 1 finds it when it asks
}

// Worker w asks, is given its group and is done with it.
Members group_drawn_for(GroupGenerator& generator, int w) {
  generator.request(w, random_of(1));
  const Answers answers = answers_of(generator);
  EXPECT_EQ(answers.size(), 1u);
  generator.release(w);
  return answers.empty() ? Members{} : answers[0].second;
}

// Workers 0 and 1 have asked `ahead` times more than 2 has, whose buffer is empty.
GroupGenerator with_slow_worker(Iter ahead, Iter threshold) {
  GroupGenerator generator(each_alone(3), {.group_size = 3, .slow_threshold = threshold});
  for (Iter k = 0; k < 1 + ahead; ++k) {
    // The first group is of all three; while 2 has not asked for it, it is in no other.
    EXPECT_EQ(group_drawn_for(generator, 0).size(), k == 0 ? 3u : 2u);
    group_drawn_for(generator, 1);
  }
  EXPECT_EQ(group_drawn_for(generator, 2).size(), 3u);
  return generator;
}

TEST(SlowdownFilter, LeavesOutWhoHasAskedTooFewTimes) {
  for (Iter threshold : {1, 3}) {
    for (Iter ahead : {0, 1, 2, 3, 4}) {
      GroupGenerator generator = with_slow_worker(ahead, threshold);
      const bool drawn = ahead + 1 <= threshold;  // the request that draws is one more
      EXPECT_EQ(group_drawn_for(generator, 0), drawn ? (Members{0, 1, 2}) : (Members{0, 1}))
          << ahead << ", " << threshold;
    }
  }
  GroupGenerator without = with_slow_worker(100, 0);
  EXPECT_EQ(group_drawn_for(without, 0), (Members{0, 1, 2}));
}

TEST(SlowdownFilter, DrawsFastWorkersForASlowOne) {
  GroupGenerator generator = with_slow_worker(10, 1);
  EXPECT_EQ(group_drawn_for(generator, 2), (Members{0, 1, 2}));
}

// Four times slower than the others, in a group with them whenever it has asked and never otherwise: nobody ever waits
// for it but in the first few steps.
TEST(SlowdownFilter, LeavesOutAWorkerThatIsFourTimesSlower) {
  const Iter threshold = 4;
  GroupGenerator generator(each_alone(4), {.group_size = 2, .slow_threshold = threshold});
  Iter asked = 0, waited = 0;  // by worker 3; rounds in which another's group waited for it
  for (Iter k = 1; k <= 100; ++k) {
    std::vector<int> asking = {0, 1, 2};
    if (k % 4 == 0) asking.insert(asking.begin(), 3);
    for (int w : asking) {
      generator.request(w, random_of(std::uint64_t(10 * k + w)));
      asked += w == 3 ? 1 : 0;
    }
    for (const auto& [worker, group] : generator.answers()) {
      const bool waits = worker != 3 && k % 4 != 0 && std::binary_search(group.members.begin(), group.members.end(), 3);
      waited += waits ? 1 : 0;
      EXPECT_TRUE(!waits || k - asked <= threshold) << "round " << k;
      generator.release(worker);
    }
  }
  EXPECT_GT(waited, 0);
}

TEST(Leaving, TakesPartInTheGroupsItWasDrawnInto) {
  GroupGenerator generator(each_alone(2), {.group_size = 2});
  generator.request(0, random_of(1));
  generator.leave(1);
  EXPECT_EQ(answers_of(generator), (Answers{{0, {0, 1}}, {1, {0, 1}}}));
  release_all(generator, 2);
  generator.leave(1);
  EXPECT_EQ(answers_of(generator), (Answers{{1, {}}}));
  generator.request(0, random_of(2));
  EXPECT_EQ(answers_of(generator), (Answers{{0, {0}}}));  // nobody draws it any more
}

TEST(InterIntra, JoinsHeadsOfHostsThenWholeHosts) {
  const std::vector<int> hosts = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  GroupGenerator generator(hosts, {.group_size = 3});
  const auto first = all_ask(generator, 9);
  std::set<Members> groups;
  for (const auto& [worker, members] : first) groups.insert(members);
  ASSERT_EQ(groups.size(), 4u);  // the heads, and a pair on each host
  int across = 0;
  for (const Members& members : groups) {
    std::set<int> on;
    for (int w : members) on.insert(hosts[std::size_t(w)]);
    EXPECT_EQ(members.size(), on.size() == 1 ? 2u : 3u);
    across += on.size() == 3 ? 1 : 0;
  }
  EXPECT_EQ(across, 1);
  release_all(generator, 9);
  const auto second = all_ask(generator, 9, 100);
  for (int w = 0; w < 9; ++w) {
    const int first_of_host = w / 3 * 3;
    EXPECT_EQ(second.at(w), (Members{first_of_host, first_of_host + 1, first_of_host + 2}));
  }
}

TEST(StaticSchedule, IsAsWrittenForFourWorkersAHost) {
  const std::vector<int> hosts = {0, 0, 0, 0, 1, 1, 1, 1};
  using Steps = std::vector<Members>;
  const Members one = {0, 1, 2, 3}, two = {4, 5, 6, 7};
  EXPECT_EQ(static_schedule(hosts, 0), (Steps{{0, 4}, one, {0, 3}, one}));
  EXPECT_EQ(static_schedule(hosts, 1), (Steps{{1}, one, {1, 5}, one}));
  EXPECT_EQ(static_schedule(hosts, 2), (Steps{{2, 3}, one, {2}, one}));
  EXPECT_EQ(static_schedule(hosts, 3), (Steps{{2, 3}, one, {0, 3}, one}));
  EXPECT_EQ(static_schedule(hosts, 4), (Steps{{0, 4}, two, {4, 7}, two}));
  EXPECT_EQ(static_schedule(hosts, 5), (Steps{{5}, two, {1, 5}, two}));
  EXPECT_EQ(static_schedule(hosts, 6), (Steps{{6, 7}, two, {6}, two}));
  EXPECT_EQ(static_schedule(hosts, 7), (Steps{{6, 7}, two, {4, 7}, two}));
}

TEST(StaticSchedule, CountsLocalRanksHoweverRanksAreSpread) {
  const std::vector<int> hosts = {7, 2, 7, 2, 7, 2, 7, 2};
  EXPECT_TRUE(has_static_schedule(hosts));
  EXPECT_EQ(static_schedule(hosts, 0)[0], (Members{0, 1}));
  EXPECT_EQ(static_schedule(hosts, 0)[1], (Members{0, 2, 4, 6}));
  EXPECT_EQ(static_schedule(hosts, 7)[0], (Members{5, 7}));
}

TEST(StaticSchedule, IsForFourWorkersOnEachHostOnly) {
  EXPECT_TRUE(has_static_schedule({0, 0, 0, 0}));
  EXPECT_FALSE(has_static_schedule({0, 1, 2, 3}));
  EXPECT_FALSE(has_static_schedule({0, 0, 0, 0, 1, 1}));
}

// 1/|G| on G x G, the identity elsewhere.
std::vector<std::vector<double>> matrix_of(const Members& members, int n) {
  std::vector<std::vector<double>> matrix(std::size_t(n), std::vector<double>(std::size_t(n), 0.0));
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i][i] = 1;
  for (int a : members) {
    for (int b : members) matrix[std::size_t(a)][std::size_t(b)] = 1.0 / double(members.size());
  }
  return matrix;
}

// Symmetric, doubly stochastic, idempotent.
void expect_projection(const Members& members, int n) {
  const auto m = matrix_of(members, n);
  for (std::size_t i = 0; i < m.size(); ++i) {
    double row = 0;
    for (std::size_t j = 0; j < m.size(); ++j) {
      double squared = 0;
      for (std::size_t k = 0; k < m.size(); ++k) squared += m[i][k] * m[k][j];
      EXPECT_NEAR(squared, m[i][j], 1e-12);
      EXPECT_EQ(m[i][j], m[j][i]);
      row += m[i][j];
    }
    EXPECT_NEAR(row, 1, 1e-12);
  }
}

// Workers that do what they can in a random order, until all have left.
class Play {
 public:
  Play(std::uint64_t seed, int n, std::vector<int> hosts, DivisionRule rule)
      : random_(random_of(seed)), generator_(std::move(hosts), rule), workers_(std::size_t(n)) {
    for (Worker& worker : workers_) worker.steps = 1 + Iter(random_.below(12));
  }

  // False: nobody could do anything, though not all had left.
  bool go() {
    while (std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.state != State::kLeft; })) {
      std::vector<int> able;
      for (int w = 0; w < int(workers_.size()); ++w) {
        if (can_act(w)) able.push_back(w);
      }
      if (able.empty()) return false;
      act(able[random_.below(able.size())]);
      for (const auto& [worker, group] : generator_.answers()) take(worker, group);
    }
    return true;
  }

  Iter groups = 0;

 private:
  enum class State { kComputes, kAsked, kAverages, kLeft };
  struct Worker {
    State state = State::kComputes;
    Iter steps = 0;  // to do
    Assignment group{};
  };
  Worker& at(int w) { return workers_[std::size_t(w)]; }

  // An average takes all members of the group; then each ends it by itself.
  bool can_act(int w) {
    if (at(w).state == State::kComputes) return true;
    return at(w).state == State::kAverages && met_[at(w).group.number] == at(w).group.members.size();
  }

  void act(int w) {
    if (at(w).state == State::kAverages) {
      generator_.release(w);
      at(w).state = State::kComputes;
    } else {
      at(w).state = State::kAsked;
      if (at(w).steps-- > 0) {
        generator_.request(w, random_of(random_.next_u64()));
      } else {
        generator_.leave(w);
      }
    }
  }

  void take(int w, const Assignment& group) {
    ASSERT_EQ(at(w).state, State::kAsked);  // so a worker is in one running group at a time
    at(w).state = group.members.empty() ? State::kLeft : State::kAverages;
    if (group.members.empty()) return;
    EXPECT_GT(group.number, at(w).group.number);
    EXPECT_TRUE(std::binary_search(group.members.begin(), group.members.end(), w));
    at(w).group = group;
    for (int other : group.members) {  // it runs: whoever else is in a group is in this one
      EXPECT_TRUE(at(other).state != State::kAverages || at(other).group.number == group.number);
    }
    if (met_[group.number]++ == 0) {
      ++groups;
      expect_projection(group.members, int(workers_.size()));
    }
  }

  Random random_;
  GroupGenerator generator_;
  std::vector<Worker> workers_;
  std::map<Iter, std::size_t> met_;  // group -> members that were given it
};

TEST(GroupGenerator, ServesEveryRequestInAnyOrderOfEvents) {
  Iter groups = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random = random_of(seed);
    const int n = 1 + int(random.below(12)), hosts = 1 + int(random.below(4));
    std::vector<int> host_of;
    for (int w = 0; w < n; ++w) host_of.push_back(int(random.below(std::uint64_t(hosts))));
    const DivisionRule rule{.group_size = 2 + int(random.below(4)),
                            .inter_intra = random.chance(0.5),
                            .slow_threshold = Iter(random.below(5))};
    Play play(seed, n, host_of, rule);
    ASSERT_TRUE(play.go()) << "a deadlock with seed " << seed;
    groups += play.groups;
  }
  EXPECT_GT(groups, 10000);
}

}  // namespace
}  // namespace hopbench::groups
