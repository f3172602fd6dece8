// The commands that only tell: list, validate, env, version, completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/compute/backend.h"
#include "cli/commands.h"
#include "models/datasets/dataset_path.h"
#include "tests/results/results_samples.h"

namespace hopbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// A command's output and its exit code.
struct Said {
  int code = 0;
  std::string out, err;
};

template <class Command>
Said run(Command command) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.code = command();
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

Said list(const std::string& what, bool verbose = false, bool json = false) {
  return run([&] { return command_list({what, verbose, json}); });
}

TEST(List, ShowsEveryRegistryAsTextAndAsJson) {
  for (const std::string& what : listable()) {
    if (what == "suites") continue;  // those of the folder the test happens to run in
    const Said text = list(what), verbose = list(what, true), json = list(what, false, true);
    EXPECT_EQ(text.code, 0) << what;
    EXPECT_FALSE(text.out.empty()) << what;
    EXPECT_GE(verbose.out.size(), text.out.size()) << what;
    const auto parsed = nlohmann::json::parse(json.out);
    ASSERT_FALSE(parsed.at(what).empty()) << what;
    for (const auto& item : parsed.at(what)) {
      EXPECT_TRUE(item.contains("name") && item.contains("summary") && item.contains("available")) << what;
    }
  }
}

TEST(List, ShowsKnobsWithDefaultRangeMeaningAndSource) {
  EXPECT_THAT(list("protocols").out, AllOf(HasSubstr("hop "), Not(HasSubstr("max_ig"))));
  EXPECT_THAT(
      list("protocols", true).out,
      AllOf(HasSubstr("max_ig = "), HasSubstr("the same parameters on every transport"), HasSubstr("rests on: ")));
  const auto protocols = nlohmann::json::parse(list("protocols", false, true).out).at("protocols");
  for (const auto& protocol : protocols) {
    if (protocol.at("name") != "hop") continue;
    for (const auto& knob : protocol.at("knobs")) {
      if (knob.at("name") == "max_ig") {
        EXPECT_TRUE(knob.contains("low") && knob.contains("meaning") && knob.contains("source"));
        return;
      }
    }
  }
  ADD_FAILURE() << "hop with its max_ig is not listed";
}

TEST(List, SaysWhyABackendIsUnavailable) {
  const auto backends = nlohmann::json::parse(list("backends", false, true).out).at("backends");
  for (const auto& backend : backends) EXPECT_NE(backend.at("available").get<bool>(), backend.contains("unavailable"));
  EXPECT_THAT(list("transports").out, HasSubstr("sim"));
}

TEST(List, SaysWhatModelsReadAndHowDataAreFetched) {
  const Variable nowhere("XDG_DATA_HOME", "/nowhere");  // what a list says of data sets that are not here
  EXPECT_THAT(list("models", true).out,
              AllOf(HasSubstr("reads no data\n    data set: none\n"), HasSubstr("data set: cifar10\n")));
  if (std::filesystem::exists(find_dataset("mnist").default_path))
    GTEST_SKIP() << "mnist was fetched, and another test asked where before";
  EXPECT_THAT(list("datasets").out, HasSubstr(callable(find_dataset("mnist").get)));
}

TEST(List, SuggestsWhatWasMeant) {
  try {
    command_list({"protocol", false, false});
    FAIL() << "an unknown list was printed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Did you mean 'protocols'?"));
  }
}

constexpr const char* kSuite = R"(schema = 1
name = "small"
summary = "a small one"
[run]
world_size = 4
repeats = 2
iterations = 5
[model]
name = "quadratic"
[compute]
backend = "reference"
pace = "10ms"
[transport]
name = "sim"
[[protocol]]
name = "allreduce"
)";

TEST(Validate, CountsTheTrialsOfARightSuite) {
  const Folder folder;
  folder.write("a.toml", kSuite);
  const std::string file = folder / "a.toml";
  const Said said = run([&] { return command_validate({{file}, {}}); });
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, file + ": ok: 2 trials\n");
}

TEST(Validate, TellsEveryMistakeWithItsPlaceAndGoesOn) {
  const Folder folder;
  folder.write("a.toml", std::string(kSuite) + "bacth = 3\n[topology]\nname = \"rign\"\n");
  folder.write("b.toml", kSuite);
  const std::string a = folder / "a.toml", b = folder / "b.toml";
  const Said said = run([&] { return command_validate({{a, b}, {}}); });
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.out, b + ": ok: 2 trials\n");
  EXPECT_THAT(said.err, AllOf(HasSubstr(a + ":17:"), HasSubstr("bacth"), HasSubstr(a + ":19:"), HasSubstr("rign")));
}

TEST(Validate, AMissingFileIsNamed) {
  const Said said = run([&] { return command_validate({{"no/such.toml"}, {}}); });
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.err, HasSubstr("no/such.toml"));
}

TEST(Validate, AMissingBackendIsTheEnvironmentsFault) {
  const Folder folder;
  folder.write("a.toml", kSuite);
  SuiteOptions options;
  options.sets = {"compute.backend=\"cuda\""};
  for (const BackendEntry& entry : backends()) {
    if (entry.name == std::string("cuda") && entry.unavailable().empty()) GTEST_SKIP() << "cuda is there";
  }
  const Said said = run([&] { return command_validate({{folder / "a.toml"}, options}); });
  EXPECT_EQ(said.code, 6) << said.err;
  EXPECT_THAT(said.err, HasSubstr("cuda"));
}

TEST(Env, TheFirstLauncherVariableThatIsSetCounts) {
  ::setenv("SLURM_PROCID", "7", 1);
  ::setenv("RANK", "3", 1);
  const auto rank = launcher_values().front();
  EXPECT_EQ(rank.quantity, "rank");
  EXPECT_THAT(rank.seen, ElementsAre("RANK=3", "SLURM_PROCID=7"));
  const Said said = run([] { return command_env({}); });
  EXPECT_THAT(said.out, AllOf(HasSubstr("RANK=3, not SLURM_PROCID=7"), HasSubstr("backends"), HasSubstr("gloo")));
  ::unsetenv("SLURM_PROCID");
  ::unsetenv("RANK");
}

TEST(Version, IsOneLineWithTheCommit) {
  const Said said = run([] { return command_version({}); });
  EXPECT_EQ(said.out, version_line() + "\n");
  EXPECT_THAT(said.out, StartsWith("hopbench "));
}

// --- Completion

const std::vector<std::vector<std::string>> kCommands{
    {"run", "--set", "--filter", "--seed", "--strands"}, {"list", "--verbose", "--json"}, {"completion", "--help"}};

std::vector<std::string> complete(const std::vector<std::string>& words) { return completions(words, kCommands); }

TEST(Completion, OffersCommandsThenFlagsThenArguments) {
  EXPECT_THAT(complete({""}), ElementsAre("run", "list", "completion"));
  EXPECT_THAT(complete({}), ElementsAre("run", "list", "completion"));
  EXPECT_THAT(complete({"l"}), ElementsAre("list"));
  EXPECT_THAT(complete({"run", "--s"}), ElementsAre("--set", "--seed", "--strands"));
  EXPECT_THAT(complete({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(complete({"list", "pro"}), ElementsAre("protocols"));
  EXPECT_THAT(complete({"--color", "always", "completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(complete({"unknown", "x"}), IsEmpty());
}

TEST(Completion, KnowsWhatFollowsAFlag) {
  EXPECT_THAT(complete({"run", "--strands", ""}), ElementsAre("fibers", "threads"));
  EXPECT_THAT(complete({"run", "--filter", "ho"}), Contains("hop"));
  EXPECT_THAT(complete({"run", "--set", "run.world"}), ElementsAre("run.world_size="));
  EXPECT_THAT(complete({"run", "--seed", ""}), IsEmpty());
  EXPECT_THAT(complete({"run", "-o", ""}), IsEmpty());  // the shell completes folders
}

TEST(Completion, OffersTheSuitesOfTheShippedFolder) {
  const Folder folder;
  folder.write("suites/a b.toml", "");
  folder.write("suites/papers/c.toml", "");
  folder.write("suites/notes.txt", "");
  ::setenv("HOPBENCH_ROOT", folder.path().c_str(), 1);
  const auto found = complete({"run", folder.path()});
  ::unsetenv("HOPBENCH_ROOT");
  EXPECT_THAT(found, UnorderedElementsAre(folder / "suites/a b.toml", folder / "suites/papers/c.toml"));
}

TEST(Completion, BashScriptAsksTheCommandItCompletes) {
  const Folder folder;
  const Said script = run([] { return command_completion({"bash"}); });
  folder.write("script", script.out);
  // Stands for hopbench: prints its words, one in brackets each, and what bash must not expand.
  folder.write("fake", "#!/bin/sh\nprintf '[%s]' \"$@\"; printf '\\n$(touch expanded) *\\n'\n");
  const std::string fake = folder / "fake";
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const std::string command = "cd '" + folder.path() + "' && bash -c 'source ./script; COMP_WORDS=(" + fake +
                              " run \"a b\" \"\"); COMP_CWORD=3; _hopbench " + fake +
                              "; printf \"%s\\n\" \"${COMPREPLY[@]}\"' > out 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(text_of(folder / "out"), "[__complete][run][a b][]\n$(touch expanded) *\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "expanded"));
}

TEST(Completion, HasAScriptForEachShell) {
  EXPECT_THAT(run([] { return command_completion({"zsh"}); }).out, StartsWith("#compdef hopbench"));
  EXPECT_THAT(run([] { return command_completion({"fish"}); }).out, HasSubstr("complete -c hopbench"));
}

}  // namespace
}  // namespace hopbench
