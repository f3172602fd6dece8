// Tests of the list of keys. ci/docs compares the documentation with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "suites/language/draft.h"
#include "suites/language/keys.h"
#include "suites/language/suite.h"

namespace hopbench {
namespace {

TEST(SuiteKeys, HaveDefaultsThatTheyWouldAccept) {
  std::set<std::string> paths;
  for (const SuiteKey& key : suite_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path << " is there twice";
    if (key.fallback == nullptr || *key.fallback == '\0') continue;
    Mistakes mistakes;
    const std::optional<Value> value = parse_value(key.fallback, {}, mistakes);
    ASSERT_TRUE(value.has_value()) << key.path;
    if (std::string(key.fallback) != "\"\"") {
      EXPECT_TRUE(check_value(key, *value, mistakes)) << key.path;
    }
  }
  EXPECT_EQ(default_layer().at("model.batch").integer, 32);
}

TEST(SuiteKeys, ResolveByTheirEndWhereOnlyOneKeyHasIt) {
  EXPECT_EQ(resolve_key({"samples"}), "run.samples");
  EXPECT_EQ(resolve_key({"pace"}), "compute.pace");
  EXPECT_EQ(resolve_key({"target"}), "run.target.loss");
  EXPECT_EQ(resolve_key({"target", "hold"}), "run.target.hold");
  EXPECT_EQ(resolve_key({"transport"}), "transport.name");
  EXPECT_EQ(resolve_key({"dataset", "path"}), "model.dataset.path");
  EXPECT_EQ(resolve_key({"dataset"}), "model.dataset.name");
  EXPECT_EQ(resolve_key({"split"}), "model.split.kind");
  EXPECT_EQ(resolve_key({"name"}), "") << "several keys end so";
  EXPECT_EQ(resolve_key({"factor"}), "") << "it is of a list's tables";
  EXPECT_EQ(resolve_key({"protocol", "label"}), "") << "it is of a list's tables";
  for (const std::string& name : override_names()) EXPECT_NE(resolve_key(*split_key(name)), "") << name;
}

TEST(DottedKeys, AreSplitWithAndWithoutQuotes) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(*split_key("a.b_c.d-e"), (Parts{"a", "b_c", "d-e"}));
  EXPECT_EQ(*split_key("protocol.\"hop 1.5x\".max_ig"), (Parts{"protocol", "hop 1.5x", "max_ig"}));
  EXPECT_EQ(*split_key("'a.b'"), (Parts{"a.b"}));
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "\"a", "\"a\"b", "''"}) EXPECT_FALSE(split_key(bad)) << bad;
}

TEST(Documents, AreWrittenAsTheyWereRead) {
  Mistakes mistakes;
  const std::string text =
      "[1, -2, 0.1, 1e+300, true, \"a\\\"\\\\\\u0001\xC3\xA4\", [], { a = 1, \"b c\" = { d = inf } }, {}]";
  const std::optional<Value> value = parse_value(text, {}, mistakes);
  ASSERT_TRUE(value.has_value());
  const std::optional<Value> again = parse_value(to_toml(*value), {}, mistakes);
  ASSERT_TRUE(again.has_value()) << to_toml(*value);
  EXPECT_EQ(to_toml(*again), to_toml(*value));
  EXPECT_EQ(to_toml(value->items[5]), "\"a\\\"\\\\\\u0001\xC3\xA4\"");
  EXPECT_EQ(value->items[2].real, again->items[2].real);
  EXPECT_EQ(toml_real(3.0), "3.0");
}

TEST(Documents, KeepTheOrderAndThePlacesOfTheText) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document("z = 1\na = 2\n[m]\nk = [1,\n  2]\n", "f.toml", mistakes);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->entries[0].key, "z");
  EXPECT_EQ(root->entries[2].key, "m");
  const Value& list = root->find("m")->value.find("k")->value;
  EXPECT_EQ(list.items[1].place.line, 5);
  EXPECT_EQ(list.items[1].place.column, 3);
  EXPECT_EQ(list.items[1].place.file, "f.toml");
}

TEST(SuiteMeasures, MayNameTheirVariants) {
  const std::string text = R"(schema = 1
run.world_size = 4
model = { name = "timing_only", size = 10 }
compute.pace = "10ms"
transport.name = "sim"
run.repeats = 1
matrix.protocol.hop.backup = [0, 1]
[[protocol]]
name = "hop"
[[protocol]]
name = "dpsgd"
[[measure]]
name = "all"
[[measure]]
name = "hops"
protocols = ["hop"]
)";
  const auto of_hops = [](const Suite& suite) {
    std::vector<std::string> labels;
    for (const TrialSpec& trial : suite.trials)
      if (trial.measure == "hops") labels.push_back(trial.label);
    std::sort(labels.begin(), labels.end());
    return labels;
  };
  const Suite suite = parse_suite(text, "t.toml", {});
  EXPECT_EQ(suite.trials.size(), 5u);
  EXPECT_EQ(of_hops(suite), (std::vector<std::string>{"hop backup=0", "hop backup=1"}));
  const Suite again = parse_suite(suite.resolved, "resolved.toml", {});
  EXPECT_EQ(again.resolved, suite.resolved);
  EXPECT_EQ(of_hops(again), of_hops(suite));
  try {
    parse_suite(text + "[[measure]]\nname = \"none\"\nprotocols = [\"hopp\"]\n", "t.toml", {});
    ADD_FAILURE() << "a label that is none was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("hop"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hopbench
