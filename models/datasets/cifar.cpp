// CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning multiple layers of features from tiny images", 2009): pictures of
// 32x32, 50 000 to train on and 10 000 to test, as the "binary version" has them.
//
// A file is a sequence of records without a header: the label bytes (CIFAR-10: one of 10 classes; CIFAR-100: one of 20
// coarse classes, then one of 100 fine ones), then 1024 red, 1024 green and 1024 blue bytes, each row by row. Means and
// deviations are those of all pixels of the training set, per channel.
#include "models/datasets/cifar.h"

#include <fmt/format.h>

#include "models/datasets/content.h"
#include "models/datasets/dataset_path.h"

namespace hopbench {

const CifarLayout kCifar10{
    .name = "cifar10",
    .get = "run `ci/fetch-data cifar10`",
    .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
    .test = {"test_batch.bin"},
    .train_records = 10000,
    .test_records = 10000,
    .classes = {10},
    .mean = {0.4914f, 0.4822f, 0.4465f},
    .deviation = {0.2470f, 0.2435f, 0.2616f}};

const CifarLayout kCifar100{
    .name = "cifar100",
    .get = "take train.bin and test.bin out of cifar-100-binary.tar.gz (www.cs.toronto.edu/~kriz/cifar.html)",
    .train = {"train.bin"},
    .test = {"test.bin"},
    .train_records = 50000,
    .test_records = 10000,
    .classes = {20, 100},
    .mean = {0.5071f, 0.4865f, 0.4409f},
    .deviation = {0.2673f, 0.2564f, 0.2762f}};

namespace {

constexpr Shape kShape{3, 32, 32};
constexpr std::size_t kChannel = 32 * 32, kPixels = 3 * kChannel;

void check(const DataFile& file, std::size_t records, const std::vector<int>& classes) {
  const std::size_t record = classes.size() + kPixels, expected = records * record, found = file.content.size();
  if (found < expected)
    corrupt(file.path, found, fmt::format("the content ends early: {} records are {} bytes", records, expected));
  for (std::size_t i = 0; i < records; ++i) {
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const std::size_t at = i * record + k;
      if (file.content[at] >= classes[k])
        corrupt(file.path, at, fmt::format("label {} is out of range: 0 to {}", file.content[at], classes[k] - 1));
    }
  }
}

class CifarDataset final : public Dataset {
 public:
  CifarDataset(const DataFolder& folder, const std::vector<std::string>& names, std::size_t records,
               const CifarLayout& layout)
      : records_(records), labels_(layout.classes.size()), classes_(layout.classes.back()) {
    for (const std::string& name : names) {
      const std::size_t size = records * (layout.classes.size() + kPixels);
      DataFile file = folder.read(name, {.of = [size](const auto&, auto) { return size; }});
      check(file, records, layout.classes);
      files_.push_back(std::move(file.content));
    }
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t p = 0; p < 256; ++p)
        normalised_[c][p] = (static_cast<float>(p) / 255.0f - layout.mean[c]) / layout.deviation[c];
  }
  std::size_t size() const override { return files_.size() * records_; }
  Shape shape() const override { return kShape; }
  int classes() const override { return classes_; }
  std::int32_t label(std::size_t i) const override { return record(i)[labels_ - 1]; }
  void copy_sample(std::size_t i, float* to) const override {
    const std::uint8_t* pixels = record(i) + labels_;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t p = 0; p < kChannel; ++p) *to++ = normalised_[c][*pixels++];
  }

 private:
  const std::uint8_t* record(std::size_t i) const {
    return files_[i / records_].data() + i % records_ * (labels_ + kPixels);
  }
  std::vector<Content> files_;
  std::size_t records_, labels_;  // per file; label bytes per record
  int classes_;
  std::array<std::array<float, 256>, 3> normalised_{};
};

DatasetPair load_cifar10(const DatasetRequest& request) { return load_cifar(request, kCifar10); }
DatasetPair load_cifar100(const DatasetRequest& request) { return load_cifar(request, kCifar100); }

}  // namespace

DatasetPair load_cifar(const DatasetRequest& request, const CifarLayout& layout) {
  const DataFolder folder(request, layout.name, fetched_folder(layout.name), layout.get);
  return {std::make_shared<CifarDataset>(folder, layout.train, layout.train_records, layout),
          std::make_shared<CifarDataset>(folder, layout.test, layout.test_records, layout)};
}

DatasetEntry cifar10() {
  return {"cifar10", "60 000 colour pictures, 32x32, 10 classes", fetched_folder("cifar10"), kCifar10.get,
          load_cifar10};
}
DatasetEntry cifar100() {
  return {"cifar100", "60 000 colour pictures, 32x32, 100 classes (the fine ones)", fetched_folder("cifar100"),
          kCifar100.get, load_cifar100};
}

}  // namespace hopbench
