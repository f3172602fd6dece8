// Profiles of gradients: buckets and times from CSV, and from the header of a safetensors file.
#include "suites/language/profile.h"

#include <fmt/format.h>
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
  /// Returns the entry of a tensor whose data reach from one MiB to another.
  static std::string entry(const std::string& name, int from, int to, const std::string& type = "F32", int bytes = 4) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", name, type,
                       ((to - from) << 20) / bytes, from << 20, to << 20);
  }
  /// Returns the sizes in MiB of the buckets of a model with these tensors.
  std::vector<std::size_t> buckets(const std::string& name, const std::string& entries) {
    return sizes(read_profile(file(name, safetensors("{" + entries + "}"))));
  }
  static std::vector<std::size_t> sizes(const Profile& profile) {
    std::vector<std::size_t> found;
    for (const Bucket& bucket : profile.buckets) found.push_back(bucket.size * 4 >> 20);
    return found;
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
  const std::string header = R"({"__metadata__":{"format":"pt"},)" + entry("z", 0, 30) + "," + entry("b", 32, 52) +
                             "," + entry("c", 30, 32) + "," + entry("a", 52, 55) + "}";
  const Profile profile = read_profile(file("m.safetensors", safetensors(header)));
  EXPECT_FALSE(profile.gradient);
  EXPECT_EQ(profile.parameters, (55u << 20) / 4);
  ASSERT_EQ(profile.buckets.size(), 2u);
  EXPECT_EQ(profile.buckets[0].size, (3u << 20) / 4);
  EXPECT_EQ(profile.buckets[0].offset, (52u << 20) / 4);
  EXPECT_NEAR(profile.buckets[0].done_at, (1 + 2 * 3.0 / 55) / 3, 1e-12);
  EXPECT_EQ(profile.buckets[1].done_at, 1);
}

TEST_F(ProfileTest, SortedNamesArePutIntoTheModelsOrder) {
  // Registered: features.2 (3 MiB), features.10 (30), classifier (60). From the end: 60 | 30 | 3.
  const std::string sorted = entry("classifier.weight", 0, 60) + "," + entry("features.10.weight", 60, 90) + "," +
                             entry("features.2.weight", 90, 93);
  EXPECT_EQ(buckets("m.safetensors", sorted), (std::vector<std::size_t>{60, 30, 3}));
  // A file that is not sorted says its order itself.
  const std::string registered = entry("features.2.weight", 0, 3) + "," + entry("features.10.weight", 3, 33) + "," +
                                 entry("classifier.weight", 33, 93);
  EXPECT_EQ(buckets("m.safetensors", registered), (std::vector<std::size_t>{60, 30, 3}));
  const std::string llama = entry("lm_head.weight", 0, 40) + "," + entry("model.embed_tokens.weight", 40, 90) + "," +
                            entry("model.layers.0.w", 90, 117) + "," + entry("model.layers.1.w", 117, 145) + "," +
                            entry("model.norm.weight", 145, 147);
  EXPECT_EQ(buckets("m.safetensors", llama), (std::vector<std::size_t>{40, 30, 27, 50}));
}

TEST_F(ProfileTest, OnlyTensorsWithGradientsCount) {
  EXPECT_EQ(buckets("m.safetensors", entry("b", 0, 4) + "," + entry("bn.num_batches_tracked", 4, 6, "I64", 8) + "," +
                                         entry("bn.running_mean", 6, 8)),
            (std::vector<std::size_t>{4}));
  EXPECT_EQ(why("m.safetensors", safetensors("{" + entry("a", 0, 1, "U8", 1) + "}")),
            "m.safetensors is not a safetensors file: none of its tensors has a gradient: they are integers or empty");
}

TEST_F(ProfileTest, ShardsAreOneModel) {
  const std::string first = safetensors("{" + entry("model.embed.weight", 0, 20) + "," +
                                        entry("model.layers.0.w", 20, 50) + "}"),
                    second = safetensors("{" + entry("lm_head.weight", 0, 40) + "," +
                                         entry("model.layers.1.w", 40, 50) + "}");
  const std::string one = file("m-00001-of-00002.safetensors", first);
  EXPECT_EQ(why("m-00001-of-00002.safetensors", first).substr(0, 50),
            "m-00001-of-00002.safetensors is one of 2 shards, a");
  file("m-00002-of-00002.safetensors", second);
  const std::vector<std::size_t> whole{40, 40, 20};
  EXPECT_EQ(sizes(read_profile(one)), whole);
  const std::string index =
      R"({"metadata":{},"weight_map":{"model.embed.weight":"m-00001-of-00002.safetensors",)"
      R"("lm_head.weight":"m-00002-of-00002.safetensors","model.layers.1.w":"m-00002-of-00002.safetensors",)"
      R"("model.layers.0.w":"m-00001-of-00002.safetensors"}})";
  EXPECT_EQ(sizes(read_profile(file("m.safetensors.index.json", index))), whole);
  EXPECT_EQ(safetensors_files(folder_ / "m.safetensors.index.json").size(), 2u);
  EXPECT_EQ(why("x.index.json", "{}"), "x.index.json is not an index of safetensors files: a field is missing");
  EXPECT_EQ(why("x.index.json", R"({"weight_map":{"a":"../b"}})"),
            "x.index.json lists the file '../b', which is not in its folder");
}

TEST_F(ProfileTest, AnIndexThatDoesNotMatchItsShardsIsRefused) {
  file("m-00001-of-00002.safetensors", safetensors("{" + entry("a", 0, 20) + "}"));
  file("m-00002-of-00002.safetensors", safetensors("{" + entry("b", 0, 40) + "}"));
  const auto refused = [&](const std::string& map, const std::string& size = "60") {
    std::string text =
        why("i.index.json", fmt::format(R"({{"metadata":{{"total_size":{}}},"weight_map":{{{}}}}})", size, map));
    const std::string folder = folder_ / "";
    for (std::size_t at; (at = text.find(folder)) != text.npos;) text.erase(at, folder.size());
    return text;
  };
  const std::string a = R"("a":"m-00001-of-00002.safetensors")", b = R"("b":"m-00002-of-00002.safetensors")";
  EXPECT_EQ(refused(a + "," + b), "");
  EXPECT_EQ(refused(R"("a":"m-00002-of-00002.safetensors",)" + b),
            "i.index.json lists the tensor 'a' in m-00002-of-00002.safetensors, which does not have it");
  EXPECT_EQ(refused(R"("c":"m-00001-of-00002.safetensors",)" + a + "," + b),
            "i.index.json lists the tensor 'c' in m-00001-of-00002.safetensors, which does not have it");
  EXPECT_EQ(
      refused(R"("c":"m-00001-of-00002.safetensors",)" + b),
      "i.index.json does not list the tensor 'a' of m-00001-of-00002.safetensors: they are not of the same model");
  for (const char* size : {"99", "\"x\"", "62914560.0"})
    EXPECT_EQ(refused(a, size),
              "i.index.json lists 1 files, and by the name of m-00001-of-00002.safetensors the model has 2");
  for (const char* size : {"20971520", "20971520.0"}) EXPECT_EQ(refused(a, size), "");  // the index is of a part
}

TEST_F(ProfileTest, AFileThatWasCutIsRefused) {
  const std::string header = safetensors("{" + entry("a", 0, 1) + "}");
  EXPECT_EQ(why("m.safetensors", header), "") << "a header alone is enough";
  EXPECT_EQ(why("m.safetensors", header + std::string(1 << 20, 'x')), "");
  for (const int bytes : {1, 4, (1 << 20) - 1})
    EXPECT_EQ(why("m.safetensors", header + std::string(std::size_t(bytes), 'x')),
              fmt::format("m.safetensors is not a safetensors file: it was cut: it has {} of the 1048576 bytes that "
                          "its header promises",
                          bytes));
}

TEST_F(ProfileTest, HeadersThatContradictThemselvesAreRefused) {
  const auto refused = [&](const std::string& entries) {
    return why("m.safetensors", safetensors("{" + entries + "}"))
        .substr(std::string("m.safetensors is not a safetensors file: ").size());
  };
  EXPECT_EQ(refused(entry("a", 0, 2) + "," + entry("b", 1, 3)),
            "tensor 'b' begins at byte 1048576 of the data, not at 2097152: tensors follow each other");
  EXPECT_EQ(refused(entry("a", 0, 2) + "," + entry("b", 3, 4)),
            "tensor 'b' begins at byte 3145728 of the data, not at 2097152: tensors follow each other");
  EXPECT_EQ(refused(entry("a", 1, 2)),
            "tensor 'a' begins at byte 1048576 of the data, not at 0: tensors follow each other");
  EXPECT_EQ(refused(entry("a", 0, 2) + "," + entry("a", 2, 3)), "tensor 'a' is there twice");
  EXPECT_EQ(refused(entry("a", 0, 2, "F33")), "tensor 'a' has a type that is not known, 'F33'");
  EXPECT_EQ(refused(entry("a", 0, 2, "F16")), "tensor 'a' has 2097152 bytes, and by its shape and type 1048576");
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
