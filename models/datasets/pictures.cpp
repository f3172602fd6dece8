// Data sets of pictures: MNIST and Fashion-MNIST, CIFAR-10 and CIFAR-100.
#include <array>
#include <string>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/dataset.h"
#include "models/datasets/cifar.h"
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

namespace fs = std::filesystem;

/// The values of a byte of a picture: (pixel / 255 - mean) / deviation.
using Normalised = std::array<float, 256>;
Normalised normalised(float mean, float deviation) {
  Normalised values;
  for (std::size_t p = 0; p < values.size(); ++p) values[p] = (static_cast<float>(p) / 255.0f - mean) / deviation;
  return values;
}

void check_label(const DataFile& file, std::size_t at, int classes) {
  if (file.content[at] >= classes)
    corrupt(file.path, at, fmt::format("label {} is out of range: 0 to {}", file.content[at], classes - 1));
}

// MNIST and Fashion-MNIST: four idx files in one folder, gzip-compressed (NAME.gz) or plain.
//
// idx3 (images): big-endian uint32 0x803, count, rows, columns; then count * rows * columns bytes, 0 (paper) to 255.
// idx1 (labels): big-endian uint32 0x801, count; then count bytes, 0 to 9.
// Normalised as usual: (pixel / 255 - mean) / deviation, both over the training set.
//   MNIST (LeCun, Cortes, Burges):                mean 0.1307, deviation 0.3081
//   Fashion-MNIST (Xiao, Rasul, Vollgraf, 2017):  mean 0.2860, deviation 0.3530

constexpr int kClasses = 10;
constexpr std::size_t kImageHeader = 16, kLabelHeader = 8;
constexpr std::uint32_t kImageMagic = 0x803, kLabelMagic = 0x801;

/// The differences between the two data sets.
struct Source {
  const char* name;
  float mean, deviation;
};

struct Images {
  Content bytes;
  std::size_t count;
  Shape shape;
};

using Head = std::span<const std::uint8_t>;

std::uint32_t big_endian(Head bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         std::uint32_t{bytes[at + 3]};
}

void check_header(const fs::path& path, Head head, std::uint32_t magic, std::size_t size) {
  if (head.size() < size)
    corrupt(path, head.size(), fmt::format("the content ends inside the header of {} bytes", size));
  const std::uint32_t found = big_endian(head, 0);
  if (found == __builtin_bswap32(magic))
    corrupt(path, 0, fmt::format("magic number {:#010x} has its bytes reversed: idx files are big-endian", found));
  if (found != magic) corrupt(path, 0, fmt::format("magic number {:#010x}, expected {:#010x}", found, magic));
}

void check_length(const DataFile& file, std::size_t expected) {
  const std::size_t found = file.content.size();
  if (found < expected)
    corrupt(file.path, found, fmt::format("the content ends early: its header promises {} bytes", expected));
}

struct ImageHead {
  std::size_t count, rows, columns;
  std::size_t content() const { return kImageHeader + count * rows * columns; }
};

ImageHead image_head(const fs::path& path, Head head) {
  check_header(path, head, kImageMagic, kImageHeader);
  const std::uint32_t count = big_endian(head, 4), rows = big_endian(head, 8), columns = big_endian(head, 12);
  constexpr std::uint32_t kLargest = 4096;  // keeps the product below 2^64, and a nonsense header from passing
  if (count == 0) corrupt(path, 4, "it holds no images");
  if (rows == 0 || rows > kLargest) corrupt(path, 8, fmt::format("images of {} rows", rows));
  if (columns == 0 || columns > kLargest) corrupt(path, 12, fmt::format("images of {} columns", columns));
  return {count, rows, columns};
}

Images read_images(const DataFolder& folder, const std::string& name) {
  const auto size = [](const fs::path& path, Head head) { return image_head(path, head).content(); };
  DataFile file = folder.read(name, {kImageHeader, size});
  const ImageHead head = image_head(file.path, {file.content.data(), file.content.size()});
  check_length(file, head.content());
  return {std::move(file.content), head.count, {1, static_cast<int>(head.rows), static_cast<int>(head.columns)}};
}

Content read_labels(const DataFolder& folder, const std::string& name, const Images& images) {
  const auto size = [&images](const fs::path& path, Head head) {
    check_header(path, head, kLabelMagic, kLabelHeader);
    const std::size_t count = big_endian(head, 4);
    if (count != images.count) corrupt(path, 4, fmt::format("{} labels for {} images", count, images.count));
    return kLabelHeader + count;
  };
  DataFile file = folder.read(name, {kLabelHeader, size});
  check_length(file, size(file.path, {file.content.data(), file.content.size()}));
  for (std::size_t i = kLabelHeader; i < file.content.size(); ++i) check_label(file, i, kClasses);
  return std::move(file.content);
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(Images images, Content labels, const Source& source)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        normalised_(normalised(source.mean, source.deviation)) {}
  std::size_t size() const override { return images_.count; }
  Shape shape() const override { return images_.shape; }
  int classes() const override { return kClasses; }
  std::int32_t label(std::size_t i) const override { return labels_[kLabelHeader + i]; }
  void copy_sample(std::size_t i, float* to) const override {
    const std::size_t n = images_.shape.size();
    const std::uint8_t* pixels = images_.bytes.data() + kImageHeader + i * n;
    for (std::size_t p = 0; p < n; ++p) to[p] = normalised_[pixels[p]];
  }

 private:
  Images images_;
  Content labels_;
  Normalised normalised_;
};

std::shared_ptr<const Dataset> load_set(const DataFolder& folder, const std::string& prefix, const Source& source) {
  Images images = read_images(folder, prefix + "-images-idx3-ubyte");
  Content labels = read_labels(folder, prefix + "-labels-idx1-ubyte", images);
  return std::make_shared<IdxDataset>(std::move(images), std::move(labels), source);
}

DatasetPair load(const DataFolder& folder, const Source& source) {
  DatasetPair pair{load_set(folder, "train", source), load_set(folder, "t10k", source)};
  const Shape train = pair.train->shape(), test = pair.test->shape();
  if (!(train == test))
    throw usage_error(
        fmt::format("data set {} in {} does not fit together: training images are {}x{}, test images {}x{}",
                    source.name, folder.path().string(), train.height, train.width, test.height, test.width));
  return pair;
}

constexpr const char* kFashionPath = "/usr/share/datasets/fashion-mnist";
constexpr const char* kGetFashion = "install the Debian package dataset-fashion-mnist";
constexpr const char* kGetMnist = "run `ci/fetch-data mnist`";
constexpr Source kFashion{"fashion_mnist", 0.2860f, 0.3530f}, kMnist{"mnist", 0.1307f, 0.3081f};

// CIFAR-10 and CIFAR-100 (Krizhevsky, "Learning multiple layers of features from tiny images", 2009): pictures of
// 32x32, 50 000 to train on and 10 000 to test, as the "binary version" has them.
//
// A file is a sequence of records without a header: the label bytes (CIFAR-10: one of 10 classes; CIFAR-100: one of 20
// coarse classes, then one of 100 fine ones), then 1024 red, 1024 green and 1024 blue bytes, each row by row. Means and
// deviations are those of all pixels of the training set, per channel.

constexpr Shape kShape{3, 32, 32};
constexpr std::size_t kChannel = 32 * 32, kPixels = 3 * kChannel;

void check(const DataFile& file, std::size_t records, const std::vector<int>& classes) {
  const std::size_t record = classes.size() + kPixels, expected = records * record, found = file.content.size();
  if (found < expected)
    corrupt(file.path, found, fmt::format("the content ends early: {} records are {} bytes", records, expected));
  for (std::size_t i = 0; i < records; ++i) {
    for (std::size_t k = 0; k < classes.size(); ++k) check_label(file, i * record + k, classes[k]);
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
    for (std::size_t c = 0; c < 3; ++c) normalised_[c] = normalised(layout.mean[c], layout.deviation[c]);
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
  std::array<Normalised, 3> normalised_;
};

}  // namespace

DatasetPair load_cifar(const DatasetRequest& request, const CifarLayout& layout) {
  const DataFolder folder(request, layout.name, fetched_folder(layout.name), layout.get);
  return {std::make_shared<CifarDataset>(folder, layout.train, layout.train_records, layout),
          std::make_shared<CifarDataset>(folder, layout.test, layout.test_records, layout)};
}

DatasetEntry fashion_mnist() {
  return {"fashion_mnist", "70 000 pictures of clothes, 28x28, 10 classes", kFashionPath, kGetFashion,
          [](const DatasetRequest& request) {
            return load({request, kFashion.name, kFashionPath, kGetFashion}, kFashion);
          }};
}
DatasetEntry mnist() {
  return {"mnist", "70 000 handwritten digits, 28x28, 10 classes", fetched_folder("mnist"), kGetMnist,
          [](const DatasetRequest& request) {
            return load({request, kMnist.name, fetched_folder(kMnist.name), kGetMnist}, kMnist);
          }};
}
DatasetEntry cifar10() {
  return {"cifar10", "60 000 colour pictures, 32x32, 10 classes", fetched_folder("cifar10"), kCifar10.get,
          [](const DatasetRequest& request) { return load_cifar(request, kCifar10); }};
}
DatasetEntry cifar100() {
  return {"cifar100", "60 000 colour pictures, 32x32, 100 classes (the fine ones)", fetched_folder("cifar100"),
          kCifar100.get, [](const DatasetRequest& request) { return load_cifar(request, kCifar100); }};
}

}  // namespace hopbench
