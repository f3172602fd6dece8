// The samples that each worker gets, and their order.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/dataset.h"

namespace hopbench {
namespace {

using Parts = std::vector<std::vector<std::uint32_t>>;

/// Labels only; 0 classes: none.
class Labels final : public Dataset {
 public:
  Labels(std::size_t size, int classes) : size_(size), classes_(classes) {}
  std::size_t size() const override { return size_; }
  Shape shape() const override { return {}; }
  int classes() const override { return classes_; }
  std::int32_t label(std::size_t i) const override { return std::int32_t(i % std::size_t(classes_)); }
  void copy_sample(std::size_t, float*) const override {}

 private:
  std::size_t size_;
  int classes_;
};

const SplitSpec kIid{};
SplitSpec dirichlet(double alpha) { return {.what = SplitKind::kDirichlet, .alpha = alpha}; }
SplitSpec shards(int per_worker) { return {.what = SplitKind::kShards, .shards_per_worker = per_worker}; }

/// Two features, without labels: the first falls, the second repeats 0 to 4; their sum is another order.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::size_t size) : size_(size) {}
  std::size_t size() const override { return size_; }
  Shape shape() const override { return {2, 1, 1}; }
  int classes() const override { return 0; }
  std::int32_t label(std::size_t) const override { return 0; }
  void copy_sample(std::size_t i, float* to) const override {
    to[0] = -float(i);
    to[1] = float(i % 5) * 1000;
  }

 private:
  std::size_t size_;
};

SplitSpec by_feature(int feature = -1) { return {.what = SplitKind::kByFeature, .feature = feature}; }

/// Mean over the workers of the total variation distance between a part's classes and equal shares: 0 to 0.9.
double skew(const Dataset& data, const Parts& parts) {
  double sum = 0;
  for (const auto& part : parts) {
    std::vector<double> share(std::size_t(data.classes()), 0.0);
    for (const std::uint32_t i : part) share[std::size_t(data.label(i))] += 1.0 / double(part.size());
    for (const double s : share) sum += 0.5 * std::abs(s - 1.0 / data.classes());
  }
  return sum / double(parts.size());
}

std::vector<SplitSpec> all_splits() {
  return {kIid,      dirichlet(0.5), dirichlet(1e-3), dirichlet(1e-6), dirichlet(100),
          shards(1), shards(2),      shards(5),       by_feature()};
}

TEST(Split, IsDisjointCompleteAndLeavesNobodyEmpty) {
  for (const std::size_t samples : {100u, 1003u})
    for (const int workers : {1, 3, 8, 17})
      for (const SplitSpec& spec : all_splits()) {
        const Parts parts = split(Labels(samples, 10), spec, workers, 1, 0);
        ASSERT_EQ(parts.size(), std::size_t(workers));
        std::vector<std::uint32_t> all;
        for (const auto& part : parts) {
          EXPECT_FALSE(part.empty());
          EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
          all.insert(all.end(), part.begin(), part.end());
        }
        std::sort(all.begin(), all.end());
        std::vector<std::uint32_t> expected(samples);
        std::iota(expected.begin(), expected.end(), 0u);
        EXPECT_EQ(all, expected);
      }
}

TEST(Split, GivesEverybodyAsManySamplesToWithinOneAShard) {
  for (const SplitSpec& spec : all_splits()) {
    const Parts parts = split(Labels(1003, 10), spec, 8, 1, 0);
    const auto [least, most] = std::minmax_element(parts.begin(), parts.end(),
                                                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const bool by_shards = spec.what == SplitKind::kShards;
    EXPECT_LE(most->size() - least->size(), by_shards ? std::size_t(spec.shards_per_worker) : 1u);
  }
}

TEST(Split, IsTheSameForTheSameSeedAndRepeatOnly) {
  for (const SplitSpec& spec : all_splits()) {
    const Labels data(1000, 10);
    const Parts once = split(data, spec, 8, 1, 0);
    EXPECT_EQ(once, split(data, spec, 8, 1, 0));
    EXPECT_NE(once, split(data, spec, 8, 2, 0));
    EXPECT_NE(once, split(data, spec, 8, 1, 1));
  }
}

// Published results depend on these draws: a change must be a decision, not an accident.
TEST(Split, AndOrderAreWhatTheyAlwaysWere) {
  const Labels data(40, 10);
  using Part = std::vector<std::uint32_t>;
  EXPECT_EQ(split(data, kIid, 10, 1, 0)[3], (Part{16, 20, 27, 29}));
  EXPECT_EQ(split(data, shards(2), 5, 1, 0)[3], (Part{2, 4, 12, 14, 22, 24, 32, 34}));
  Part order(6);
  SampleOrder({0, 1, 2, 3, 4, 5}, 1, 0, 3).fill(6, order);
  EXPECT_EQ(order, (Part{1, 0, 2, 3, 5, 4}));
}

TEST(Split, IsAsSkewedAsItSays) {
  const Labels data(20000, 10);
  const auto skew_of = [&](const SplitSpec& spec) {
    double sum = 0;
    for (const std::uint32_t repeat : {0u, 1u, 2u}) sum += skew(data, split(data, spec, 8, 1, repeat)) / 3;
    return sum;
  };
  EXPECT_LT(skew_of(kIid), 0.03);
  EXPECT_LT(skew_of(dirichlet(1000)), 0.03);
  EXPECT_GT(skew_of(dirichlet(0.5)), 0.3);
  EXPECT_GT(skew_of(dirichlet(0.1)), skew_of(dirichlet(0.5)) + 0.1);
  EXPECT_GT(skew_of(dirichlet(0.5)), skew_of(dirichlet(5)) + 0.1);
  EXPECT_GT(skew_of(shards(2)), 0.65);  // two shards of 1250: at most four of ten classes
}

/// By that feature, or the sum; of equal ones the lower index first.
std::vector<std::uint32_t> sorted(const Dataset& data, int feature) {
  std::vector<std::pair<float, std::uint32_t>> keys;
  for (std::uint32_t i = 0; i < data.size(); ++i) {
    std::vector<float> sample(data.shape().size());
    data.copy_sample(i, sample.data());
    keys.emplace_back(feature < 0 ? sample[0] + sample[1] : sample[std::size_t(feature)], i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order;
  for (const auto& [key, i] : keys) order.push_back(i);
  return order;
}

TEST(Split, ByAFeatureCutsTheSortedSamplesIntoOnePieceAWorker) {
  const Numbers data(103);
  for (const int feature : {-1, 0, 1}) {
    const std::vector<std::uint32_t> order = sorted(data, feature);
    std::set<Parts::value_type> expected;
    for (std::size_t w = 0; w < 7; ++w) {
      Parts::value_type piece(order.begin() + std::ptrdiff_t(103 * w / 7),
                              order.begin() + std::ptrdiff_t(103 * (w + 1) / 7));
      std::sort(piece.begin(), piece.end());
      expected.insert(piece);
    }
    const Parts parts = split(data, by_feature(feature), 7, 1, 0);
    EXPECT_EQ((std::set<Parts::value_type>(parts.begin(), parts.end())), expected) << feature;
    EXPECT_EQ(parts, split(data, by_feature(feature), 7, 1, 0));
    EXPECT_NE(parts, split(data, by_feature(feature), 7, 1, 1)) << "dealt anew";
  }
}

/// The same samples, but one cannot see that they are sparse.
class WrittenOut final : public Dataset {
 public:
  explicit WrittenOut(const Dataset& data) : data_(data) {}
  std::size_t size() const override { return data_.size(); }
  Shape shape() const override { return data_.shape(); }
  int classes() const override { return data_.classes(); }
  std::int32_t label(std::size_t i) const override { return data_.label(i); }
  void copy_sample(std::size_t i, float* to) const override { data_.copy_sample(i, to); }

 private:
  const Dataset& data_;
};

TEST(Split, ByAFeatureOfSparseRowsIsThatOfTheSameRowsWrittenOut) {
  const DatasetPair pair = find_dataset("synthetic_sparse").load({});
  ASSERT_NE(pair.train->rows(), nullptr);
  const WrittenOut dense(*pair.train);
  const int features = int(pair.train->shape().size());
  for (const int feature : {-1, 0, 7, features - 1})
    EXPECT_EQ(split(*pair.train, by_feature(feature), 4, 1, 0), split(dense, by_feature(feature), 4, 1, 0)) << feature;
}

TEST(Split, IntoShardsGivesAWorkerFewClasses) {
  const Labels data(1000, 10);
  for (const auto& part : split(data, shards(2), 5, 1, 0)) {  // a shard is exactly a class
    std::set<std::int32_t> classes;
    for (const std::uint32_t i : part) classes.insert(data.label(i));
    EXPECT_EQ(classes.size(), 2u);
  }
}

TEST(Split, RefusesWhatCannotBe) {
  const Labels data(20, 10), unlabelled(20, 0);
  const auto refused = [](const Dataset& set, const SplitSpec& spec, int workers, const std::string& says) {
    try {
      split(set, spec, workers, 1, 0);
      ADD_FAILURE() << "not refused: " << says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refused(data, kIid, 21, "20 samples into 21 parts");
  refused(data, shards(3), 7, "20 samples into 21 parts");
  refused(data, dirichlet(0), 2, "alpha = 0");
  refused(data, dirichlet(-1), 2, "alpha = -1");
  refused(data, dirichlet(std::nan("")), 2, "alpha = nan");
  refused(data, shards(0), 2, "shards_per_worker = 0");
  refused(unlabelled, dirichlet(1), 2, "no labels");
  refused(unlabelled, shards(1), 2, "no labels");
  refused(Numbers(20), by_feature(2), 2, "feature = 2 is out of range: a sample has the features 0 to 1");
  refused(Numbers(20), by_feature(-2), 2, "feature = -2");
  refused(Numbers(20), by_feature(), 21, "20 samples into 21 parts");
  EXPECT_EQ(split(unlabelled, kIid, 20, 1, 0).size(), 20u);
}

SampleOrder order_of(std::uint32_t part_size, int rank = 0, std::uint64_t seed = 1, std::uint32_t repeat = 0) {
  std::vector<std::uint32_t> part(part_size);
  for (std::uint32_t i = 0; i < part_size; ++i) part[i] = 3 * i + 1;
  return SampleOrder(std::move(part), seed, repeat, rank);
}

std::vector<std::uint32_t> stream(SampleOrder order, std::size_t n) {
  std::vector<std::uint32_t> all(n);
  order.fill(0, all);
  return all;
}

TEST(SampleOrder, TakesEverySampleOnceAnEpochWhateverTheBatchSize) {
  for (std::size_t batch = 1; batch <= 23; ++batch) {
    SampleOrder order = order_of(10);
    std::vector<std::uint32_t> taken(40 * batch);
    for (std::size_t b = 0; b < 40; ++b) order.fill(b * batch, std::span(taken).subspan(b * batch, batch));
    for (std::size_t e = 0; (e + 1) * 10 <= taken.size(); ++e) {
      const auto first = taken.begin() + std::ptrdiff_t(e * 10);
      EXPECT_EQ((std::set<std::uint32_t>(first, first + 10)),
                (std::set<std::uint32_t>{1, 4, 7, 10, 13, 16, 19, 22, 25, 28}));
    }
    EXPECT_EQ(taken, stream(order_of(10), taken.size()));
  }
}

TEST(SampleOrder, IsAFunctionOfThePositionAlone) {
  const std::vector<std::uint32_t> all = stream(order_of(37), 1000);
  SampleOrder order = order_of(37);
  for (const std::size_t first : {900u, 0u, 36u, 37u, 500u, 35u, 960u, 1u}) {
    std::vector<std::uint32_t> some(40);
    order.fill(first, some);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + std::ptrdiff_t(first)));
  }
}

TEST(SampleOrder, IsAnotherForEveryEpochRankSeedAndRepeat) {
  const auto first = stream(order_of(50), 100);
  EXPECT_FALSE(std::equal(first.begin(), first.begin() + 50, first.begin() + 50));
  EXPECT_NE(first, stream(order_of(50, 1), 100));
  EXPECT_NE(first, stream(order_of(50, 0, 2), 100));
  EXPECT_NE(first, stream(order_of(50, 0, 1, 1), 100));
}

}  // namespace
}  // namespace hopbench
