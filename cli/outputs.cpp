#include "cli/outputs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "backends/base/json_value.h"
#include "cli/tell.h"
#include "results/csv.h"
#include "results/json.h"
#include "results/junit.h"
#include "results/table.h"

namespace hopbench {
namespace {

constexpr const char* kCalibrations = "calibration.json";

// The tables of one run share most of their notes: each is said below the first table that it belongs to.
std::vector<Grid> said_once(std::vector<Grid> grids) {
  std::set<std::string> said;
  for (Grid& grid : grids) {
    std::erase_if(grid.notes, [&](const std::string& note) { return !said.insert(note).second; });
  }
  return grids;
}

std::string whole_path(const std::filesystem::path& path) {
  std::error_code ignored;  // a path too long, say: it will not open either
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored).string();
}

std::string run_junit(const std::vector<TrialRow>& rows) {
  std::vector<TestCase> cases;
  for (const TrialRow& row : rows) {
    const TestCase::End end = row.record.status == TrialStatus::kOk            ? TestCase::End::kPassed
                              : row.record.status == TrialStatus::kInterrupted ? TestCase::End::kSkipped
                                                                               : TestCase::End::kFailed;
    cases.push_back({end, "hopbench." + row.labels.suite, row.record.id, to_string(row.record.status),
                     row.record.reason, row.record.wall_s});
  }
  return junit_xml("hopbench run", cases);
}

bool to_stdout(const std::optional<std::string>& where) { return where && *where == "-"; }

// Returns a note if vector operations take more than a tenth of the reference's time at the default rate, else "".
std::string vector_rate_note(const Suite& suite, const std::vector<TrialRow>& rows) {
  constexpr double kMuch = 0.1;
  std::map<std::string, const TrialSpec*> by_default;
  for (const TrialSpec& spec : suite.trials) {
    const bool counts = spec.default_vector_rate && spec.transport == "sim" && spec.label == suite.reference;
    if (counts) by_default[spec.id()] = &spec;
  }
  double most = 0, rate = 0;
  for (const TrialRow& row : rows) {
    const auto spec = by_default.find(row.record.id);
    if (spec == by_default.end() || row.record.status != TrialStatus::kOk || row.record.time_s <= 0) continue;
    double operations = 0;
    for (const RankRecord& rank : row.record.ranks) operations += rank.server ? 0 : to_seconds(rank.vector_ops);
    most = std::max(most, operations / (row.record.time_s * spec->second->workers()));
    rate = spec->second->costs.vector_bytes_per_s;
  }
  if (most <= kMuch) return "";
  return fmt::format(
      "vector operations take up to {:.0f} % of the time of {}, at the default compute.vector_rate of {:.3g} GB/s, a "
      "CPU core's: set it to \"a100\", \"h100\" or a rate, or to \"cpu\" if that is meant",
      100 * most, suite.reference, rate / 1e9);
}

}  // namespace

void put(const std::optional<std::string>& where, const std::string& text) {
  if (!where) return;
  if (*where == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
      throw environment_error("cannot write to standard output: is it closed, or the disk full?");
    }
    return;
  }
  std::ofstream file(*where, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw environment_error("cannot write " + *where + ": is the folder there and the disk not full?");
}

void append_github_summary(const std::string& text) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') {
    throw usage_error("--github-summary: $GITHUB_STEP_SUMMARY is not set: it is where GitHub Actions reads summaries");
  }
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text;
  file.close();
  if (!file) throw environment_error(std::string("cannot write ") + path + ": $GITHUB_STEP_SUMMARY names it");
}

void check_outputs(const RunOptions& options) {
  if (to_stdout(options.json) + to_stdout(options.csv) + to_stdout(options.markdown) > 1) {
    throw usage_error(
        "of --json, --csv and --markdown only one fits standard output: give the others a file, --csv=FILE");
  }
  const std::optional<std::string> junit = options.junit.empty() ? std::nullopt : std::optional(options.junit);
  std::set<std::string> files;
  for (const std::string& suite : options.suites) files.insert(whole_path(suite));
  for (const auto& [flag, where] : {std::pair{"--json", options.json}, std::pair{"--csv", options.csv},
                                    std::pair{"--markdown", options.markdown}, std::pair{"--junit", junit}}) {
    if (!where || *where == "-") continue;
    const std::filesystem::path path(*where), folder = path.has_parent_path() ? path.parent_path() : ".";
    if (!std::filesystem::is_directory(folder)) {
      throw usage_error(fmt::format("{}={}: there is no folder {}: make it first", flag, *where, folder.string()));
    }
    const bool there = std::filesystem::exists(path), plain = !there || std::filesystem::is_regular_file(path);
    if (plain && !files.insert(whole_path(path)).second) {
      throw usage_error(fmt::format("{}={}: that file is the suite or another flag's: name another", flag, *where));
    }
    if (std::filesystem::is_directory(path) || access((there ? path : folder).c_str(), W_OK) != 0) {
      throw usage_error(fmt::format("{}={}: cannot be written: name another file", flag, *where));
    }
  }
}

void Outputs::add(const Suite& suite, const RunFolder& folder) {
  std::string markdown, text;
  for (const Grid& grid : said_once(summarise(folder.rows(), suite.reference))) {
    markdown += to_markdown(grid) + "\n";
    text += to_text(grid, options_.colour) + "\n";
  }
  std::vector<std::string> notes = suite.notes;
  if (const std::string note = vector_rate_note(suite, folder.rows()); !note.empty()) notes.push_back(note);
  for (const std::string& note : notes) {
    markdown += "- " + note + "\n";
    text += note + "\n";
  }
  folder.write_text("summary.md", markdown);
  markdown_ += markdown;
  rows_.insert(rows_.end(), folder.rows().begin(), folder.rows().end());
  if (context_.empty()) context_ = folder.context_json();
  // A machine-readable form on standard output stands there alone.
  if (!options_.tables || to_stdout(options_.json) || to_stdout(options_.csv) || to_stdout(options_.markdown) ||
      broken_)
    return;
  try {
    put("-", text);
  } catch (const Error& error) {
    broken_ = error;  // said at the end: the suites that are left run all the same
  }
}

void Outputs::write() const {
  put(options_.json, run_to_json(rows_, context_));
  put(options_.csv, trials_csv(rows_));
  put(options_.markdown, markdown_);
  if (!options_.junit.empty()) put(options_.junit, run_junit(rows_));
  if (options_.github_summary) append_github_summary(markdown_);
  if (broken_) throw *broken_;
}

void tell_cut_off(const std::string& folder, std::size_t trials) {
  tell(
      fmt::format("{}/trials.jsonl ends in the middle of a line: {} trials are left: was the run ended, or the file "
                  "cut? hopbench run --resume {} runs what is missing\n",
                  folder, trials, folder));
}

RunFolder open_run(const std::string& folder) {
  RunFolder run = RunFolder::open(folder);
  if (run.cut_off()) tell_cut_off(folder, run.rows().size());
  return run;
}

void check_free(const std::string& folder) {
  if (std::filesystem::exists(folder + "/trials.jsonl")) {
    throw usage_error(folder + " holds a run already: go on with it by --resume " + folder +
                      " or choose another with -o");
  }
}

std::string maker_of(const std::string& context_json) {
  const nlohmann::json context = nlohmann::json::parse(context_json, nullptr, false);
  if (!context.is_object() || !context.contains("hopbench")) return "unknown";
  const nlohmann::json& hopbench = context.at("hopbench");
  const auto text = [&](const char* name) {
    return hopbench.is_object() && hopbench.contains(name) && hopbench[name].is_string()
               ? hopbench[name].get<std::string>()
               : std::string();
  };
  return text("version") + " " + text("commit").substr(0, 12);
}

std::string new_folder_name() {
  std::time_t now = std::time(nullptr);
  return fmt::format("hopbench-results/{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(now), getpid());
}

std::vector<Calibrated> read_calibrations(const RunFolder& folder) {
  std::ifstream file(folder.path() + "/" + kCalibrations);
  if (!file) return {};
  std::vector<Calibrated> all;
  const nlohmann::json list = nlohmann::json::parse(file, nullptr, false);
  if (!list.is_array()) return {};
  try {
    for (const nlohmann::json& c : list) {
      all.push_back({c.at("key"), Duration{integer_of<std::int64_t>(c.at("cost_ns"))},
                     Duration{integer_of<std::int64_t>(c.at("step_p99_ns"))}, c.at("vector_bytes_per_s")});
    }
  } catch (const std::exception& error) {
    throw usage_error(fmt::format("{}/{} is damaged: {}: remove it, and the run calibrates again", folder.path(),
                                  kCalibrations, error.what()));
  }
  return all;
}

void write_calibrations(const RunFolder& folder, const std::vector<Calibrated>& calibrations) {
  if (calibrations.empty()) return;
  nlohmann::json list = nlohmann::json::array();
  for (const Calibrated& c : calibrations) {
    list.push_back({{"key", c.key},
                    {"cost_ns", c.cost.count()},
                    {"step_p99_ns", c.step_p99.count()},
                    {"vector_bytes_per_s", c.vector_bytes_per_s}});
  }
  folder.write_text(kCalibrations, list.dump(1) + "\n");
}

}  // namespace hopbench
