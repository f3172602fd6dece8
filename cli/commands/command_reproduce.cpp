// `hopbench reproduce`.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "backends/base/error.h"
#include "backends/base/process/signals.h"
#include "backends/base/process/tell.h"
#include "cli/commands.h"
#include "cli/outputs.h"
#include "cli/run.h"
#include "suites/campaign/install_paths.h"
#include "suites/claims/reproduction.h"

namespace hopbench {
namespace {

void run_suite(Reproduction& to, const ReproduceCommand& options, const PaperSuite& suite, const std::string& name) {
  RunOptions run;
  run.suites = {to.paper.folder + "/" + suite.file};
  run.suite = options_of_profile(to.profile);
  run.output = folder_of(to, name);
  run.tables = false;
  run.command_line = options.command_line;
  const int code = command_run(run);
  if (interrupted_exit_code() != 0) throw Error(ExitCode::kInterrupted, "interrupted");
  to.worst = std::max(to.worst, code);
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
    if (options.from.empty()) {
      reproduce_all(to, [&](const PaperSuite& suite, const std::string& name) { run_suite(to, options, suite, name); });
    } else {
      judge_results(to);
    }
    if (!alone) put("-", judged_text(to.paper, to.judged) + "\n");
    all.insert(all.end(), to.judged.begin(), to.judged.end());
    worst = std::max(worst, to.worst);
  }
  if (!alone) print_summary(all);
  if (options.kick_the_tires) {
    const double minutes = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
    tell(fmt::format("took {:.1f} minutes\n", minutes));
    // Claims whose data is not here do not count.
    finish(options, all);
    std::erase_if(all, [](const JudgedClaim& judged) { return !judged.finding; });
    return exit_code_of(all, worst);
  }
  finish(options, all);
  return exit_code_of(all, worst);
}

}  // namespace hopbench
