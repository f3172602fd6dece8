// Which models go with which data.
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/base/error.h"
#include "models/fit.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

std::string why(const std::string& model, const std::string& dataset, const DatasetRequest& request = {}) {
  const std::optional<Inputs> inputs = inputs_of(dataset, request);
  if (!inputs) throw std::runtime_error("nobody knows what " + dataset + " holds");
  return why_unfit({.model = model, .dataset = dataset, .size = request.size}, *inputs);
}

TEST(Fit, NamesModelDataAndBothShapes) {
  const std::string said = why("vgg11", "mnist");
  for (const char* text : {"'vgg11'", "'mnist'", "samples are 1x28x28", "512x1x1", "made for 3x32x32", "'cifar10'"})
    EXPECT_NE(said.find(text), std::string::npos) << text << " is not in: " << said;
  EXPECT_NE(why("softmax", "quadratic", {.size = 3}), why("lenet", "quadratic", {.size = 3}));
}

TEST(Fit, IsThatOfEveryModelToItsOwnDataAndToPicturesLikeThem) {
  for (const ModelEntry& model : models()) {
    if (model.create == nullptr || !inputs_of(model.default_dataset, {})) continue;
    EXPECT_EQ(why(model.name, model.default_dataset), "") << model.name;
  }
  for (const char* model : {"lenet", "mlp", "softmax", "alexnet_small", "vgg11", "resnet20"})
    EXPECT_EQ(why(model, "cifar100"), "") << model;
  EXPECT_EQ(why("resnet20", "synthetic"), "");  // 28 is a multiple of 4
  EXPECT_NE(why("quadratic", "synthetic", {.size = 10}), "");
}

TEST(Fit, KnowsByNameWhatTheDataSetsHold) {
  for (const DatasetEntry& entry : datasets()) {
    if (!entry.get.empty() && !std::filesystem::exists(entry.default_path)) continue;  // not here
    const DatasetPair data = entry.load({});
    EXPECT_EQ(inputs_of(entry.name, {}), (Inputs{data.train->shape(), data.train->classes()})) << entry.name;
  }
  EXPECT_EQ(inputs_of("cifar100", {}), (Inputs{{3, 32, 32}, 100}));  // whether their files are here or not
  EXPECT_EQ(inputs_of("cifar10", {}), (Inputs{{3, 32, 32}, 10}));
  EXPECT_EQ(inputs_of("mnist", {}), (Inputs{{1, 28, 28}, 10}));
  EXPECT_EQ(inputs_of("quadratic", {.size = 9})->shape, (Shape{9, 1, 1}));
}

TEST(Fit, IsUnknownWhereTheFilesThatWouldTellAreMissing) {
  const Folder folder;
  EXPECT_FALSE(inputs_of("mnist", {.path = folder / "none"}).has_value());
  EXPECT_FALSE(inputs_of("mnist", {.path = folder.path()}).has_value());
}

std::string word(std::uint32_t value) {  // big-endian
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

TEST(Fit, IsThatToTheFilesWhereTheUserNamesThem) {
  const Folder folder;
  for (const std::string set : {"train", "t10k"}) {
    folder.write(set + "-images-idx3-ubyte", word(0x803) + word(1) + word(32) + word(30) + std::string(960, 'x'));
    folder.write(set + "-labels-idx1-ubyte", word(0x801) + word(1) + std::string(1, '\1'));
  }
  EXPECT_EQ(inputs_of("mnist", {.path = folder.path()}), (Inputs{{1, 32, 30}, 10}));
}

TEST(Sketch, HasTheSizesOfTheModel) {
  const auto learner = [](const char* model, Statistics statistics) {
    WorkloadSpec spec{.model = model};
    spec.statistics = statistics;
    return sketch(spec, {{3, 32, 32}, 10});
  };
  EXPECT_EQ(learner("vgg11", Statistics::kRunning)->size(), 9225610u);
  EXPECT_EQ(learner("resnet20", Statistics::kRunning)->size(), 271098u);
  EXPECT_EQ(learner("resnet20", Statistics::kRunning)->trainable(), 269722u);
  EXPECT_GT(learner("resnet20", Statistics::kPrecise)->estimated_from(), 0);
  EXPECT_EQ(learner("vgg11", Statistics::kPrecise)->estimated_from(), 0);
}

}  // namespace
}  // namespace hopbench
