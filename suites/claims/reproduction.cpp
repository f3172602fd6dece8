#include "suites/claims/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/files/columns.h"
#include "results/files/files.h"
#include "results/files/outcome.h"
#include "results/files/run_folder.h"
#include "results/judge/baseline.h"
#include "suites/campaign/install_paths.h"
#include "suites/language/document.h"

namespace hopbench {
namespace {

namespace fs = std::filesystem;

/// Returns the folders with an expected.toml, in ./suites/papers and in those that come with the program.
std::vector<std::string> paper_folders() {
  std::vector<std::string> roots{"suites/papers"}, folders;
  std::error_code none;
  for (const std::string& root : data_roots()) {
    if (!fs::equivalent(root + "/suites/papers", roots[0], none)) roots.push_back(root + "/suites/papers");
  }
  for (const std::string& root : roots) {
    for (fs::directory_iterator at(root, none), end; at != end; at.increment(none)) {
      if (fs::exists(at->path() / "expected.toml")) folders.push_back(at->path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Returns `asked`. If that is empty, returns the profile that gave the suite in a run's folder, or "full" if none did.
std::string profile_in(const std::string& folder, const std::string& suite, const std::string& asked) {
  const std::optional<std::string> resolved = read_file(folder + "/suite.toml");
  if (!asked.empty() || !resolved) return asked.empty() ? "full" : asked;
  for (const std::string& profile : paper_profiles()) {
    try {
      if (load_suite(suite, options_of_profile(profile)).resolved == *resolved) return profile;
    } catch (const Error&) {  // its data is not here, but the results are, and can be judged
    }
  }
  return "full";
}

/// Returns the rows of a run of this suite; none if the folder holds no such run.
std::vector<Outcome> outcomes_in(const std::string& folder, const std::string& suite) {
  if (!fs::exists(folder + "/trials.jsonl") && !fs::exists(folder + "/trials.csv")) return {};
  std::vector<Outcome> outcomes = load_results(folder, kBaselines).outcomes;
  std::erase_if(outcomes, [&](const Outcome& row) { return row.text("suite") != suite; });
  if (const std::optional<std::string> ranks = read_file(folder + "/ranks.csv")) add_largest_of_ranks(outcomes, *ranks);
  return outcomes;
}

}  // namespace

std::vector<Paper> all_papers() {
  std::vector<Paper> papers;
  for (const std::string& folder : paper_folders()) papers.push_back(load_paper(folder));
  return papers;
}

Paper paper_called(const std::string& name) {
  if (fs::exists(name + "/expected.toml"))
    return load_paper(name.ends_with('/') ? name.substr(0, name.size() - 1) : name);
  for (const std::string& folder : paper_folders()) {
    if (fs::path(folder).filename() == name) return load_paper(folder);
  }
  const std::vector<std::string> names = paper_names();
  const std::string known = names.empty() ? "none are here" : "there are " + join(names, ", ");
  throw usage_error(fmt::format("there is no paper '{}': {}.{}", name, known, did_you_mean(name, names)));
}

std::vector<std::string> paper_names() {
  std::vector<std::string> names;
  for (const std::string& folder : paper_folders()) names.push_back(fs::path(folder).filename().string());
  return names;
}

std::vector<std::string> files_of(const Paper& paper) {
  std::vector<std::string> files{paper.folder + "/expected.toml"};
  for (const PaperSuite& suite : paper.suites) files.push_back(paper.folder + "/" + suite.file);
  return files;
}

std::string folder_of(const Reproduction& to, const std::string& suite) {
  return to.folder + "/" + safe_file_name(suite);
}

std::vector<const Claim*> Reproduction::claims_of(const std::string& suite) const {
  std::vector<const Claim*> chosen;
  for (const Claim& claim : paper.claims) {
    const bool asked = options.claims.empty() || std::count(options.claims.begin(), options.claims.end(), claim.id) > 0;
    if (asked && claim.suite == suite) chosen.push_back(&claim);
  }
  return chosen;
}

void Reproduction::add(const Claim& claim, const std::string& with_profile, const std::string& not_run,
                       double minutes) {
  if (!claim.expects.contains(with_profile)) return;
  judged.push_back({.paper = paper.name,
                    .profile = with_profile,
                    .command = command_of(paper, claim, with_profile),
                    .caption = {},
                    .claim = claim,
                    .finding = {},
                    .not_run = not_run,
                    .minutes = minutes});
}

void Reproduction::judge_all(const PaperSuite& suite, const std::vector<Outcome>& outcomes,
                             const std::string& with_profile, double minutes) {
  const std::string caption = caption_of(outcomes);
  for (const Claim* claim : claims_of(suite.file)) {
    const std::size_t before = judged.size();
    add(*claim, with_profile, "", minutes);
    if (judged.size() == before) continue;
    judged.back().caption = caption;
    try {
      judged.back().finding = judge(*claim, outcomes);
    } catch (const Error& error) {
      if (options.from.empty()) throw;
      judged.back().not_run = error.what();  // a part of these results is missing
    }
  }
}

void check_metrics(const Paper& paper) {
  std::vector<std::string> columns;
  for (const Column& column : hopbench::columns()) {
    if (column.table == std::string_view() || column.table == std::string_view("trials.csv"))
      columns.emplace_back(column.name);
  }
  Mistakes mistakes;
  for (std::size_t i = 0; i < paper.claims.size(); ++i) {
    const std::string& metric = paper.claims[i].metric;
    if (metric.starts_with("ranks.") || std::count(columns.begin(), columns.end(), metric) > 0) continue;
    mistakes.add(paper.places[i], unknown("metric", metric, columns));
  }
  mistakes.throw_if_any();
}

void check_ids(const ClaimChoice& options, const Paper& paper) {
  std::vector<std::string> ids;
  for (const Claim& claim : paper.claims) ids.push_back(claim.id);
  for (const std::string& id : options.claims) {
    if (std::count(ids.begin(), ids.end(), id) > 0) continue;
    throw usage_error(
        fmt::format("{} has no claim '{}': there are {}.{}", paper.name, id, join(ids, ", "), did_you_mean(id, ids)));
  }
}

void load_suites(Reproduction& to) {
  for (const PaperSuite& suite : to.paper.suites) {
    if (to.claims_of(suite.file).empty() || !missing_data(suite).empty()) continue;
    Suite loaded = load_suite(to.paper.folder + "/" + suite.file, options_of_profile(to.profile));
    check_claims(to.paper, suite.file, to.profile, loaded);
    check_free(folder_of(to, loaded.name), files_of(to.paper));
    to.suites.emplace(suite.file, std::move(loaded));
  }
}

void reproduce_all(Reproduction& to, const SuiteRunner& run) {
  for (const PaperSuite& suite : to.paper.suites) {
    const std::vector<const Claim*> claims = to.claims_of(suite.file);
    const auto judged_here = [&](const Claim* claim) { return claim->expects.contains(to.profile); };
    if (std::none_of(claims.begin(), claims.end(), judged_here)) continue;
    if (const auto loaded = to.suites.find(suite.file); loaded != to.suites.end()) {
      const auto start = std::chrono::steady_clock::now();
      run(suite, loaded->second.name);
      const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
      to.judge_all(suite, outcomes_in(folder_of(to, loaded->second.name), loaded->second.name), to.profile, minutes);
      continue;
    }
    for (const Claim* claim : claims)
      to.add(*claim, to.profile, missing_data(suite), to.profile == "full" ? suite.full_minutes : suite.smoke_minutes);
  }
}

void judge_results(Reproduction& to) {
  bool any = false;
  for (const PaperSuite& suite : to.paper.suites) {
    if (to.claims_of(suite.file).empty()) continue;
    const std::string file = to.paper.folder + "/" + suite.file, name = suite_name(file);
    for (const std::string& folder : {to.options.from, to.options.from + "/" + safe_file_name(name)}) {
      const std::vector<Outcome> outcomes = outcomes_in(folder, name);
      if (outcomes.empty()) continue;
      any = true;
      const std::string profile = profile_in(folder, file, to.options.profile);
      to.judge_all(suite, outcomes, profile, profile == "full" ? suite.full_minutes : suite.smoke_minutes);
      break;
    }
  }
  if (!any)
    throw usage_error(
        fmt::format("--from {}: holds no run of a suite of {}: name the folder of such a run, or the one "
                    "that they are all in",
                    to.options.from, to.paper.name));
}

}  // namespace hopbench
