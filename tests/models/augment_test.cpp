// Crops and mirrors of training pictures: what is drawn, what becomes of a picture, and that nothing else changes.
#include <set>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/workload.h"

namespace hopbench {
namespace {

// 2 channels of 3x4, each value its number.
constexpr Shape kSmall{2, 3, 4};

std::vector<float> cropped(const Crop& crop) {
  std::vector<float> from(24), to(24, -1);
  for (std::size_t i = 0; i < 24; ++i) from[i] = static_cast<float>(i + 1);
  crop_picture(crop, kSmall, from.data(), to.data());
  return to;
}

TEST(Crops, LeaveThePictureInTheMiddleOfTheFrame) {
  const std::vector<float> same = cropped({4, 4, false});
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(same[i], static_cast<float>(i + 1));
}

TEST(Crops, MirrorEachLine) {
  EXPECT_EQ(cropped({4, 4, true}), (std::vector<float>{4,  3,  2,  1,  8,  7,  6,  5,  12, 11, 10, 9,
                                                       16, 15, 14, 13, 20, 19, 18, 17, 24, 23, 22, 21}));
}

TEST(Crops, MoveThePictureAndShowTheFrame) {
  // One row further down and two columns further left: its first two columns are the frame's, its last row is.
  EXPECT_EQ(cropped({5, 2, false}), (std::vector<float>{0, 0, 5,  6,  0, 0, 9,  10, 0, 0, 0, 0,  //
                                                        0, 0, 17, 18, 0, 0, 21, 22, 0, 0, 0, 0}));
  // The same, then mirrored.
  EXPECT_EQ(cropped({5, 2, true}), (std::vector<float>{6,  5,  0, 0, 10, 9,  0, 0, 0, 0, 0, 0,  //
                                                       18, 17, 0, 0, 22, 21, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(cropped({2, 5, false}), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 2,  3,  4,  0,  //
                                                        0, 0, 0, 0, 0, 0, 0, 0, 14, 15, 16, 0}));
}

TEST(Crops, BeyondASmallPictureAreTheFrameAlone) {
  EXPECT_EQ(cropped({0, 4, false}), std::vector<float>(24, 0));
  EXPECT_EQ(cropped({4, 8, true}), std::vector<float>(24, 0));
}

TEST(Crops, AreDrawnEvenlyAndByKeyAlone) {
  constexpr int kDraws = 16200;  // 100 of each of 9 x 9 x 2
  std::map<std::tuple<int, int, bool>, int> counts;
  for (std::uint64_t p = 0; p < kDraws; ++p) {
    const Crop crop = draw_crop(1, 2, 3, p);
    ++counts[{crop.down, crop.right, crop.mirrored}];
  }
  EXPECT_EQ(counts.size(), 162u);
  double chi = 0;  // 161 degrees of freedom: 99.99 % lie below 237
  for (const auto& [crop, count] : counts) {
    EXPECT_TRUE(std::get<0>(crop) >= 0 && std::get<0>(crop) <= 8 && std::get<1>(crop) >= 0 && std::get<1>(crop) <= 8);
    chi += (count - 100.0) * (count - 100.0) / 100;
  }
  EXPECT_LT(chi, 237);
  const auto line = [](std::uint64_t seed, std::uint32_t repeat, int rank) {
    std::vector<int> all;
    for (std::uint64_t p = 1000; p < 1020; ++p) {
      const Crop crop = draw_crop(seed, repeat, rank, p);
      all.insert(all.end(), {crop.down, crop.right, crop.mirrored});
    }
    return all;
  };
  const std::set<std::vector<int>> lines = {line(1, 2, 3), line(2, 2, 3), line(1, 3, 3), line(1, 2, 4)};
  EXPECT_EQ(lines.size(), 4u);
  EXPECT_EQ(line(1, 2, 3), line(1, 2, 3));
}

// Draws are part of results: the same numbers for ever, on every machine.
TEST(Crops, AreTheseOnes) {
  std::string drawn;
  for (std::uint64_t p = 0; p < 6; ++p) {
    const Crop crop = draw_crop(1, 0, 0, p);
    drawn += std::to_string(crop.down) + std::to_string(crop.right) + (crop.mirrored ? "m " : "- ");
  }
  EXPECT_EQ(drawn, "86m 71- 54- 58m 36m 47- ");
}

/// Pictures of 6x6, no two values alike.
class Numbered final : public Dataset {
 public:
  std::size_t size() const override { return 64; }
  Shape shape() const override { return {1, 6, 6}; }
  int classes() const override { return 10; }
  std::int32_t label(std::size_t i) const override { return static_cast<std::int32_t>(i % 10); }
  void copy_sample(std::size_t i, float* to) const override {
    for (std::size_t d = 0; d < 36; ++d) to[d] = static_cast<float>(i * 36 + d + 1) / 2304;
  }
};

WorkloadSpec small(Augment augment) {
  return {.model = "mlp", .batch = 4, .augment = augment, .backend = "reference", .workers = 3, .seed = 5};
}

std::unique_ptr<Workload> workload(Augment augment) {
  const auto data = std::make_shared<Numbered>();
  return make_workload(small(augment), {data, data});
}

std::vector<float> gradient(Workload& of, int worker, std::uint64_t first, int count) {
  Vec g(of.size());
  of.gradient(of.initial().share(), worker, first, count, g, {});
  return g.to_host();
}

/// The worker's samples, each with the crop of its position, as the workload should make them.
class Cropped final : public Dataset {
 public:
  Cropped(std::vector<std::uint32_t> samples, int rank, std::uint64_t first)
      : samples_(std::move(samples)), rank_(rank), first_(first) {}
  std::size_t size() const override { return samples_.size(); }
  Shape shape() const override { return data_.shape(); }
  int classes() const override { return 10; }
  std::int32_t label(std::size_t i) const override { return data_.label(samples_[i]); }
  void copy_sample(std::size_t i, float* to) const override {
    std::vector<float> picture(36);
    data_.copy_sample(samples_[i], picture.data());
    crop_picture(draw_crop(5, 0, rank_, first_ + i), shape(), picture.data(), to);
  }

 private:
  Numbered data_;
  std::vector<std::uint32_t> samples_;
  int rank_;
  std::uint64_t first_;
};

TEST(Augmentation, CropsEachSampleByItsPosition) {
  const auto parts = split(Numbered(), {}, 3, 5, 0);
  const auto augmented = workload(Augment::kPadCropFlip);
  for (const int worker : {0, 2}) {
    constexpr std::uint64_t kFirst = 100;  // some epochs on
    std::vector<std::uint32_t> samples(4);
    SampleOrder(parts[static_cast<std::size_t>(worker)], 5, 0, worker).fill(kFirst, samples);
    WorkloadSpec plain = small(Augment::kNone);
    plain.workers = 1;
    const auto set = std::make_shared<Cropped>(samples, worker, kFirst);
    const auto expected = make_workload(plain, {set, set});
    // The plain one takes the four samples in an order of its own, so sums differ in their last bits.
    const std::vector<float> a = gradient(*augmented, worker, kFirst, 4), b = gradient(*expected, 0, 0, 4);
    for (std::size_t d = 0; d < a.size(); ++d) ASSERT_NEAR(a[d], b[d], 1e-6) << d;
  }
}

TEST(Augmentation, IsAnotherOneInEachEpoch) {
  const auto plain = workload(Augment::kNone), augmented = workload(Augment::kPadCropFlip);
  const std::size_t part = plain->part_size(0);  // a gradient over all of it: the order does not matter
  const auto all = [&](Workload& of, std::uint64_t epoch) { return gradient(of, 0, epoch * part, int(part)); };
  const std::vector<float> a = all(*plain, 0), b = all(*plain, 1), c = all(*augmented, 0), d = all(*augmented, 1);
  double same = 0, other = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    same = std::max(same, std::abs(double(a[i]) - b[i]));
    other = std::max(other, std::abs(double(c[i]) - d[i]));
  }
  EXPECT_LT(same, 1e-6);
  EXPECT_GT(other, 1e-3);
}

// A sample of everybody's order is drawn as its owner draws it, in whatever portions and on whatever thread.
TEST(Augmentation, DrawsAlikeForTheOwnerAndForEverybody) {
  const auto a = workload(Augment::kPadCropFlip), b = workload(Augment::kPadCropFlip);
  for (const int k : {0, 9}) {
    for (int worker = 0; worker < 3; ++worker) {
      EXPECT_EQ(gradient(*a, Workload::kEverybody, std::uint64_t(k * 12 + worker * 4), 4),
                gradient(*b, worker, std::uint64_t(k * 4), 4));
    }
  }
  // Samples 2 to 5: the last two of worker 0's batch, the first two of worker 1's.
  const std::vector<float> across = gradient(*a, Workload::kEverybody, 2, 4), first = gradient(*b, 0, 2, 2),
                           second = gradient(*b, 1, 0, 2);
  for (std::size_t d = 0; d < across.size(); ++d) ASSERT_NEAR(across[d], (first[d] + second[d]) / 2, 1e-6);
}

TEST(Augmentation, IsNeverOfTheTestSet) {
  const auto plain = workload(Augment::kNone), augmented = workload(Augment::kPadCropFlip);
  const Payload x = plain->initial().share();
  gradient(*augmented, 0, 0, 4);  // leaves its crops behind
  EXPECT_EQ(plain->evaluate(x).loss, augmented->evaluate(x).loss);
  EXPECT_NE(gradient(*plain, 0, 0, 4), gradient(*augmented, 0, 0, 4));
}

TEST(Augmentation, IsRefusedWhereThereAreNoPictures) {
  try {
    make_workload({.model = "quadratic", .augment = Augment::kPadCropFlip, .backend = "reference"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("needs pictures: the samples of this data set are 64x1x1"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hopbench
