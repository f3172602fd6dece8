// Profiles of gradients: buckets and times from CSV, and from the header of a safetensors file.
#include "suites/import/profile.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/base/error.h"
#include "tests/folder.h"

namespace hopbench {
namespace {

class ProfileTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    folder_.write(name, text);
    return folder_ / name;
  }
  std::string why(const std::string& name, const std::string& text) {
    try {
      read_profile(file(name, text));
    } catch (const Error& error) {
      const std::string what = error.what();
      return what.substr(what.find(name));
    }
    return "";
  }
  static std::string safetensors(const std::string& header) {
    std::string text;
    for (int byte = 0; byte < 8; ++byte) text.push_back(char(header.size() >> (8 * byte)));
    return text + header;
  }
  Folder folder_;
};

TEST_F(ProfileTest, BucketsOfACsvBecomeCompleteInTheOrderOfItsRows) {
  const Profile profile = read_profile(file("p.csv", "# mine\nbytes,seconds\n400,0.3\n1202,0.1\n\n800,0.1\r\n"));
  EXPECT_EQ(profile.parameters, 100u + 301u + 200u);
  ASSERT_EQ(profile.buckets.size(), 3u);
  EXPECT_EQ(profile.buckets[0].offset, 501u) << "the last layers come first";
  EXPECT_EQ(profile.buckets[0].size, 100u);
  EXPECT_EQ(profile.buckets[1].offset, 200u);
  EXPECT_EQ(profile.buckets[2].offset, 0u);
  EXPECT_DOUBLE_EQ(profile.buckets[0].done_at, 0.6);
  EXPECT_DOUBLE_EQ(profile.buckets[1].done_at, 0.8);
  EXPECT_EQ(profile.buckets[2].done_at, 1);
  ASSERT_TRUE(profile.gradient);
  EXPECT_EQ(*profile.gradient, std::chrono::milliseconds(500));
}

TEST_F(ProfileTest, ASafetensorsHeaderGivesTheBucketsOfDdp) {
  // In file order: 30 MiB, 2 MiB, 20 MiB, 3 MiB. From the end: 3 | 20 + 2 + 30 (the first of 1 MiB, the next of 25
  // MiB).
  const auto mib = [](int n) { return std::to_string(n << 20); };
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("z":{"dtype":"F32","shape":[1],"data_offsets":[0,)" +
                             mib(30) + "]}," + R"("b":{"dtype":"F32","shape":[1],"data_offsets":[)" + mib(32) + "," +
                             mib(52) + "]}," + R"("c":{"dtype":"F32","shape":[1],"data_offsets":[)" + mib(30) + "," +
                             mib(32) + "]}," + R"("a":{"dtype":"F32","shape":[1],"data_offsets":[)" + mib(52) + "," +
                             mib(55) + "]}}";
  const Profile profile = read_profile(file("m.safetensors", safetensors(header) + "the tensors are not read"));
  EXPECT_FALSE(profile.gradient);
  EXPECT_EQ(profile.parameters, (55u << 20) / 4);
  ASSERT_EQ(profile.buckets.size(), 2u);
  EXPECT_EQ(profile.buckets[0].size, (3u << 20) / 4);
  EXPECT_EQ(profile.buckets[0].offset, (52u << 20) / 4);
  EXPECT_NEAR(profile.buckets[0].done_at, (1 + 2 * 3.0 / 55) / 3, 1e-12);
  EXPECT_EQ(profile.buckets[1].done_at, 1);
}

TEST_F(ProfileTest, MistakesAreNamed) {
  EXPECT_EQ(why("p.csv", ""), "p.csv:1: there is no bucket: write bytes,seconds and a row for each");
  EXPECT_EQ(why("p.csv", "size,time\n"), "p.csv:1: the header must be bytes,seconds");
  EXPECT_EQ(why("p.csv", "bytes,seconds\n4\n"), "p.csv:2: 1 cells, not 2");
  EXPECT_EQ(why("p.csv", "bytes,seconds\n0,1\n"), "p.csv:2: the bytes are '0', not an integer from 1 to 4000000000000");
  EXPECT_EQ(why("p.csv", "bytes,seconds\n4,-1\n"), "p.csv:2: the seconds are '-1', not a number from 0 to 1e+06");
  EXPECT_EQ(why("p.csv", "bytes,seconds\n4,0\n"), "p.csv:2: all times are 0: the gradient must take some time");
  EXPECT_EQ(why("m.safetensors", "abc"), "m.safetensors is not a safetensors file: it has no header");
  EXPECT_EQ(why("m.safetensors", safetensors("{}").substr(0, 9)),
            "m.safetensors is not a safetensors file: its header is cut short");
  EXPECT_EQ(why("m.safetensors", safetensors("{}")), "m.safetensors is not a safetensors file: it has no tensors");
  EXPECT_EQ(why("m.safetensors", safetensors("{x")), "m.safetensors is not a safetensors file: it is not valid JSON");
  EXPECT_EQ(why("m.safetensors", safetensors(R"({"a":{}})")),
            "m.safetensors is not a safetensors file: a field is missing");
  EXPECT_THROW(read_profile(folder_ / "none.csv"), Error);
  EXPECT_THROW(read_profile(folder_.path()), Error);
}

}  // namespace
}  // namespace hopbench
