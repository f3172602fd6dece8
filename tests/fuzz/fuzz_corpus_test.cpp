// Every input of corpus/ through its target: what once crashed stays mended, in builds without a fuzzer, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.h"

#define HB_FUZZ(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
HB_FUZZ_TARGETS
#undef HB_FUZZ

namespace hopbench {
namespace {

struct Target {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {
#define HB_FUZZ(name) {#name, fuzz_##name},
    HB_FUZZ_TARGETS
#undef HB_FUZZ
};

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, IsReadOrRefused) {
  const std::filesystem::path folder = std::filesystem::path(HB_CORPUS) / GetParam().name;
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder << ": every target has some inputs to start with";
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    describe_process("input " + entry.path().string());  // said if a target's assertion fails
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    EXPECT_NO_THROW(EXPECT_EQ(GetParam().run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()), 0));
    ++inputs;
  }
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(All, FuzzCorpus, testing::ValuesIn(kTargets),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace hopbench
