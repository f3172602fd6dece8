// Sparse rows from text: what is read, what is refused and where, and the binary form that is kept.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstdio>

#include <gtest/gtest.h>

#include "backends/base/error.h"
#include "backends/base/random.h"
#include "models/datasets/column_set.h"
#include "models/datasets/sparse_cache.h"
#include "models/datasets/svmlight.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

constexpr SvmlightOptions kPlain{.threads = 2, .cache = false};

/// Rows as text: "label original:value ...".
std::string shown(const SparseDataset& data) {
  std::string text;
  for (std::size_t r = 0; r < data.rows(); ++r) {
    const SparseDataset::Row row = data.row(r);
    char piece[64];
    std::snprintf(piece, sizeof piece, "%.9g", double(row.label));
    text += piece;
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      std::snprintf(piece, sizeof piece, " %u:%.9g", data.arrays().original[row.columns[i]], double(row.values[i]));
      text += piece;
    }
    text += "\n";
  }
  return text;
}

bool same(const SparseDataset& a, const SparseDataset& b) {
  const auto equal = [](auto x, auto y) { return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin()); };
  const SparseArrays &x = a.arrays(), &y = b.arrays();
  return equal(x.offsets, y.offsets) && equal(x.columns, y.columns) && equal(x.values, y.values) &&
         equal(x.labels, y.labels) && equal(x.original, y.original);
}

class Svmlight : public testing::Test {
 protected:
  SparseDataset read(const std::string& text, const SvmlightOptions& options = kPlain) const {
    folder_.write("a.svm", text);
    return read_svmlight(folder_ / "a.svm", options);
  }
  void refused(const std::string& text, const std::vector<std::string>& says,
               const SvmlightOptions& options = kPlain) const {
    try {
      read(text, options);
      ADD_FAILURE() << "was read: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      EXPECT_NE(std::string(error.what()).find("cannot use data file " + (folder_ / "a.svm")), std::string::npos);
      for (const std::string& part : says)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << "\n" << error.what();
    }
  }
  Folder folder_;
};

/// Rows with columns that thin out, as counts of words do.
std::string drawn(int rows, std::uint64_t seed) {
  Random random({.seed = seed});
  std::string text;
  for (int r = 0; r < rows; ++r) {
    text += random.chance(0.5) ? "+1" : "-1";
    for (std::uint64_t column = 1 + random.below(100); column < 1u << 24; column *= 1 + random.below(3)) {
      text += " " + std::to_string(column) + ":0." + std::to_string(1 + random.below(99999));
      column += 1 + random.below(1000);
    }
    text += "\n";
  }
  return text;
}

TEST_F(Svmlight, ReadsRowsAndNumbersTheColumnsThatAreUsed) {
  const SparseDataset data = read("+1 3:0.5 70000:-2 4294967295:1e-3\n-1 3:1.5\n0.25\n-1 70000:4\n");
  EXPECT_EQ(data.rows(), 4u);
  EXPECT_EQ(data.columns(), 3u);
  EXPECT_EQ(data.nonzeros(), 5u);
  EXPECT_EQ(shown(data), "1 3:0.5 70000:-2 4294967295:0.00100000005\n-1 3:1.5\n0.25\n-1 70000:4\n");
  EXPECT_EQ(data.row(3).columns[0], 1u);
  EXPECT_TRUE(data.row(2).columns.empty());
}

TEST_F(Svmlight, TakesCommentsBlankLinesTabsCarriageReturnsAndZeros) {
  EXPECT_EQ(shown(read("# a comment\n\n  1\t2:3\t4:0 6:0.0 # more: 1:2\r\n \t\r\n-1 2:+1 5:-0#x\n#\n2#\n")),
            "1 2:3\n-1 2:1\n2\n");
  EXPECT_EQ(read("1 2:3 4:0\n").columns(), 1u) << "a column of zeros is not used";
}

TEST_F(Svmlight, ReadsEveryNumberAsTheCLibraryDoes) {
  std::vector<std::string> numbers = {"1",
                                      "-1",
                                      "+2",
                                      "0.1",
                                      ".5",
                                      "5.",
                                      "1e3",
                                      "1E-3",
                                      "1e-50",
                                      "-1e-300",
                                      "16777216",
                                      "16777217",
                                      "1e38",
                                      "3.4028234e38",
                                      "1e-45",
                                      "0.33333333333333333333333333333333",
                                      "123456789012345678901234567890",
                                      "00000000000000000000000001.5",
                                      "0.0000000001",
                                      "1.00000000001",
                                      "-0.000001"};
  Random random({.seed = 3});
  for (int i = 0; i < 20000; ++i) {
    char text[64];
    const double value = (random.uniform() - 0.5) * std::pow(10.0, double(random.below(12)) - 6);
    std::snprintf(text, sizeof text, random.chance(0.5) ? "%.6g" : "%.9f", value);
    numbers.emplace_back(text);
  }
  std::string text;
  for (const std::string& number : numbers) text += number + " 1:" + number + "\n";
  const SparseDataset data = read(text);
  ASSERT_EQ(data.rows(), numbers.size());
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    const float expected = std::strtof(numbers[r].c_str(), nullptr);
    ASSERT_EQ(data.row(r).label, expected) << numbers[r];
    ASSERT_EQ(data.row(r).values.empty() ? 0 : data.row(r).values[0], expected) << numbers[r];
  }
}

TEST_F(Svmlight, GivesTheSameForAnyNumberOfThreadsAndUnits) {
  const std::string text = drawn(300, 1);
  const SparseDataset one = read(text, {.threads = 1, .cache = false});
  EXPECT_EQ(one.rows(), 300u);
  EXPECT_GT(one.columns(), 1000u);
  for (const int threads : {1, 2, 7}) {
    for (const std::size_t unit : {0, 1, 100, 5000, 1 << 30})
      EXPECT_TRUE(same(one, read(text, {.threads = threads, .unit = unit, .cache = false}))) << threads << " " << unit;
  }
}

TEST_F(Svmlight, IsReadFromAGzipFile) {
  const std::string text = drawn(50, 2);
  const gzFile to = gzopen((folder_ / "b.svm.gz").c_str(), "wb");
  gzwrite(to, text.data(), unsigned(text.size()));
  gzclose(to);
  EXPECT_TRUE(same(read_svmlight(folder_ / "b.svm.gz"), read(text)));
  std::string bytes = text_of(folder_ / "b.svm.gz");
  folder_.write("b.svm.gz", bytes.substr(0, bytes.size() / 2));
  try {
    read_svmlight(folder_ / "b.svm.gz");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("b.svm.gz: at byte " + std::to_string(bytes.size() / 2)),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Svmlight, IsParsedWhileItIsDecompressed) {
  const auto packed = [&](const std::string& head, const std::string& mebibyte, int times) {
    const gzFile to = gzopen((folder_ / "c.svm.gz").c_str(), "wb1");
    gzwrite(to, head.data(), unsigned(head.size()));
    for (int i = 0; i < times; ++i) gzwrite(to, mebibyte.data(), unsigned(mebibyte.size()));
    gzclose(to);
  };
  const auto refused = [&](const std::string& head, char byte) -> std::string {
    packed(head, std::string(1 << 20, byte), 300);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    try {
      read_svmlight(folder_ / "c.svm.gz", kPlain);
    } catch (const Error& error) {
      getrusage(RUSAGE_SELF, &after);
      EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "KiB";
      return error.what();
    }
    return "";
  };
  const std::string name = folder_ / "c.svm.gz", no_row = ": more than 8 MiB without the end of a row";
  EXPECT_NE(refused("", '0').find(name + ": at line 1" + no_row), std::string::npos);
  EXPECT_NE(refused("", '\n').find(name + ": at line 1" + no_row), std::string::npos);
  EXPECT_NE(refused("1 1:1\n2 2:2\n", '\n').find(no_row), std::string::npos);
  EXPECT_NE(refused("1 1:1\nx 2:2\n", '\n').find(name + ": at line 2: 'x' is not a number"), std::string::npos);
  const std::string rows = drawn(2000, 3);
  std::string all;
  while (all.size() < 20u << 20) all += rows;
  packed(all, "", 0);
  EXPECT_TRUE(same(read_svmlight(folder_ / "c.svm.gz", kPlain), read(all)));
}

TEST_F(Svmlight, RefusesWhatIsNoRow) {
  const std::string good = "1 2:3\n";
  refused("", {"at line 1", "the file is empty"});
  refused("# nothing\n\n", {"at line 2", "ends without a row"});
  refused(good + "2:3 4:5\n", {"at line 2", "'2:3': the label is missing"});
  refused(good + "# x\n\nspam 4:5\n", {"at line 4", "'spam' is not a number: the label must be one"});
  refused(good + "1,2 4:5\n", {"at line 2", "'1,2' is not a number"});
  refused(good + "1 qid:3 4:5\n", {"at line 2", "'qid:3' where COLUMN:VALUE was expected"});
  refused(good + "1 4 5:1\n", {"at line 2", "'4' where COLUMN:VALUE was expected"});
  refused(good + "1 -4:5\n", {"at line 2", "'-4:5' where COLUMN:VALUE was expected"});
  refused(good + "1 4:\n", {"at line 2", "'' is not a number: the value must be one"});
  refused(good + "1 4:x\n", {"at line 2", "'x' is not a number: the value must be one"});
  refused(good + "1 4:0x10\n", {"at line 2", "'0x10' is not a number"});
  refused(good + "1 4:1.2.3\n", {"at line 2", "'1.2.3' is not a number"});
  refused(good + "1 4:.\n", {"at line 2", "'.' is not a number"});
  refused(good + "1 4:+-5\n", {"at line 2", "'+-5' is not a number"});
  refused(good + std::string("1 4:5\0 6:7\n", 11), {"at line 2", "'5?' is not a number"});
}

TEST_F(Svmlight, RefusesColumnsThatDoNotAscendOrAreOutOfRange) {
  refused("1 0:3\n", {"at line 1", "column 0: columns count from 1, and this file counts from 0: add 1"});
  refused("1 5:3 4:1\n", {"at line 1", "column 4 after column 5: they must ascend"});
  refused("1 5:0 5:1\n", {"at line 1", "column 5 after column 5"});
  refused("1 4294967296:1\n", {"at line 1", "'4294967296:1' is out of range: 1 to 4294967295"});
}

TEST_F(Svmlight, RefusesNumbersThatAreNotFiniteOrTooLarge) {
  refused("1 2:3\n1 2:nan\n", {"at line 2", "the value is 'nan': it must be finite"});
  refused("1 2:3\n1 2:-inf\n", {"at line 2", "the value is '-inf'"});
  refused("1 2:3\nNaN 2:1\n", {"at line 2", "the label is 'NaN'"});
  refused("1 2:1e39\n", {"at line 1", "the value '1e39' is out of a float's range"});
  refused("1 2:1e400\n", {"at line 1", "out of a float's range"});
  refused("-1e400 2:1\n", {"at line 1", "the label '-1e400' is out of a float's range"});
}

TEST_F(Svmlight, RefusesATextThatWasCutAnywhere) {
  const std::string text = "+1 12:0.25 17:3\n-1 3:1.5\n";
  for (std::size_t kept = 1; kept < text.size(); ++kept) {
    if (text[kept - 1] == '\n') continue;  // whole lines are missing: nothing shows it
    refused(text.substr(0, kept), {kept > 16 ? "at line 2" : "at line 1", "the last line does not end"});
  }
}

TEST_F(Svmlight, NamesTheFirstOfSeveralMistakesHoweverItIsRead) {
  std::string text;
  for (int i = 1; i <= 500; ++i) text += i % 100 == 37 ? "1 bad\n" : "1 2:3\n";
  for (const int threads : {1, 2, 7})
    refused(text, {"at line 37:", "'bad'"}, {.threads = threads, .unit = 50, .cache = false});
}

TEST_F(Svmlight, IsRefusedWithoutItsFile) {
  try {
    read_svmlight(folder_ / "none.svm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "cannot open data file " + (folder_ / "none.svm") + ": No such file or directory");
  }
}

TEST_F(Svmlight, PutsTheTestSetIntoTheColumnsOfTheTrainingSet) {
  folder_.write("train.svm", "1 10:1 30:2\n-1 20:3 4000000:4\n");
  folder_.write("test.svm", "1 5:9 20:8 25:7 4000000:6\n-1 10:5\n1 7:1\n");
  const SparsePair pair = read_svmlight(folder_ / "train.svm", folder_ / "test.svm", kPlain);
  EXPECT_EQ(pair.test.columns(), pair.train.columns());
  EXPECT_EQ(shown(pair.test), "1 20:8 4000000:6\n-1 10:5\n1\n");
}

// --- The binary form
// -----------------------------------------------------------------------------------------------------

using SparseCache = Svmlight;

TEST_F(SparseCache, IsUsedAsLongAsTheTextIsTheSame) {
  const std::string text = drawn(100, 4);
  const SparseDataset first = read(text, {});
  const fs::path cached = cache_beside(folder_ / "a.svm");
  ASSERT_TRUE(fs::exists(cached));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2) << "nothing partial is left";
  EXPECT_TRUE(same(first, read_svmlight(folder_ / "a.svm")));
  // That it is the cache which is read: another data set's, under this text's checksum.
  ASSERT_TRUE(write_cached(cached, checksum(text), read_svmlight(folder_ / "a.svm")));
  folder_.write("b.svm", "1 2:3\n");
  const SparseDataset other = read_svmlight(folder_ / "b.svm", kPlain);
  ASSERT_TRUE(write_cached(cached, checksum(text), other));
  EXPECT_TRUE(same(other, read_svmlight(folder_ / "a.svm")));
  EXPECT_TRUE(same(first, read_svmlight(folder_ / "a.svm", kPlain))) << "without the cache";
  // Another text: the old form is replaced.
  const SparseDataset changed = read(text + "1 1:1\n", {});
  EXPECT_EQ(changed.rows(), first.rows() + 1);
  EXPECT_TRUE(same(changed, *open_cached(cached, checksum(text + "1 1:1\n"))));
}

TEST_F(SparseCache, ReplacesNoFileOfTheUsers) {
  const Variable cache("XDG_CACHE_HOME", folder_ / "cache");
  folder_.write("a.svm.csr", "my results");
  const std::string text = "1 2:3 9:1\n-1 3:0.5\n";
  const SparseDataset data = read(text, {});
  EXPECT_EQ(text_of(cache_beside(folder_ / "a.svm")), "my results");
  EXPECT_TRUE(open_cached(cache_elsewhere(checksum(text)), checksum(text)));
}

TEST_F(SparseCache, OfACompressedFileIsMadeOfSoMuchOnly) {
  const std::string path = folder_ / "b.svm.gz", text = "1 2:3 9:1\n-1 3:0.5\n";
  const gzFile to = gzopen(path.c_str(), "wb");
  gzwrite(to, text.data(), unsigned(text.size()));
  gzclose(to);
  EXPECT_EQ(read_svmlight(path, {.cache = false, .largest_compressed = text.size()}).rows(), 2u);
  try {
    read_svmlight(path, {.cache = false, .largest_compressed = text.size() - 1});
    ADD_FAILURE() << "it was unpacked";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path + ": its content is larger than"), std::string::npos) << error.what();
  }
}

TEST_F(SparseCache, IsIgnoredWhenItIsCutOrChangedAnywhere) {
  const Variable cache("XDG_CACHE_HOME", folder_ / "cache");
  const std::string text = "1 2:3 9:1\n-1 3:0.5\n";
  const SparseDataset data = read(text, {});
  const fs::path cached = cache_beside(folder_ / "a.svm");
  const std::string whole = text_of(cached);
  ASSERT_TRUE(open_cached(cached, checksum(text)));
  EXPECT_FALSE(open_cached(cached, checksum(text) + 1));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = char(bad[i] ^ 0x10);
    folder_.write("a.svm.csr", bad);
    EXPECT_FALSE(open_cached(cached, checksum(text))) << i;
    EXPECT_TRUE(same(data, read_svmlight(folder_ / "a.svm"))) << i;
    folder_.write("a.svm.csr", whole.substr(0, i));
    EXPECT_FALSE(open_cached(cached, checksum(text))) << i;
  }
  folder_.write("a.svm.csr", whole + "x");
  EXPECT_FALSE(open_cached(cached, checksum(text)));
}

TEST_F(SparseCache, IsNoPipeThatNobodyWritesTo) {
  const SparseDataset data = read("1 2:3 9:1\n-1 3:0.5\n", {});
  const fs::path cached = cache_beside(folder_ / "a.svm");
  fs::remove(cached);
  ASSERT_EQ(mkfifo(cached.c_str(), 0600), 0);
  EXPECT_TRUE(same(data, read_svmlight(folder_ / "a.svm"))) << "and it does not wait for it for ever";
}

TEST_F(SparseCache, LiesInTheCacheFolderWhereTheTextsIsNotWritable) {
  const Variable cache("XDG_CACHE_HOME", folder_ / "cache");
  const std::string text = drawn(20, 5);
  fs::create_directory(folder_ / "a.svm.csr");  // in the way, also of root
  folder_.write("a.svm.csr/x", "");
  const SparseDataset data = read(text, {});
  ASSERT_EQ(cache_elsewhere(checksum(text)).parent_path(), fs::path(folder_ / "cache/hopbench"));
  const auto cached = open_cached(cache_elsewhere(checksum(text)), checksum(text));
  ASSERT_TRUE(cached);
  EXPECT_TRUE(same(data, *cached));
  EXPECT_TRUE(same(data, read_svmlight(folder_ / "a.svm")));
}

TEST_F(SparseCache, IsDoneWithoutWhereNothingIsWritable) {
  const Variable cache("XDG_CACHE_HOME", "/dev/null/x");
  fs::create_directory(folder_ / "a.svm.csr");
  folder_.write("a.svm.csr/x", "");
  EXPECT_EQ(read("1 2:3\n", {}).rows(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2) << "nothing partial is left";
}

TEST(ColumnSets, NumberColumnsInTheirOrder) {
  ColumnSet a, b;
  for (const std::uint32_t c : {0u, 63u, 64u, 65536u, ~0u}) a.add(c);
  for (const std::uint32_t c : {64u, 1u, 70000u}) b.add(c);
  a.add(b);
  EXPECT_EQ(a.number(), (std::vector<std::uint32_t>{0, 1, 63, 64, 65536, 70000, ~0u}));
  EXPECT_EQ(a.place(0), 0u);
  EXPECT_EQ(a.place(64), 3u);
  EXPECT_EQ(a.place(70000), 5u);
  EXPECT_EQ(a.place(~0u), 6u);
}

}  // namespace
}  // namespace hopbench
