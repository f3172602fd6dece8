// `hopbench run --dump`: archives of NumPy that say what a run computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/unzip.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/cli.h"

namespace hopbench {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kDumped = R"(schema = 1
name = "d"
[run]
world_size = 2
samples = 96
repeats = 1
evaluations = 6
warmup_time = "0s"
[model]
name = "softmax"
dataset.name = "synthetic"
batch = 8
[optimizer]
lr = 0.25
step = "as_written"
[compute]
backend = "reference"
pace = "5ms"
[transport]
name = "sim"
[topology]
name = "ring"
[[protocol]]
name = "local_sgd"
period = 1000
[[measure]]
what = "convergence"
)";

/// The arrays of an archive as NumPy reads them: their bytes behind the head, by name.
std::map<std::string, std::string> arrays_of(const std::string& path) {
  std::map<std::string, std::string> arrays;
  const unzFile file = unzOpen64(path.c_str());
  EXPECT_NE(file, nullptr) << path;
  for (int more = file == nullptr ? UNZ_ERRNO : unzGoToFirstFile(file); more == UNZ_OK; more = unzGoToNextFile(file)) {
    unz_file_info64 info;
    char name[64];
    EXPECT_EQ(unzGetCurrentFileInfo64(file, &info, name, sizeof(name), nullptr, 0, nullptr, 0), UNZ_OK);
    std::string bytes(std::size_t(info.uncompressed_size), '\0');
    EXPECT_EQ(unzOpenCurrentFile(file), UNZ_OK);
    EXPECT_EQ(unzReadCurrentFile(file, bytes.data(), unsigned(bytes.size())), int(bytes.size()));
    EXPECT_EQ(unzCloseCurrentFile(file), UNZ_OK) << "a wrong checksum";
    EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    const std::size_t head = 10 + std::size_t(static_cast<unsigned char>(bytes[8])) +
                             256 * std::size_t(static_cast<unsigned char>(bytes[9]));
    EXPECT_EQ(head % 64, 0U);
    EXPECT_EQ(bytes[head - 1], '\n');
    arrays[name] = bytes.substr(head);
  }
  if (file != nullptr) unzClose(file);
  return arrays;
}

template <class T>
std::vector<T> numbers_in(const std::string& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class Dumps : public testing::Test {
 protected:
  Dumps() { std::ofstream(folder_.path() + "/d.toml") << kDumped; }
  Ended run(const Args& more) const {
    Args words{"run", "d.toml", "-o", "out"};
    words.insert(words.end(), more.begin(), more.end());
    return hopbench(folder_.path(), words);
  }
  /// The only trial's.
  std::map<std::string, std::string> at(int rank, int point) const {
    const auto trial = std::filesystem::directory_iterator(folder_.path() + "/out/dump")->path().string();
    return arrays_of(trial + "/rank" + std::to_string(rank) + "_point" + std::to_string(point) + ".npz");
  }
  Folder folder_;
};

// A step is taken with the gradient that the point after it has, on the samples that it names.
TEST_F(Dumps, SayEachStep) {
  ASSERT_EQ(run({"--dump", "params,gradients,samples"}).code, 0);
  for (const int rank : {0, 1}) {
    std::set<std::uint32_t> seen;
    for (int point = 0; point < 6; ++point) {
      const auto before = at(rank, point), after = at(rank, point + 1);
      const auto x = numbers_in<float>(before.at("params.npy")), y = numbers_in<float>(after.at("params.npy")),
                 g = numbers_in<float>(after.at("gradient.npy"));
      ASSERT_EQ(x.size(), y.size());
      ASSERT_EQ(x.size(), g.size());
      ASSERT_GT(x.size(), 10U);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_FLOAT_EQ(y[i], x[i] - 0.25f * g[i]) << point;
      EXPECT_EQ(numbers_in<std::int64_t>(after.at("iteration.npy")), std::vector<std::int64_t>{point + 1});
      EXPECT_EQ(numbers_in<std::int64_t>(after.at("gradient_iteration.npy")), std::vector<std::int64_t>{point});
      for (const std::uint32_t sample : numbers_in<std::uint32_t>(after.at("samples.npy")))
        EXPECT_TRUE(seen.insert(sample).second) << "a sample twice in an epoch";
    }
    EXPECT_EQ(seen.size(), 6U * 8);
  }
}

TEST_F(Dumps, HoldWhatIsAskedFor) {
  ASSERT_EQ(run({"--dump", "samples"}).code, 0);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : at(1, 0)) names.push_back(name);
  EXPECT_THAT(names, UnorderedElementsAre("time_s.npy", "gradient_iteration.npy", "samples.npy"));
  EXPECT_TRUE(at(1, 0).at("samples.npy").empty()) << "before the first gradient";
}

TEST_F(Dumps, OfRealProcessesAreTheirFinalParameters) {
  const Ended ended = run({"--dump", "params", "--set", "transport.name=shm"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GT(numbers_in<float>(at(1, 0).at("params.npy")).size(), 10U);
}

TEST_F(Dumps, AreRefusedWhereTheyAreTooLargeOrSayNothing) {
  EXPECT_THAT(run({"--dump", "weights"}).err, HasSubstr("--dump"));
  EXPECT_THAT(run({"--dump", "gradients", "--set", "transport.name=shm"}).err,
              HasSubstr("real processes keep their final parameters only"));
  EXPECT_THAT(
      run({"--dump", "gradients", "--set", "model.name=linear_svm", "--set", "model.dataset.name=synthetic_sparse"})
          .err,
      HasSubstr("gradients of linear_svm are sparse"));
  const Args many{"--dump", "params", "--set", "run.evaluations=100000", "--set", "run.samples=100000000"};
  const Ended large = run(many);
  EXPECT_EQ(large.code, 2);
  EXPECT_THAT(large.err, HasSubstr("params of 1 trial take"));
  Args dry = many;
  dry.emplace_back("--dry-run");
  EXPECT_EQ(run(dry).code, 2);
  EXPECT_THAT(large.err, HasSubstr("GiB: choose fewer with --filter or run.evaluations, or take it with --force"));
  EXPECT_THAT(run({"--force"}).err, HasSubstr("--force is for --resume and --dump"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/out"));
}

TEST_F(Dumps, GoOnWithARunThatHasThem) {
  ASSERT_EQ(run({"--dump", "params"}).code, 0);
  const auto resumed = [&](Args more) {
    Args words{"run", "--resume", "out"};
    words.insert(words.end(), more.begin(), more.end());
    return hopbench(folder_.path(), words);
  };
  const Ended without = resumed({});
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(
      without.err,
      HasSubstr("out was started with --dump params: give the same --dump again, or remove out/dump.txt and out/dump"));
  const Ended others = resumed({"--dump", "params,samples"});
  EXPECT_EQ(others.code, 2);
  EXPECT_THAT(
      others.err,
      HasSubstr("out was started with --dump params: give the same --dump again, or remove out/dump.txt and out/dump"));
  EXPECT_THAT(resumed({"--dump", "params"}).err, HasSubstr("1 of 1 trials are done already: --dump is of the others"));
  std::filesystem::remove(folder_.path() + "/out/dump.txt");
  for (const Args& dump : {Args{}, Args{"--dump", "params"}})
    EXPECT_THAT(resumed(dump).err, HasSubstr("out/dump.txt does not say what out/dump holds: put"));
  std::filesystem::remove_all(folder_.path() + "/out/dump");
  EXPECT_EQ(resumed({}).code, 0);
}

}  // namespace
}  // namespace hopbench
