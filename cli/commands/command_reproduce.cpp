// `hopbench reproduce`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/run.h"
#include "results/files/csv.h"
#include "results/files/files.h"
#include "results/judge/baseline.h"
#include "suites/campaign/install_paths.h"
#include "suites/claims/claim_text.h"

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

/// A paper, and what of it is to be judged.
struct Reproduction {
  const ReproduceCommand& options;
  const Paper& paper;
  std::string profile, folder;               // of the results
  std::map<std::string, Suite> suites = {};  // by file: those that are to run
  std::vector<JudgedClaim> judged = {};
  int worst = 0;  // exit code of the runs

  std::vector<const Claim*> claims_of(const std::string& suite) const {
    std::vector<const Claim*> chosen;
    for (const Claim& claim : paper.claims) {
      const bool asked =
          options.claims.empty() || std::count(options.claims.begin(), options.claims.end(), claim.id) > 0;
      if (asked && claim.suite == suite) chosen.push_back(&claim);
    }
    return chosen;
  }

  void add(const Claim& claim, const std::string& with_profile, const std::string& not_run, double minutes) {
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

  void judge_all(const PaperSuite& suite, const std::vector<Outcome>& outcomes, const std::string& with_profile,
                 double minutes) {
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
};

/// Returns the rows of a run of this suite; none if the folder holds no such run.
std::vector<Outcome> outcomes_in(const std::string& folder, const std::string& suite) {
  if (!fs::exists(folder + "/trials.jsonl") && !fs::exists(folder + "/trials.csv")) return {};
  std::vector<Outcome> outcomes = load_results(folder, kBaselines).outcomes;
  std::erase_if(outcomes, [&](const Outcome& row) { return row.text("suite") != suite; });
  if (const std::optional<std::string> ranks = read_file(folder + "/ranks.csv")) add_largest_of_ranks(outcomes, *ranks);
  return outcomes;
}

double minutes_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
}

void check_metrics(const Paper& paper) {
  std::vector<std::string> columns;
  const std::vector<Outcome> any = outcomes_of(std::vector<TrialRow>(1));
  for (const auto& [name, cell] : any.front().cells) columns.push_back(name);
  Mistakes mistakes;
  for (std::size_t i = 0; i < paper.claims.size(); ++i) {
    const std::string& metric = paper.claims[i].metric;
    if (metric.starts_with("ranks.") || std::count(columns.begin(), columns.end(), metric) > 0) continue;
    mistakes.add(paper.places[i], unknown("metric", metric, columns));
  }
  mistakes.throw_if_any();
}

/// Returns the files of the paper that this command reads.
std::vector<std::string> files_of(const Paper& paper) {
  std::vector<std::string> files{paper.folder + "/expected.toml"};
  for (const PaperSuite& suite : paper.suites) files.push_back(paper.folder + "/" + suite.file);
  return files;
}

std::string folder_of(const Reproduction& to, const std::string& suite) {
  return to.folder + "/" + safe_file_name(suite);
}

/// Reads and checks every suite that is to run, so that what would stop the last trial is found before the first one.
void load_suites(Reproduction& to) {
  for (const PaperSuite& suite : to.paper.suites) {
    if (to.claims_of(suite.file).empty() || !missing_data(suite).empty()) continue;
    Suite loaded = load_suite(to.paper.folder + "/" + suite.file, options_of_profile(to.profile));
    check_claims(to.paper, suite.file, to.profile, loaded);
    check_free(folder_of(to, loaded.name), files_of(to.paper));
    to.suites.emplace(suite.file, std::move(loaded));
  }
}

void run_suite(Reproduction& to, const PaperSuite& suite, const std::string& name) {
  RunOptions run;
  run.suites = {to.paper.folder + "/" + suite.file};
  run.suite = options_of_profile(to.profile);
  run.output = folder_of(to, name);
  run.tables = false;
  run.command_line = to.options.command_line;
  const auto start = std::chrono::steady_clock::now();
  const int code = command_run(run);
  if (interrupted_exit_code() != 0) throw Error(ExitCode::kInterrupted, "interrupted");
  to.worst = std::max(to.worst, code);
  to.judge_all(suite, outcomes_in(run.output, name), to.profile, minutes_since(start));
}

void reproduce_all(Reproduction& to) {
  for (const PaperSuite& suite : to.paper.suites) {
    const std::vector<const Claim*> claims = to.claims_of(suite.file);
    const auto judged_here = [&](const Claim* claim) { return claim->expects.contains(to.profile); };
    if (std::none_of(claims.begin(), claims.end(), judged_here)) continue;
    if (const auto loaded = to.suites.find(suite.file); loaded != to.suites.end()) {
      run_suite(to, suite, loaded->second.name);
      continue;
    }
    for (const Claim* claim : claims)
      to.add(*claim, to.profile, missing_data(suite), to.profile == "full" ? suite.full_minutes : suite.smoke_minutes);
  }
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

int exit_code_of(const std::vector<JudgedClaim>& claims, int of_runs) {
  const auto unexpected = [](const JudgedClaim& judged) { return !judged.expected(); };
  const auto not_run = [](const JudgedClaim& judged) { return !judged.finding; };
  if (std::any_of(claims.begin(), claims.end(), not_run)) return static_cast<int>(ExitCode::kEnvironment);
  if (std::any_of(claims.begin(), claims.end(), unexpected)) return static_cast<int>(ExitCode::kRegression);
  return of_runs;  // trials failed, and yet enough are left to judge
}

void print_summary(const std::vector<JudgedClaim>& claims) {
  int as_expected = 0, run = 0;
  for (const JudgedClaim& judged : claims) {
    run += judged.finding ? 1 : 0;
    as_expected += judged.finding && judged.expected() ? 1 : 0;
  }
  std::string text = fmt::format("\n{} of {} claims came out as expected", as_expected, run);
  const std::size_t left = claims.size() - std::size_t(run);
  if (left > 0) text += fmt::format("; {} not run", left);
  put("-", text + "\n");
}

void check_command(const ReproduceCommand& options) {
  if (options.kick_the_tires && !(options.paper.empty() && options.claims.empty() && options.from.empty()))
    throw usage_error("--kick-the-tires is of all papers: leave the paper, --claim and --from out");
  if (!options.from.empty() && !options.output.empty()) throw usage_error("--from runs nothing: leave --output out");
}

void check_outputs(const ReproduceCommand& options, const std::vector<Paper>& papers) {
  std::vector<std::string> inputs;
  for (const Paper& paper : papers) {
    for (std::string& file : inputs_of(files_of(paper))) inputs.push_back(std::move(file));
  }
  const OutputFile files[] = {
      {"--json", options.json},
      {"--markdown", options.markdown.empty() ? std::nullopt : std::optional(options.markdown)}};
  check_output_files(files, inputs);
}

void check_ids(const ReproduceCommand& options, const Paper& paper) {
  std::vector<std::string> ids;
  for (const Claim& claim : paper.claims) ids.push_back(claim.id);
  for (const std::string& id : options.claims) {
    if (std::count(ids.begin(), ids.end(), id) > 0) continue;
    throw usage_error(
        fmt::format("{} has no claim '{}': there are {}.{}", paper.name, id, join(ids, ", "), did_you_mean(id, ids)));
  }
}

/// Reads and checks all of them before the first one runs.
std::vector<Reproduction> reproductions_of(const ReproduceCommand& options, const std::vector<Paper>& papers) {
  const std::string base = options.output.empty() ? new_folder_name() : without_detours(options.output);
  std::vector<Reproduction> all;
  for (const Paper& paper : papers) {
    Reproduction& to =
        all.emplace_back(Reproduction{.options = options,
                                      .paper = paper,
                                      .profile = options.profile.empty() ? "smoke" : options.profile,
                                      .folder = options.kick_the_tires ? base + "/" + paper.name : base});
    if (options.from.empty()) load_suites(to);
  }
  return all;
}

void finish(const ReproduceCommand& options, const std::vector<JudgedClaim>& claims) {
  put(options.json, judged_json(claims));
  if (!options.markdown.empty()) put(options.markdown, judged_markdown(claims));
}

}  // namespace

std::vector<std::string> paper_names() {
  std::vector<std::string> names;
  for (const std::string& folder : paper_folders()) names.push_back(fs::path(folder).filename().string());
  return names;
}

int command_reproduce(const ReproduceCommand& options) {
  check_command(options);
  const bool alone = options.json && *options.json == "-";  // on standard output
  if (options.paper.empty() && !options.kick_the_tires) {
    put("-", papers_text(all_papers()));
    return 0;
  }
  const std::vector<Paper> papers =
      options.paper.empty() ? all_papers() : std::vector<Paper>{paper_called(options.paper)};
  for (const Paper& paper : papers) {
    check_ids(options, paper);
    check_metrics(paper);
  }
  if (options.list) {
    put("-", claims_text(papers.front()));
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  check_outputs(options, papers);
  std::vector<JudgedClaim> all;
  int worst = 0;
  for (Reproduction& to : reproductions_of(options, papers)) {
    options.from.empty() ? reproduce_all(to) : judge_results(to);
    if (!alone) put("-", judged_text(to.paper, to.judged) + "\n");
    all.insert(all.end(), to.judged.begin(), to.judged.end());
    worst = std::max(worst, to.worst);
  }
  if (!alone) print_summary(all);
  if (options.kick_the_tires) {
    tell(fmt::format("took {:.1f} minutes\n", minutes_since(start)));
    // Claims whose data is not here do not count.
    finish(options, all);
    std::erase_if(all, [](const JudgedClaim& judged) { return !judged.finding; });
    return exit_code_of(all, worst);
  }
  finish(options, all);
  return exit_code_of(all, worst);
}

}  // namespace hopbench
