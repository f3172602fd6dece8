// `hopbench reproduce hopbench` measures and judges the figures that the documentation publishes about hopbench, and
// writes them into its pages. docs/figures.md says what each verdict means.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/papers/paper.h"
#include "results/judge/published.h"
#include "results/judge/published_pages.h"

namespace hopbench {

/// The end of a command.
struct RanCommand {
  int exit_code = 0;               // 128 + the signal that ended it
  bool too_long = false;           // it was ended because it took too long
  std::string json{}, said{};      // its JSON; the last line that it wrote on standard error
  std::optional<double> others{};  // share of the cores' time that other processes took; nothing if not known
};

/// Runs a command in `root` without a shell. Error(kInterrupted) after ^C or SIGTERM; the command is ended first.
RanCommand run_published(const PublishedRun& run, const std::string& root);

/// Returns the share of the cores' time between two texts of /proc/stat that was neither idle nor used by `own_s`
/// seconds of this run. Other processes and the hypervisor took it. Interrupts are left out, since they are charged to
/// no process. Returns nothing if the texts are not of that file, or if no time went by.
std::optional<double> share_of_others(const std::string& before, const std::string& after, double own_s,
                                      double ticks_per_s);

/// Returns why this machine does not satisfy `needs`; "" if it does. Does not check "quiet".
std::string missing_need(const std::vector<std::string>& needs);

/// The verdict on a claim or a table.
struct JudgedFigure {
  std::string id, command;
  PublishedVerdict verdict = PublishedVerdict::kNotRun;
  std::string shown, range, last, reason;  // last: the value that measured.json had
  std::optional<double> value, others;
  bool written = false;  // the value replaces the last one
};

struct PublishedPlan {
  std::vector<std::string> ids{};   // of claims and tables: only the runs that measure these; empty: all
  bool judged = false;              // only runs that judge something
  std::optional<double> minutes{};  // only runs that take at most this long
};

/// The outside world that measuring needs. Tests replace it.
struct PublishedWorld {
  std::function<RanCommand(const PublishedRun&)> run;
  std::function<std::string(const std::vector<std::string>&)> missing;
  std::function<void(const LastValues&)> save;  // after each run whose values are to be written
  std::string date, commit, machine;
};

/// Runs what the plan asks for, in the order of figures.toml. At the end runs once more what was in doubt. `values`
/// receives what may be written.
std::vector<JudgedFigure> judge_published(const Published& published, const PublishedPlan& plan,
                                          const PublishedWorld& world, LastValues& values);

/// Returns 0, 1 or 3 (see docs/figures.md).
int exit_code_of(const std::vector<JudgedFigure>& figures);

/// The name under which `reproduce` knows the published figures.
inline constexpr const char* kHopbench = "hopbench";
int command_reproduce_hopbench(const ReproduceCommand& options);
/// Returns the folder with results/published/hopbench: the current one or $HOPBENCH_ROOT; "" if neither has it.
std::string published_root();

}  // namespace hopbench
