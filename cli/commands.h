// The commands over suites, runs and papers that there are, and on this program. Results go to standard output,
// messages to standard error. Each command returns the process's exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/report/report.h"
#include "suites/language/suite.h"

namespace hopbench {

struct ListOptions {
  std::string what;  // one of listable()
  bool verbose = false, json = false;
};
int command_list(const ListOptions& options);
const std::vector<std::string>& listable();
struct ListEntry {
  std::string list, name, summary;
};
/// Returns the names in all lists but those of suites and columns; of keys, the last parts.
std::vector<std::string> names_in_lists();
/// Returns the entries of that name in all lists but those of suites and columns, and keys that end with it. If there
/// are none, returns the keys that may have it as value.
std::vector<ListEntry> find_in_lists(const std::string& name);
/// Returns the suite files of ./suites and of $HOPBENCH_ROOT/suites, as they would be typed.
std::vector<std::string> suite_files();

struct ExplainOptions {
  std::vector<std::string> words;
};
/// Prints what each word means as a column, row, sign or mark of the tables, as a column of the files, and in the lists
/// of what a suite may name; without words, all words of the tables. Error(kUsage) for an unknown one.
int command_explain(const ExplainOptions& options);
/// Returns the words that it knows, without those of the lists.
std::vector<std::string> explainable();

struct ValidateOptions {
  std::vector<std::string> suites;
  SuiteOptions suite;
};
/// Prints "FILE: ok: N trials" for each suite that is right; every mistake of the others goes to standard error. Exit
/// code 2 if a suite is wrong or its data cannot be read; otherwise 6 if a backend or transport is missing.
int command_validate(const ValidateOptions& options);

struct EnvOptions {};
int command_env(const EnvOptions& options);

/// One quantity as a launcher (mpirun, srun, torchrun) sets it: the variables that are set, the first hit first.
struct LauncherValue {
  std::string quantity;
  std::vector<std::string> seen;  // "RANK=3"
};
std::vector<LauncherValue> launcher_values();

struct CiteOptions {
  std::vector<std::string> what;  // folders of runs, and protocols
};
/// Prints BibTeX of hopbench and of the papers of these protocols. Error(kUsage) for an unknown one.
int command_cite(const CiteOptions& options);
/// Returns the entry for "AUTHORS: TITLE, VENUE YEAR", the form of Protocol::paper.
std::string bibtex_entry(const std::string& key, const std::string& paper, const std::string& note);

struct TraceCommand {
  std::string folder, filter, output;  // of a run; regular expression on trial ids; "-": standard output
};
/// Writes one trace of the trials that match. Error(kUsage) if none does or their event logs are missing.
int command_trace(const TraceCommand& options);

struct ReportCommand {
  std::string folder, filter, output;  // of a run; regular expression on trial ids; "-": standard output
  std::string figure;                  // only this figure for a paper, by its id
  std::optional<std::string> title;    // of the figure; "": none; absent: what tells its panels apart
  bool latex = false, cost = false;    // the tables as LaTeX; the tables of cost and of "who pays"
  std::string columns;                 // of the LaTeX tables, "samples/s,speed-up"; empty: those that fit a column
  bool workers = false;                // "who pays" has a row for each worker
  bool check = false;                  // judges what a paper claims; `figure`: of one claim
  std::size_t trials = kTrialsDrawn;   // number of trials drawn one by one in the page
};
/// Writes one HTML page, or what was asked for instead. Error(kUsage) if no trial matches.
int command_report(const ReportCommand& options);

struct ReproduceCommand {
  std::string paper;                // a name, or a folder with an expected.toml; empty: lists the papers
  bool list = false;                // its claims
  bool kick_the_tires = false;      // the smoke sizes of every paper whose data is there
  std::vector<std::string> claims;  // ids; empty: all
  std::string profile;              // smoke | full; empty: smoke, or what the results of --from were run with
  std::string output, from;         // folders; empty output: hopbench-results/<utc>-<id>; empty from: runs the suites
  std::optional<std::string> json;  // absent, "-" (standard output), or a file
  std::string markdown;             // a file; empty: none
  std::vector<std::string> command_line;
};
/// Returns 0 if every verdict is the expected one, 1 if not, 3 if trials failed that no verdict shows, 6 without data.
int command_reproduce(const ReproduceCommand& options);

/// Returns the papers of ./suites/papers and of $HOPBENCH_ROOT/suites/papers.
std::vector<std::string> paper_names();

struct VersionOptions {};
int command_version(const VersionOptions& options);
std::string version_line();  // "hopbench 0.1.0 (1d1d8fa...)"

struct CompletionOptions {
  std::string shell;  // bash | zsh | fish
};
int command_completion(const CompletionOptions& options);

/// Runs the hidden `hopbench __complete WORDS...`, which those scripts call. Prints what may stand instead of the last
/// word, one per line. `commands`: every command and its flags, {"run", "--filter", ...}.
int command_complete(const std::vector<std::string>& words, const std::vector<std::vector<std::string>>& commands);
std::vector<std::string> completions(const std::vector<std::string>& words,
                                     const std::vector<std::vector<std::string>>& commands);

}  // namespace hopbench
