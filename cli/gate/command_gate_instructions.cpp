// `hopbench gate --instructions FILE`, tier T1, counts the instructions of the hot paths. A count is nearly free of
// noise and shows what a stopwatch on a shared machine cannot. It does not show the cost of caches or of waiting.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/gate/gate.h"
#include "cli/outputs.h"
#include "cli/run.h"
#include "results/files/context.h"
#include "results/files/files.h"
#include "results/files/record_json.h"
#include "suites/campaign/install_paths.h"

namespace hopbench {
namespace {

using Json = nlohmann::json;

constexpr double kSmallest = 0.02;  // machines' counts differ a little, since memcpy is chosen by the processor

struct HotPath {
  std::string name;
  std::vector<std::string> words;
};

/// Returns the paths that cost CPU time in a run. Each takes a second or two under callgrind.
std::vector<HotPath> hot_paths(const TemporaryFolder& folder) {
  return {{"messages, an incast and Hop in virtual time",
           {"bench", "sim", "-r", "1", "--ranks", "16", "--incast", "64", "-n", "4000", "--workers", "16",
            "--iterations", "20"}},
          {"a suite to its trials", {"run", find_suite("suites/all_protocols.toml"), "--list"}},
          {"gradients and steps of a quadratic",
           {"bench", "losses", "quadratic", "--backend", "reference", "--steps", "50", "-o", folder / "quadratic"}},
          {"gradients and steps of a multilayer perceptron",
           {"bench", "losses", "mlp", "--backend", "reference", "--steps", "2", "--batch", "4", "-o", folder / "mlp"}}};
}

/// Returns the number of instructions of this program with these words. Error(kTrialsFailed) if it fails.
double instructions_of(const HotPath& path, const TemporaryFolder& folder) {
  const std::string log = folder / "log";
  std::string command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file=" + shell_word(log) + " " +
                        shell_word(std::filesystem::read_symlink("/proc/self/exe").string());
  for (const std::string& word : path.words) command += " " + shell_word(word);
  const int status = std::system((command + " >/dev/null 2>&1").c_str());
  const std::string said = read_file(log).value_or(""), mark = "Collected : ";
  const std::size_t at = said.rfind(mark);
  if (status != 0 || at == std::string::npos) throw trial_error(command + " failed: " + said);
  return std::stod(said.substr(at + mark.size()));
}

/// Returns the counts by name.
std::vector<std::pair<std::string, double>> count_all() {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, double>> counts;
  for (const HotPath& path : hot_paths(folder)) counts.emplace_back(path.name, instructions_of(path, folder));
  return counts;
}

/// Returns what the counts depend on, in words: the compiler and the flags that change code.
std::string build_of(const Json& build) {
  const auto text = [&](const char* key) { return build.value(key, std::string()); };
  return fmt::format("{}, {}, {}", text("compiler"), text("build_type"), code_flags(text("flags")));
}

GateRow judged(const std::string& name, std::optional<double> base, double head) {
  const double speed_up = base ? *base / head : std::nan("");
  GateRow row{name, "instructions", Verdict::kNew, 1, base.value_or(std::nan("")), head, speed_up, {}, {}, kSmallest};
  if (base) row.verdict = head == *base ? Verdict::kNoChange : judged_change(speed_up, {}, kSmallest);
  return row;
}

GateRow without_count(const std::string& name, Verdict verdict, double base, std::vector<std::string> why) {
  return {name, "instructions", verdict, 0, base, std::nan(""), std::nan(""), {}, std::move(why)};
}

}  // namespace

bool have_valgrind() { return std::system("valgrind --version >/dev/null 2>&1") == 0; }

void record_instructions(const std::string& file) {
  Json counts = Json::object();
  for (const auto& [name, count] : count_all()) counts[name] = count;
  const Json build = Json::parse(context_json({})).at("hopbench");
  const Json all{{"schema_version", kSchemaVersion},
                 {"build",
                  {{"compiler", build.at("compiler")},
                   {"build_type", build.at("build_type")},
                   {"flags", code_flags(build.at("flags").get<std::string>())}}},
                 {"instructions", counts}};
  put(file, all.dump(1) + "\n");
}

GateResult run_instructions_gate(const std::string& file) {
  const Json base = Json::parse(read_file(file).value_or(""), nullptr, false);
  if (!base.is_object() || !base.contains("instructions") || !base.contains("build") || !base["build"].is_object()) {
    throw usage_error(file +
                      " holds no counts of instructions: hopbench gate --instructions FILE --record writes them");
  }
  const std::string then = build_of(base["build"]), now = build_of(Json::parse(context_json({})).at("hopbench"));
  GateResult result{"counts", file, "this program", {}, {}};
  const Json& counts = base["instructions"];
  if (then != now) {
    for (const auto& [name, count] : counts.items())
      result.rows.push_back(without_count(name, Verdict::kIncomparable, count.get<double>(),
                                          {fmt::format("counted in another build: {}; {}", then, now)}));
    return result;
  }
  std::vector<std::string> seen;
  for (const auto& [name, count] : count_all()) {
    const auto before = counts.contains(name) ? std::optional(counts[name].get<double>()) : std::nullopt;
    result.rows.push_back(judged(name, before, count));
    seen.push_back(name);
  }
  for (const auto& [name, count] : counts.items()) {
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    result.rows.push_back(without_count(name, Verdict::kMissing, count.get<double>(), {}));
  }
  return result;
}

}  // namespace hopbench
