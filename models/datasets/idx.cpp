// MNIST and Fashion-MNIST: four idx files in one folder, gzip-compressed (NAME.gz) or plain.
//
// idx3 (images): big-endian uint32 0x803, count, rows, columns; then count * rows * columns bytes, 0 (paper) to 255.
// idx1 (labels): big-endian uint32 0x801, count; then count bytes, 0 to 9.
// Normalised as usual: (pixel / 255 - mean) / deviation, both over the training set.
//   MNIST (LeCun, Cortes, Burges):                mean 0.1307, deviation 0.3081
//   Fashion-MNIST (Xiao, Rasul, Vollgraf, 2017):  mean 0.2860, deviation 0.3530
#include <array>
#include <string>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "models/dataset.h"
#include "models/datasets/content.h"
#include "models/datasets/dataset_path.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

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
  for (std::size_t i = kLabelHeader; i < file.content.size(); ++i)
    if (file.content[i] >= kClasses)
      corrupt(file.path, i, fmt::format("label {} is out of range: 0 to {}", file.content[i], kClasses - 1));
  return std::move(file.content);
}

class IdxDataset final : public Dataset {
 public:
  IdxDataset(Images images, Content labels, const Source& source)
      : images_(std::move(images)), labels_(std::move(labels)) {
    for (std::size_t p = 0; p < normalised_.size(); ++p)
      normalised_[p] = (static_cast<float>(p) / 255.0f - source.mean) / source.deviation;
  }
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
  std::array<float, 256> normalised_{};
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

DatasetPair load_fashion_mnist(const DatasetRequest& request) {
  return load({request, kFashion.name, kFashionPath, kGetFashion}, kFashion);
}

DatasetPair load_mnist(const DatasetRequest& request) {
  return load({request, kMnist.name, fetched_folder(kMnist.name), kGetMnist}, kMnist);
}

}  // namespace

DatasetEntry fashion_mnist() {
  return {"fashion_mnist", "70 000 pictures of clothes, 28x28, 10 classes", kFashionPath, kGetFashion,
          load_fashion_mnist};
}
DatasetEntry mnist() {
  return {"mnist", "70 000 handwritten digits, 28x28, 10 classes", fetched_folder("mnist"), kGetMnist, load_mnist};
}

}  // namespace hopbench
