// The commands over suites, runs and papers that there are, and on this program. Results go to standard output,
// messages to standard error. Each command returns the process's exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/report/report.h"
#include "suites/claims/reproduction.h"
#include "suites/import/readers.h"
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

struct ReproduceCommand : ClaimChoice {
  std::string paper;                // a name, or a folder with an expected.toml; empty: lists the papers
  bool list = false;                // its claims
  bool kick_the_tires = false;      // the smoke sizes of every paper whose data is there
  std::string output;               // folder; empty: hopbench-results/<utc>-<id>
  std::optional<std::string> json;  // absent, "-" (standard output), or a file
  std::string markdown;             // a file; empty: none
  std::vector<std::string> command_line;
};
/// Returns 0 if every verdict is the expected one, 1 if not, 3 if trials failed that no verdict shows, 6 without data.
int command_reproduce(const ReproduceCommand& options);

struct MergeOptions {
  std::vector<std::string> folders;  // of shards, in any order
  std::string output;                // folder, new or empty
  bool partial = false;              // merge although trials are missing
  bool colour = false, wide = false;
  std::vector<std::string> command_line;  // for the context
};

/// Writes `output`, whose trials, ranks, curve and event logs have the same bytes as if the run had never been divided.
/// It is written beside its place and renamed at the end, so a merge that fails leaves nothing there. Returns the exit
/// code. Error(kUsage) if the folders are not shards of one run by this same program, a trial is there twice with
/// different results, or trials are missing (unless `partial`).
int command_merge(const MergeOptions& options);

struct NewOptions {
  std::string what = "protocol";
  std::string name;    // lower case, digits, underscores
  std::string folder;  // empty: ./NAME
  bool asynchronous = false;
};
/// Writes NAME.cpp, NAME_test.cpp and NAME.toml. Error(kUsage) for a bad or taken name or a file that is there already.
int command_new(const NewOptions& options);

struct ImportCommand {
  std::string format;              // csv, kineto or perfetto
  std::vector<std::string> paths;  // files; of kineto also directories
  std::string output;              // the trace; "-": standard output
  bool force = false;              // write over a file that is there
  CsvColumns columns;              // of csv
  std::string parallel;            // of kineto and perfetto: "dp2 pp4 tp1"; empty: not set
  int replicas = 0;                // the same; 0: not set
  bool align = false;              // of perfetto
  int skip = 0;                    // first steps that are left out
  /// Words in names of communication, of kineto and perfetto.
  std::vector<std::string> communication;
};
/// Writes the trace, and prints statistics and the simplest scenario that fits: on standard output, or on standard
/// error if the trace goes there. Error(kUsage) if a file cannot be read or the trace exists.
int command_import(const ImportCommand& options);

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
