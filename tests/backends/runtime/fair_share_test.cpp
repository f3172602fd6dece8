// The sharing of links itself, against progressive filling over everything.
#include "backends/runtime/virtual/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "backends/base/random.h"

namespace hopbench {
namespace {

/// Progressive filling over everything.
struct Model {
  std::vector<double> capacity;
  std::vector<std::pair<int, std::vector<int>>> flows;  // number in the FairShare, resources

  std::vector<double> progressive_filling() const {
    std::vector<double> rates(flows.size(), -1), left = capacity;
    for (std::size_t given = 0; given < flows.size();) {
      double level = std::numeric_limits<double>::infinity();
      int fullest = -1;
      const auto open_on = [&](int r) {
        int n = 0;
        for (std::size_t f = 0; f < flows.size(); ++f) n += rates[f] < 0 && uses(f, r);
        return n;
      };
      for (int r = 0; r < static_cast<int>(capacity.size()); ++r) {
        const int open = open_on(r);
        if (open == 0 || left[static_cast<std::size_t>(r)] / open >= level) continue;
        level = left[static_cast<std::size_t>(r)] / open;
        fullest = r;
      }
      for (std::size_t f = 0; f < flows.size(); ++f) {
        if (rates[f] >= 0 || !uses(f, fullest)) continue;
        rates[f] = level;
        ++given;
        for (const int r : flows[f].second) left[static_cast<std::size_t>(r)] -= level;
      }
    }
    return rates;
  }
  bool uses(std::size_t f, int r) const {
    return std::find(flows[f].second.begin(), flows[f].second.end(), r) != flows[f].second.end();
  }
};

/// Paths are random, or, with `servers`, of one of the first so many resources and one of the others.
void compare_over_random_changes(std::uint64_t seed, int resources, bool equal_capacities, int servers = 0) {
  Random random({.seed = seed});
  FairShare share;
  Model model;
  std::vector<double> levels(static_cast<std::size_t>(resources));  // what update() has said so far, by resource
  std::vector<int> bottlenecks;                                     // and by flow number
  for (int r = 0; r < resources; ++r) {
    model.capacity.push_back(equal_capacities ? 1.0 : 0.5 + random.uniform());
    share.add_resource(model.capacity.back());
  }
  for (int step = 0; step < 150; ++step) {
    if (!equal_capacities && random.chance(0.2)) {
      const std::size_t r = random.below(static_cast<std::uint64_t>(resources));
      model.capacity[r] = 0.2 + 2 * random.uniform();
      share.set_capacity(static_cast<int>(r), model.capacity[r]);
    }
    for (std::uint64_t change = random.below(3); change < 3; ++change) {
      if (!model.flows.empty() && random.chance(0.45)) {
        const std::size_t gone = random.below(model.flows.size());
        share.remove_flow(model.flows[gone].first);
        model.flows.erase(model.flows.begin() + static_cast<std::ptrdiff_t>(gone));
        continue;
      }
      std::vector<int> path(static_cast<std::size_t>(resources));
      for (int r = 0; r < resources; ++r) path[static_cast<std::size_t>(r)] = r;
      random.shuffle(std::span(path));
      path.resize(1 + random.below(std::min(path.size(), FairShare::kMaxPath)));
      if (servers > 0) {
        const auto workers = static_cast<std::uint64_t>(resources - servers);
        path = {static_cast<int>(random.below(static_cast<std::uint64_t>(servers))),
                servers + static_cast<int>(random.below(workers))};
      }
      const int number = share.add_flow(path);
      if (bottlenecks.size() <= static_cast<std::size_t>(number)) bottlenecks.resize(std::size_t(number) + 1);
      bottlenecks[static_cast<std::size_t>(number)] = -1;
      model.flows.emplace_back(number, path);
    }
    const FairShare::Changes& changes = share.update();
    for (const int r : changes.levels) levels[static_cast<std::size_t>(r)] = share.level(r);
    for (const int f : changes.moved) bottlenecks[static_cast<std::size_t>(f)] = share.bottleneck(f);
    const std::vector<double> wanted = model.progressive_filling();
    for (std::size_t f = 0; f < wanted.size(); ++f) {
      const int number = model.flows[f].first;
      ASSERT_NEAR(share.rate(number), wanted[f], 1e-7 * wanted[f]) << "seed " << seed << " step " << step;
      const int bottleneck = bottlenecks[static_cast<std::size_t>(number)];
      ASSERT_EQ(bottleneck, share.bottleneck(number));
      ASSERT_EQ(levels[static_cast<std::size_t>(bottleneck)], share.rate(number));
    }
  }
}

TEST(FairShare, AgreesWithProgressiveFillingOverRandomChanges) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    compare_over_random_changes(seed, 4, false);
    compare_over_random_changes(seed, 12, seed % 2 == 0);
    compare_over_random_changes(seed, 40, seed % 2 == 1);
  }
}

TEST(FairShare, AgreesWithProgressiveFillingWhereManyMeetFew) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    compare_over_random_changes(seed, 30, seed % 2 == 0, 1);
    compare_over_random_changes(seed, 60, seed % 2 == 0, 2);
    compare_over_random_changes(seed, 30, seed % 2 == 0, 5);
  }
}

TEST(FairShare, TouchesOnlyWhatAChangeConcerns) {
  FairShare share;
  for (int r = 0; r < 4; ++r) share.add_resource(1.0);
  const std::vector<int> left{0, 1}, right{2, 3};
  share.add_flow(left);
  const int other = share.add_flow(right);
  EXPECT_EQ(share.update().moved.size(), 2U);
  share.add_flow(left);
  const FairShare::Changes& changes = share.update();
  EXPECT_EQ(changes.moved, (std::vector<int>{2}));
  EXPECT_EQ(changes.levels, (std::vector<int>{0}));
  EXPECT_EQ(share.rate(other), 1.0);
}

// One resource's flows, each with another resource of its own, as into a server's NIC: the rate of all of them changes
// with each, and none of them is named.
TEST(FairShare, NamesAnIncastByItsResource) {
  FairShare share;
  const int server = share.add_resource(1.0);
  for (int worker = 0; worker < 100; ++worker) {
    const std::vector<int> path{server, share.add_resource(1.0)};
    const int flow = share.add_flow(path);
    const FairShare::Changes& changes = share.update();
    EXPECT_EQ(changes.moved, (std::vector<int>{flow}));
    EXPECT_EQ(changes.levels, (std::vector<int>{server}));
    EXPECT_EQ(share.rate(0), 1.0 / (worker + 1));
  }
}

}  // namespace
}  // namespace hopbench
