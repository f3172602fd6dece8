// Data files and what may be wrong with them; the drawn data sets.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/dataset.h"
#include "models/datasets/content.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

std::string word(std::uint32_t value) {  // big-endian
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

constexpr const char* kTrainImages = "train-images-idx3-ubyte";
constexpr const char* kTrainLabels = "train-labels-idx1-ubyte";
constexpr const char* kTestImages = "t10k-images-idx3-ubyte";
constexpr const char* kTestLabels = "t10k-labels-idx1-ubyte";

std::string images(std::uint32_t count, std::uint32_t rows = 2, std::uint32_t columns = 3) {
  std::string content = word(0x803) + word(count) + word(rows) + word(columns);
  for (std::uint32_t p = 0; p < count * rows * columns; ++p) content += char(p * 7);
  return content;
}

std::string labels(std::uint32_t count) {
  std::string content = word(0x801) + word(count);
  for (std::uint32_t i = 0; i < count; ++i) content += char(i % 10);
  return content;
}

/// A folder with a small, sound data set of 20 + 5 images of 2x3, removed at the end.
class DataFolder : public testing::Test {
 protected:
  DataFolder() {
    std::string name = (fs::temp_directory_path() / "hb_dataset_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    write_gz(kTrainImages, images(20));
    write_gz(kTrainLabels, labels(20));
    write_gz(kTestImages, images(5));
    write_gz(kTestLabels, labels(5));
  }
  ~DataFolder() override { fs::remove_all(folder_); }

  fs::path gz(const std::string& name) const { return folder_ / (name + ".gz"); }
  void write_gz(const std::string& name, const std::string& content) {
    gzFile file = gzopen(gz(name).c_str(), "wb");
    gzwrite(file, content.data(), unsigned(content.size()));
    gzclose(file);
  }
  void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary).write(content.data(), std::streamsize(content.size()));
  }
  DatasetPair load() const { return find_dataset("fashion_mnist").load({.path = folder_.string()}); }

  /// Loading fails with a usage error that says each of these.
  void expect_refused(const std::vector<std::string>& says) const {
    try {
      load();
      ADD_FAILURE() << "loaded without an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      for (const std::string& text : says)
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  fs::path folder_;
};

using IdxFiles = DataFolder;

TEST_F(IdxFiles, AreReadAndNormalised) {
  const DatasetPair pair = load();
  EXPECT_EQ(pair.train->size(), 20u);
  EXPECT_EQ(pair.test->size(), 5u);
  EXPECT_EQ(pair.train->shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(pair.train->classes(), 10);
  EXPECT_EQ(pair.train->label(13), 3);
  std::vector<float> sample(6);
  pair.train->copy_sample(2, sample.data());  // pixels 12 .. 17, each 7 times its number
  EXPECT_FLOAT_EQ(sample[0], (84.0f / 255.0f - 0.2860f) / 0.3530f);
  EXPECT_FLOAT_EQ(sample[5], (119.0f / 255.0f - 0.2860f) / 0.3530f);
  find_dataset("mnist").load({.path = folder_.string()}).train->copy_sample(0, sample.data());
  EXPECT_FLOAT_EQ(sample[0], -0.1307f / 0.3081f);
}

// In a process of its own, since what it keeps stays with it. Its child was there before, and has only the variable to
// go by.
TEST_F(IdxFiles, AreDecompressedOnceForAProcessAndItsChildren) {
  const fs::path path = gz(kTrainImages);
  const auto as_written = [&] {
    const Content content = read_content(path);
    return std::string(content.data(), content.data() + content.size()) == images(20);
  };
  const auto keep_and_look_again = [&] {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) _exit(2);
    const pid_t child = fork();
    if (child == 0) {
      char value[4096] = {};
      if (::read(pipe_ends[0], value, sizeof value - 1) <= 0) _exit(3);
      setenv("HB_CONTENTS", value, 1);
      _exit(!fs::exists(path) && as_written() ? 0 : 1);
    }
    std::string set;
    keep_contents([&](const std::string& name, const std::string& value) { set = name == "HB_CONTENTS" ? value : ""; });
    bool good = as_written();
    fs::remove(path);
    good = good && as_written() && ::write(pipe_ends[1], set.data(), set.size()) == ssize_t(set.size());
    int status = 1;
    waitpid(child, &status, 0);
    _exit(good && status == 0 ? 0 : 1);
  };
  EXPECT_EXIT(keep_and_look_again(), testing::ExitedWithCode(0), "");
}

TEST_F(IdxFiles, MayBeUncompressed) {
  fs::remove(gz(kTrainImages));
  write(folder_ / kTrainImages, images(20));
  EXPECT_EQ(load().train->size(), 20u);
}

TEST_F(IdxFiles, AreRefusedWithoutTheirFolder) {
  fs::remove_all(folder_);
  expect_refused({"no folder " + folder_.string() + ", which model.dataset.path names: put its files there"});
}

TEST_F(IdxFiles, AreRefusedWhenOneIsMissing) {
  fs::remove(gz(kTestLabels));
  expect_refused({std::string("neither ") + kTestLabels + ".gz nor", folder_.string(), "model.dataset.path names"});
}

TEST_F(IdxFiles, AreRefusedWhenEmpty) {
  write(gz(kTrainLabels), "");
  expect_refused({gz(kTrainLabels).string(), "at byte 0", "empty"});
}

TEST_F(IdxFiles, AreRefusedWithEmptyContent) {
  write_gz(kTrainLabels, "");
  expect_refused({gz(kTrainLabels).string(), "at byte 0", "ends inside the header of 8 bytes"});
}

TEST_F(IdxFiles, AreRefusedWhenNotGzipInSpiteOfTheirName) {
  write(gz(kTrainImages), images(20));
  expect_refused({gz(kTrainImages).string(), "at byte 0", "not a gzip file"});
}

TEST_F(IdxFiles, AreRefusedWhenTheCompressedFileIsCutAnywhere) {
  const auto whole = fs::file_size(gz(kTrainImages));
  for (std::uintmax_t kept = 2; kept < whole; ++kept) {
    write_gz(kTrainImages, images(20));
    fs::resize_file(gz(kTrainImages), kept);
    expect_refused({gz(kTrainImages).string(), "at byte " + std::to_string(kept), "the gzip data end early"});
  }
}

TEST_F(IdxFiles, AreRefusedWhenTheCompressedDataAreDamaged) {
  std::fstream file(gz(kTrainImages), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(std::streamoff(fs::file_size(gz(kTrainImages)) - 8));  // the checksum
  file.write("\x12\x34\x56\x78", 4);
  file.close();
  expect_refused({gz(kTrainImages).string(), "at byte ", "damaged gzip data: incorrect data check"});
}

TEST_F(IdxFiles, AreRefusedWhenTheContentEndsEarly) {
  write_gz(kTrainImages, images(20).substr(0, 100));
  expect_refused({gz(kTrainImages).string(), "at byte 100", "its header promises 136 bytes"});
  write_gz(kTrainImages, images(20).substr(0, 9));
  expect_refused({gz(kTrainImages).string(), "at byte 9", "ends inside the header of 16 bytes"});
}

TEST_F(IdxFiles, AreRefusedWhenTheyGoOnAfterTheirContent) {
  write_gz(kTestLabels, labels(5) + "xyz");
  expect_refused({gz(kTestLabels).string(), "at byte 13", "should end here, after 13 bytes, and goes on"});
}

// The end of the file is damaged: what reads that far says so. A gigabyte of zeros is a megabyte of gzip.
TEST_F(IdxFiles, AreNotUnpackedBeyondWhatTheirHeadPromises) {
  const auto bomb = [&](const std::string& content) {
    write_gz(kTrainImages, content + std::string(5 << 20, 0));
    std::fstream file(gz(kTrainImages), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(fs::file_size(gz(kTrainImages)) - 8));  // the checksum
    file.write("\x12\x34\x56\x78", 4);
  };
  bomb(images(20));
  expect_refused({gz(kTrainImages).string(), "at byte 136", "should end here, after 136 bytes, and goes on"});
  bomb("");
  expect_refused({gz(kTrainImages).string(), "at byte 0", "magic number 0x00000000"});
  bomb(word(0x803) + word(1) + word(4096) + word(4097));
  expect_refused({gz(kTrainImages).string(), "at byte 12", "images of 4097 columns"});
}

TEST_F(IdxFiles, AreRefusedWhereTheLimitOfCompressedFilesIsLower) {
  const auto said = [&](std::size_t largest) -> std::string {
    try {
      read_content(gz(kTrainImages), {}, largest);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(said(136), "");
  EXPECT_EQ(said(135), "cannot use data file " + gz(kTrainImages).string() +
                           ": its content is larger than 135 bytes, the most that a compressed file may hold: "
                           "decompress it (gunzip), or get the file again if it should be smaller");
  write(folder_ / "plain", images(20));
  EXPECT_EQ(read_content(folder_ / "plain", {}, 135).size(), 136u);
}

TEST_F(IdxFiles, AreRefusedForAWrongMagicNumber) {
  write_gz(kTrainImages, labels(20));
  expect_refused({gz(kTrainImages).string(), "at byte 0", "0x00000801, expected 0x00000803"});
}

TEST_F(IdxFiles, AreRefusedWithReversedBytes) {
  std::string content = labels(20);
  std::swap(content[0], content[3]);
  std::swap(content[1], content[2]);
  write_gz(kTrainLabels, content);
  expect_refused({gz(kTrainLabels).string(), "at byte 0", "0x01080000 has its bytes reversed"});
}

TEST_F(IdxFiles, AreRefusedWhenImagesAndLabelsDifferInNumber) {
  write_gz(kTrainLabels, labels(19));
  expect_refused({gz(kTrainLabels).string(), "at byte 4", "19 labels for 20 images"});
}

TEST_F(IdxFiles, AreRefusedForALabelOutOfRange) {
  std::string content = labels(20);
  content[8 + 6] = 10;
  write_gz(kTrainLabels, content);
  expect_refused({gz(kTrainLabels).string(), "at byte 14", "label 10 is out of range: 0 to 9"});
}

TEST_F(IdxFiles, AreRefusedForNonsenseInTheHeader) {
  write_gz(kTestImages, images(0));
  expect_refused({gz(kTestImages).string(), "at byte 4", "no images"});
  write_gz(kTestImages, images(5, 0, 3));
  expect_refused({"at byte 8", "images of 0 rows"});
  write_gz(kTestImages, word(0x803) + word(0xffffffff) + word(2) + word(0xffffffff));
  expect_refused({"at byte 12", "images of 4294967295 columns"});
  write_gz(kTestImages, word(0x803) + word(0xffffffff) + word(4096) + word(4096));
  expect_refused({"at byte 16", "promises 72057594021150736 bytes"});
}

TEST_F(IdxFiles, AreRefusedWhenTrainingAndTestImagesDifferInSize) {
  write_gz(kTestImages, images(5, 3, 2));
  expect_refused({"training images are 2x3, test images 3x2"});
}

TEST(FashionMnist, IsReadWholeFromItsDebianPackage) {
  const DatasetEntry& entry = find_dataset("fashion_mnist");
  if (!fs::is_directory(entry.default_path)) GTEST_SKIP() << "no " << entry.default_path;
  const DatasetPair pair = entry.load({});
  EXPECT_EQ(pair.train->size(), 60000u);
  EXPECT_EQ(pair.test->size(), 10000u);
  EXPECT_EQ(pair.train->shape(), (Shape{1, 28, 28}));
  double sum = 0, squares = 0;
  std::vector<float> sample(784);
  for (std::size_t i = 0; i < 60000; i += 10) {
    pair.train->copy_sample(i, sample.data());
    for (const float v : sample) sum += v, squares += double(v) * v;
  }
  EXPECT_NEAR(sum / (6000 * 784), 0, 0.01);
  EXPECT_NEAR(squares / (6000 * 784), 1, 0.02);
}

TEST(DrawnData, DependOnTheSeedAlone) {
  for (const char* name : {"synthetic", "quadratic"}) {
    std::vector<float> a, b, c;
    for (auto [to, seed] : {std::pair(&a, 1u), std::pair(&b, 1u), std::pair(&c, 2u)}) {
      const auto train = find_dataset(name).load({.seed = seed}).train;
      to->resize(train->shape().size());
      train->copy_sample(100, to->data());
    }
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
  }
}

std::int64_t resident_bytes() {
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

// 128 ranks on one machine, of which 64 are servers: what a server does not use must cost it nothing.
TEST(DrawnData, TakeNoMemoryBeforeTheyAreUsed) {
  constexpr std::int64_t kBytes = 4096 * 4096 * sizeof(float);
  const std::int64_t before = resident_bytes();
  const auto train = find_dataset("quadratic").load({.size = 4096}).train;
  EXPECT_LT(resident_bytes() - before, kBytes / 2);
  train->load();
  EXPECT_GT(resident_bytes() - before, kBytes * 9 / 10);
}

TEST(DrawnData, AreTheSameWhoeverUsesThemFirst) {
  const auto all_at_once = find_dataset("synthetic").load({}).train,
             one_by_one = find_dataset("synthetic").load({}).train;
  std::vector<std::vector<float>> seen(4, std::vector<float>(784 * 100));
  {
    std::latch together(std::ssize(seen));
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&one_by_one, &mine, &together] {
        together.arrive_and_wait();
        for (std::size_t i = 100; i-- > 0;) one_by_one->copy_sample(i, mine.data() + 784 * i);
      });
    }
  }
  all_at_once->load();
  std::vector<float> sample(784);
  for (std::size_t i = 0; i < 100; ++i) {
    all_at_once->copy_sample(i, sample.data());
    for (const auto& mine : seen)
      EXPECT_TRUE(std::equal(sample.begin(), sample.end(), mine.begin() + std::ptrdiff_t(784 * i)));
  }
}

TEST(DrawnData, HaveTheirClassesInTurnAndTestSamplesOfTheirOwn) {
  const DatasetPair pair = find_dataset("synthetic").load({});
  EXPECT_EQ(pair.train->label(27), 7);
  EXPECT_EQ(pair.train->size() % 10, std::size_t(pair.test->label(0)));
  std::vector<float> a(784), b(784);
  pair.train->copy_sample(0, a.data());
  pair.test->copy_sample(0, b.data());
  double apart = 0;  // 2 a feature for independent draws of deviation 1
  for (std::size_t d = 0; d < 784; ++d) apart += double(a[d] - b[d]) * (a[d] - b[d]) / 784;
  EXPECT_GT(apart, 1);
}

TEST(DrawnData, OfTheQuadraticHaveTheSizeAskedFor) {
  const DatasetEntry& entry = find_dataset("quadratic");
  EXPECT_EQ(entry.load({}).train->shape().size(), 64u);
  EXPECT_EQ(entry.load({.size = 7}).train->shape().size(), 7u);
  EXPECT_THROW(entry.load({.size = 5000}), Error);
}

TEST(Datasets, SuggestTheNearestName) {
  try {
    find_dataset("fashion-mnist");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("Did you mean 'fashion_mnist'?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hopbench
