// Style held by a test: reads every source file of the tree.
#include "tests/tidy/tidy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "results/tables/terms.h"
#include "tests/paths.h"

namespace hopbench::tidy {
namespace {

namespace fs = std::filesystem;

std::vector<Source> tree() {
  const fs::path root = source_dir();
  std::vector<Source> sources;
  for (const char* top : {"cli", "suites", "protocols", "models", "backends", "results", "tests", "ci"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) continue;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (path.starts_with("tests/data/")) continue;  // written elsewhere, or long ago
      const std::string suffix = entry.path().extension().string();
      if (suffix != ".h" && suffix != ".cpp" && std::string(top) != "ci") continue;
      std::ifstream in(entry.path());
      std::ostringstream text;
      text << in.rdbuf();
      sources.push_back({path, text.str()});
    }
  }
  return sources;
}

template <class Rule>
void expect_clean(Rule rule) {
  const std::vector<Source> sources = tree();
  ASSERT_GT(sources.size(), 50u);
  for (const Source& source : sources) {
    for (const std::string& complaint : rule(source)) ADD_FAILURE() << complaint;
  }
}

TEST(Tidy, IncludesPointOneWay) { expect_clean(check_arrows); }
TEST(Tidy, ThirdPartyHeadersStayInCppFiles) { expect_clean(check_third_party); }
TEST(Tidy, ProtocolsAndModelsKnowNoThreadsClocksOrDice) { expect_clean(check_bans); }
TEST(Tidy, FilesAndLinesAreShort) { expect_clean(check_sizes); }
TEST(Tidy, NothingIsPutOff) { expect_clean(check_promises); }
TEST(Tidy, NoDecisionDependsOnAText) { expect_clean(check_texts); }
TEST(Tidy, CommentsBeginWithAVerbOrAThing) { expect_clean(check_openings); }
TEST(Tidy, ProtocolsAreShortAndSeeOnlyTheirOwn) { expect_clean(check_protocol); }
TEST(Tidy, PrivateNamesOfProtocolsLieInNamespacesOfTheirFiles) { expect_clean(check_private); }

TEST(Tidy, FiguresOfProtocolsAreExplained) {
  const std::string kBegin = "figure(\"";
  std::set<std::string> explained, found;
  for (const Column& word : table_words()) explained.insert(word.name);
  for (const Source& source : tree()) {
    if (source.path.starts_with("tests/")) continue;
    for (std::size_t at = source.text.find(kBegin); at != std::string::npos; at = source.text.find(kBegin, at)) {
      at += kBegin.size();
      found.insert(source.text.substr(at, source.text.find('"', at) - at));
    }
  }
  EXPECT_GE(found.size(), 6u);
  for (const std::string& name : found) EXPECT_TRUE(explained.contains(name)) << name << ": results/tables/terms.cpp";
}

TEST(Tidy, DirectoriesHaveFewFiles) {
  const fs::path root = source_dir();
  std::vector<std::string> paths;
  for (const char* top : {"cli", "suites", "protocols", "models", "backends", "results", "tests", "ci", "docs"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
      if (entry.is_regular_file() && entry.path().extension() != ".pyc")
        paths.push_back(fs::relative(entry.path(), root).generic_string());
    }
  }
  ASSERT_GT(paths.size(), 500u);
  for (const std::string& complaint : check_crowding(paths)) ADD_FAILURE() << complaint;
}

TEST(Tidy, TheUsualProtocolIsShort) {
  for (const std::string& complaint : check_median(tree())) ADD_FAILURE() << complaint;
}

TEST(Tidy, NoProtocolCopiesAnothersLines) {
  for (const std::string& complaint : check_copies(tree())) ADD_FAILURE() << complaint;
}

TEST(Tidy, NoTwoTypesHaveOneName) {
  for (const std::string& complaint : check_names(tree())) ADD_FAILURE() << complaint;
}

// --- The rules themselves: each finds what it is for, and only that --------------------------------------------------

TEST(TidyRules, ArrowsFindWrongDirections) {
  const auto bad = [](const std::string& path, const std::string& name) {
    return check_arrows({path, "#include \"" + name + "\"\n"}).size();
  };
  EXPECT_EQ(bad("protocols/hop/hop.cpp", "protocols/node/node.h"), 0u);
  EXPECT_EQ(bad("protocols/hop/hop.cpp", "backends/base/vec.h"), 0u);
  EXPECT_EQ(bad("protocols/node/node.h", "backends/runtime/runtime.h"), 0u);
  EXPECT_EQ(bad("protocols/hop/hop.cpp", "backends/transport/wire.h"), 1u);
  EXPECT_EQ(bad("protocols/hop/hop.cpp", "backends/runtime/process/process.h"), 1u);
  EXPECT_EQ(bad("protocols/node/node.h", "results/files/record_json.h"), 1u);
  EXPECT_EQ(bad("protocols/hop/hop.cpp", "suites/trial/trial.h"), 1u);
  EXPECT_EQ(bad("models/mlp.cpp", "protocols/node/node.h"), 1u);
  EXPECT_EQ(bad("backends/compute/onednn.cpp", "backends/runtime/runtime.h"), 1u);
  EXPECT_EQ(bad("backends/base/vec.h", "results/files/record_json.h"), 1u);
  EXPECT_EQ(bad("backends/base/record/trial_record.h", "backends/runtime/message.h"), 1u);
  EXPECT_EQ(bad("results/arithmetic/curve.h", "results/files/run_folder.h"), 1u);
  EXPECT_EQ(bad("results/files/outcome.cpp", "results/tables/table.h"), 1u);
  EXPECT_EQ(bad("results/files/outcome.cpp", "results/arithmetic/groups.h"), 0u);
  EXPECT_EQ(bad("results/tables/table.cpp", "suites/trial/trial.h"), 1u);
  EXPECT_EQ(bad("results/tables/table.cpp", "results/judge/gate.h"), 1u);
  EXPECT_EQ(bad("results/report/chart.cpp", "results/judge/gate.h"), 1u);
  EXPECT_EQ(bad("results/report/chart.cpp", "results/tables/table.h"), 0u);
  EXPECT_EQ(bad("protocols/node/node.h", "backends/runtime/virtual/simulated.h"), 1u);
  EXPECT_EQ(bad("backends/runtime/virtual/simulated.cpp", "backends/runtime/process/board.h"), 1u);
  EXPECT_EQ(bad("backends/runtime/process/board.h", "backends/runtime/virtual/network.h"), 1u);
  EXPECT_EQ(bad("suites/trial/trial.cpp", "cli/options.h"), 1u);
  EXPECT_EQ(bad("tests/checkers/hop/quorum.cpp", "protocols/node/node.h"), 1u);
  EXPECT_EQ(bad("cli/main.cpp", "suites/language/suite.h"), 0u);
  EXPECT_EQ(bad("cli/main.cpp", "options.h"), 1u);
  EXPECT_EQ(bad("results/files/context.cpp", "commit.h"), 0u);
  EXPECT_EQ(bad("suites/trial/simulate.cpp", "results/arithmetic/steady.h"), 0u);
  EXPECT_EQ(bad("suites/trial/simulate.cpp", "results/tables/table.h"), 1u);
  EXPECT_EQ(bad("utils/more.cpp", "backends/base/vec.h"), 1u);
}

TEST(TidyRules, ThirdPartyHeadersAreFoundInHeadersOnly) {
  EXPECT_EQ(check_third_party({"suites/a.h", "#include <toml++/toml.h>\n"}).size(), 1u);
  EXPECT_EQ(check_third_party({"suites/a.h", "#include <dnnl.hpp>\n"}).size(), 1u);
  EXPECT_EQ(check_third_party({"backends/compute/host.h", "#include <dnnl.hpp>\n"}).size(), 1u);
  EXPECT_EQ(check_third_party({"backends/compute/onednn_api.h", "#include <dnnl.hpp>\n"}).size(), 0u);
  EXPECT_EQ(check_third_party({"suites/a.h", "#include <vector>\n#include <sys/types.h>\n"}).size(), 0u);
  EXPECT_EQ(check_third_party({"suites/a.cpp", "#include <toml++/toml.h>\n"}).size(), 0u);
}

TEST(TidyRules, BansReadCodeNotComments) {
  EXPECT_EQ(check_bans({"protocols/a.cpp", "std::mutex m;\n"}).size(), 1u);
  EXPECT_EQ(check_bans({"protocols/a.cpp", "// no std::mutex\nauto s = \"std::thread\";\n"}).size(), 0u);
  EXPECT_EQ(check_bans({"models/a.cpp", "std::unordered_map<int, int> m;\n"}).size(), 1u);
  EXPECT_EQ(check_bans({"models/a.cpp", "auto t = std::chrono::steady_clock::now();\n"}).size(), 1u);
  EXPECT_EQ(check_bans({"models/a.cpp", "int x = rand();\nint y = operand(1);\n"}).size(), 1u);
  EXPECT_EQ(check_bans({"models/workload.cpp", "std::mutex m;\n"}).size(), 0u);
  EXPECT_EQ(check_bans({"models/workload.cpp", "std::thread t;\n"}).size(), 1u);
  EXPECT_EQ(check_bans({"suites/a.cpp", "std::mutex m;\n"}).size(), 0u);
}

TEST(TidyRules, LongFilesAndLinesAreFound) {
  EXPECT_EQ(check_sizes({"cli/a.cpp", std::string(600, '\n')}).size(), 0u);
  EXPECT_EQ(check_sizes({"cli/a.cpp", std::string(601, '\n')}).size(), 1u);
  EXPECT_EQ(check_sizes({"tests/a.cpp", std::string(800, '\n')}).size(), 0u);
  EXPECT_EQ(check_sizes({"tests/a.cpp", std::string(801, '\n')}).size(), 1u);
  EXPECT_EQ(check_sizes({"cli/a.cpp", std::string(121, 'x') + "\n"}).size(), 1u);
}

TEST(TidyRules, CrowdedDirectoriesAreFound) {
  const auto found = [](const std::string& folder, int files) {
    std::vector<std::string> paths{folder + "deeper/a.h"};
    for (int i = 0; i < files; ++i) paths.push_back(folder + std::to_string(i) + ".h");
    return check_crowding(paths).size();
  };
  EXPECT_EQ(found("cli/", 30), 0u);
  EXPECT_EQ(found("cli/", 31), 1u);
  EXPECT_EQ(found("results/published/run/", 31), 0u);
}

TEST(TidyRules, ComparisonsOfTextsForPeopleAreFound) {
  const auto found = [](const std::string& code) { return check_texts({"cli/a.cpp", code + ";\n"}).size(); };
  for (const char* bad : {"if (record.failure.text == \"x\") f()", "return failure_->text.starts_with(\"rank\")",
                          "return launched.reason == \"rank 0 failed: \" + error",
                          "return row.record.reason.find(\"as the scenario says\") != npos",
                          "if (warning.starts_with(\"fault never came: \")) f()", "return warning == kOversubscribed",
                          "return kOversubscribed == warning", "return reason_ == death_.text",
                          "return error != death_.text", "if (note.starts_with(\"untuned: \")) f()",
                          "return std::find(warnings.begin(), warnings.end(), \"no steady window\")",
                          "return in_words(warning).substr(0, 3)", "return what_happened(failure) == old",
                          "return std::regex_search(failure.text, kWords)", "auto mark = warning.text.substr(0, 9)"}) {
    EXPECT_EQ(found(bad), 1u) << bad;
  }
  for (const char* good : {"if (failure.kind == FailureKind::kScenario) f()", "if (failure.text.empty()) f()",
                           "return warning.kind != WarningKind::kNotSteady", "return kind == WarningKind::kOther",
                           "const std::string reason = failure.text", "if (protocol.note == nullptr) f()",
                           "// reason == what was said", "f(\"warning == x\")", "return places_.find(reason)",
                           "return known == reasons_.end()", "return value.text == \"sim\""}) {
    EXPECT_EQ(found(good), 0u) << good;
  }
  const std::string bad = "bool b = failure.text == x;\n";
  EXPECT_EQ(check_texts({"results/files/older_rows.cpp", bad}).size(), 0u);
  EXPECT_EQ(check_texts({"tests/a_test.cpp", bad}).size(), 0u);
}

TEST(TidyRules, LongProtocolsAndForeignHeadersAreFound) {
  const auto found = [](const std::string& path, const std::string& text) {
    return check_protocol({path, text}).size();
  };
  EXPECT_EQ(found("protocols/hop/hop.cpp", std::string(150, '\n')), 0u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", std::string(151, '\n')), 1u);
  EXPECT_EQ(found("protocols/server/shard.h", std::string(151, '\n')), 1u);
  EXPECT_EQ(found("protocols/node/node.cpp", std::string(151, '\n')), 0u);
  EXPECT_EQ(found("cli/app.cpp", std::string(151, '\n')), 0u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include <algorithm>\n#include \"backends/base/vec.h\"\n"), 0u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include \"protocols/node/node.h\"\n"), 0u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include \"backends/base/record/rank_record.h\"\n"), 1u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include \"backends/base/record/event.h\"\n"), 1u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include \"models/workload.h\"\n"), 1u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "#include <fmt/format.h>\n"), 1u);
}

TEST(TidyRules, PrivateNamesOutsideTheNamespaceOfTheirFileAreFound) {
  const auto found = [](const std::string& path, const std::string& text) {
    return check_private({path, text}).size();
  };
  EXPECT_EQ(found("protocols/hop/tokens.cpp", "namespace hopbench::hop {\nnamespace tokens {\nint n = 0;\n"), 0u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "namespace hopbench::hop::hop {\nint n = 0;\n"), 0u);
  EXPECT_EQ(found("protocols/hop/tokens.cpp", "namespace hopbench::hop {\nnamespace {\n"), 1u);
  EXPECT_EQ(found("protocols/hop/tokens.cpp", "namespace hopbench::hop::hop {\nnamespace {\n"), 1u);
  EXPECT_EQ(found("protocols/hop/hop.cpp", "namespace hopbench {\nstatic int n = 0;\n"), 1u);
  EXPECT_EQ(found("protocols/node/node.cpp", "namespace hopbench {\nnamespace {\n"), 0u);
  EXPECT_EQ(found("protocols/hop/hop.h", "namespace hopbench {\n"), 0u);
  const std::string tokens =
      "namespace hopbench::hop {\nnamespace tokens {\nint n() { return 1; }\n}  // namespace tokens\n";
  EXPECT_EQ(found("protocols/hop/tokens.cpp", tokens + "int m() { return 1; }\n"), 1u);
  EXPECT_EQ(found("protocols/hop/tokens.cpp", tokens + "int m() { return tokens::n(); }\n"), 0u);
}

TEST(TidyRules, TheMedianIsOfCodeInFilesThatBringAProtocol) {
  const auto of = [](int lines) {
    std::string text = "const Protocol& a_protocol() {\n";
    for (int i = 1; i < lines; ++i) text += "  f();\n\n  // why\n";
    return Source{"protocols/a.cpp", text};
  };
  EXPECT_EQ(check_median({of(10), of(89), of(140)}).size(), 0u);
  EXPECT_EQ(check_median({of(10), of(90), of(140)}).size(), 1u);
  EXPECT_EQ(check_median({of(10), of(140)}).size(), 1u);
  EXPECT_EQ(check_median({of(10), of(90), of(140), {"protocols/piece.h", "int f();\n"}}).size(), 1u);
}

TEST(TidyRules, CopiesAreFoundThoughCommentsAndBracesDiffer) {
  const std::string five = "int a = 1;\nfor (;;) {\n  f(a);\n}\ng(a);\nh(a, \"b\");\n";
  const auto found = [](const std::string& one, const std::string& two) {
    return check_copies({{"protocols/a.cpp", one}, {"protocols/b.cpp", two}}).size();
  };
  EXPECT_EQ(found(five + "i();\n", five + "i();\n"), 1u);
  EXPECT_EQ(found(five + "i();\n", "// as there\n" + five + "}\n\n#include <map>\n  i();  // here\n"), 1u);
  EXPECT_EQ(found(five + "i();\n", five + "j();\n"), 0u) << "five are not six";
  EXPECT_EQ(found(five + "i(\"x\");\n", five + "i(\"y\");\n"), 0u) << "other words";
  const std::string braces = "}\n}\n}\n}\n});\n};\n}\n";
  EXPECT_EQ(found(braces, braces), 0u);
  EXPECT_EQ(check_copies({{"protocols/a.cpp", five + "i();\nz();\n" + five + "i();\n"}}).size(), 1u) << "in one file";
  EXPECT_EQ(check_copies({{"cli/a.cpp", five + "i();\n"}, {"cli/b.cpp", five + "i();\n"}}).size(), 0u);
}

TEST(TidyRules, TypesOfOneNameAreFound) {
  const std::string one =
      "namespace hopbench {\n/// One.\nstruct Exchange {\n  int n = 0;\n};\n}  // namespace hopbench\n";
  const auto found = [&](const std::string& other) {
    return check_names({{"protocols/a.h", one}, {"backends/b.cpp", other}});
  };
  const std::string begin = "#include <map>\nnamespace hopbench {\n", end = "}\n";
  for (const char* same : {"class Exchange final : public A<int> {\n  virtual ~Exchange() = default;\n};\n",
                           "enum class Exchange : char { kA };\n", "union Exchange { int a; };\n",
                           "int f() { return 1; }\ntemplate <class T>\nstruct alignas(64) Exchange {};\n"}) {
    EXPECT_EQ(found(begin + same + end).size(), 1u) << same;
  }
  EXPECT_EQ(
      found(begin + "struct Exchange {};\n" + end).at(0).find("backends/b.cpp:3: hopbench::Exchange is defined in "),
      0u);
  for (const char* other :
       {"class Exchange;\n", "namespace {\nstruct Exchange {};\n}\n", "struct A {\n  struct Exchange {};\n};\n",
        "namespace gossip {\nstruct Exchange {};\n}\n", "Exchange f(struct Exchange x) {\n  return x;\n}\n",
        "void f() {\n  struct Exchange {};\n}\n", "// struct Exchange {\n", "Exchange exchange = {};\n",
        "template <class Exchange>\nvoid f(Exchange x) {}\n"}) {
    EXPECT_EQ(found(begin + other + end).size(), 0u) << other;
  }
}

TEST(TidyRules, FragmentsAreFoundWhereCommentsBegin) {
  const auto found = [](const std::string& text) { return check_openings({"cli/a.h", text}).size(); };
  EXPECT_EQ(found("/// Of the workers.\nint n;\n"), 1u);
  EXPECT_EQ(found("\t// What it costs.\n"), 1u);
  EXPECT_EQ(found(std::string("int n;  /") + "/ Whether it is there\n"), 1u);
  EXPECT_EQ(found("/// Returns it. Is kept\n/// As long as it lives.\n"), 0u) << "within a comment";
  EXPECT_EQ(found("/// Office hours.\nint n;  // of the workers\n"), 0u);
  EXPECT_EQ(check_openings({"docs/a.md", "// Of the workers.\n"}).size(), 0u);
}

TEST(TidyRules, PromisesAreFound) {
  EXPECT_EQ(check_promises({"cli/a.cpp", std::string("// TO") + "DO: later\n"}).size(), 1u);
  EXPECT_EQ(check_promises({"cli/a.cpp", "// todo lists are fine, and so is TODOS\n"}).size(), 0u);
}

}  // namespace
}  // namespace hopbench::tidy
