// `hopbench import`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/process/tell.h"
#include "backends/base/text.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "results/files/files.h"
#include "suites/import/decompose.h"

namespace hopbench {
namespace {

constexpr std::size_t kShownRemarks = 20, kShownClocks = 32;

Layout layout_of(const ImportCommand& options) {
  Layout layout;
  if (!options.parallel.empty()) layout = parse_layout(options.parallel);
  layout.replicas = options.replicas;
  return layout;
}

Imported read_recording(const ImportCommand& options) {
  Imported imported;
  for (const std::string& word : options.communication) imported.communication.add_word(word);
  if (options.format == "csv") {
    read_csv_recording(options.paths, options.columns, imported);
  } else if (options.format == "kineto") {
    read_kineto(options.paths, layout_of(options), imported);
  } else {
    read_perfetto(options.paths, layout_of(options), options.align, imported);
  }
  finish_rows(imported, printable(options.paths.front()), options.skip);
  return imported;
}

void write_rows(const ImportCommand& options, const TraceRows& rows) {
  NewFile file(behind_links(options.output));
  write_trace(rows, "imported by hopbench import " + options.format, file.out());
  file.finish();
}

std::string remarks_text(const Remarks& remarks) {
  const std::vector<std::string> lines = remarks.texts();
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < kShownRemarks; ++i) text += "warning: " + lines[i] + "\n";
  if (lines.size() > kShownRemarks) text += fmt::format("warning: {} other remarks\n", lines.size() - kShownRemarks);
  return text;
}

std::string names_text(const Communication& names, NameKind kind, const std::string& title) {
  constexpr std::size_t kShownNames = 8, kLongestName = 100;
  std::string text;
  for (const auto& [name, seconds] : names.longest(kind, kShownNames))
    text += fmt::format("  {:.6g} s  {}\n", seconds, printable_line(shortened(name, kLongestName)));
  return text.empty() ? "" : title + "\n" + text;
}

/// Returns the ranks that differ from the median rank, the most different first.
std::string ranks_text(const Decomposition& d) {
  constexpr std::size_t kShownRanks = 12;
  constexpr double kLeast = 0.02;
  std::vector<std::pair<double, std::size_t>> far;  // distance of the factor from 1, rank
  for (std::size_t rank = 0; rank < d.factors.size() && d.ranks_differ; ++rank) {
    if (std::abs(std::log(d.factors[rank])) >= kLeast) far.emplace_back(-std::abs(std::log(d.factors[rank])), rank);
  }
  std::sort(far.begin(), far.end());
  std::vector<std::string> texts;
  for (const auto& [distance, rank] : far) texts.push_back(fmt::format("{} ({:.2f} x)", rank, d.factors[rank]));
  return texts.empty() ? "" : "ranks that differ from the median rank: " + listed(texts, kShownRanks) + "\n";
}

std::string clocks_text(const Imported& imported) {
  std::string text;
  for (std::size_t i = 0; i < imported.clocks.size() && i < kShownClocks; ++i) {
    const ClockOffset& clock = imported.clocks[i];
    text += fmt::format("  rank {}: {:+.6f} s, spread {:.6f} s, {} steps\n", clock.rank, clock.seconds, clock.spread,
                        clock.steps);
  }
  if (imported.clocks.size() > kShownClocks)
    text += fmt::format("  and {} more\n", imported.clocks.size() - kShownClocks);
  if (text.empty()) return "";
  return fmt::format("clocks against the lowest rank's, by the ends of collectives ({}):\n{}",
                     imported.clocks_applied ? "subtracted" : "no row depends on them", text);
}

std::string beyond_protocols_text(const Imported& imported, const Decomposition& d) {
  std::string text;
  if (d.ranks > 1)
    text += fmt::format("  what all ranks have in common in a step: {:.1f} % of the variance\n", 100 * d.between_steps);
  if (imported.stage_balance)
    text += fmt::format("  unequal stages of a replica: the mean stage computes {:.3f} of the slowest stage's time\n",
                        *imported.stage_balance);
  return text.empty() ? "" : "a data-parallel protocol cannot change these parts:\n" + text;
}

/// Returns what `import` prints: rows, clocks, statistics, and the scenario as part of a suite.
std::string import_report(const Imported& imported, const Decomposition& d, const std::string& trace_name) {
  std::string text = fmt::format("{} ranks, {} steps that all of them have", d.ranks, d.steps);
  if (d.left_out > 0) text += fmt::format("; {} rows of other steps are in no statistic", d.left_out);
  text += "\n" + clocks_text(imported);
  text += names_text(imported.communication, NameKind::kCommunication, "names that were taken for communication:");
  text += names_text(imported.communication, NameKind::kSuspect,
                     "kernels that were taken for computation (--communication WORD, if they communicate):");
  if (d.steps > 0) {
    text += fmt::format("variance of log(seconds): {:.1f} % between ranks, {:.1f} % between steps, {:.1f} % the rest\n",
                        100 * d.between_ranks, 100 * d.between_steps, 100 * d.rest);
    text += d.pairs > 0 ? fmt::format("autocorrelation of the rest, from a step to the next: {:.2f} ({} pairs)\n",
                                      d.autocorrelation, d.pairs)
                        : "autocorrelation of the rest: no two steps follow each other without a gap\n";
    text += fmt::format("seconds: median {:.6g}, 90 % {:.6g}, 99 % {:.6g}, largest {:.6g} ({:.3f} x the median)\n",
                        d.median, d.q90, d.q99, d.largest, d.largest / d.median);
    text += fmt::format("slowest rank over mean: {:.3f} (mean of the steps), {:.3f} (largest)\n", d.slowest_over_mean,
                        d.largest_slowest_over_mean);
    text += ranks_text(d) + beyond_protocols_text(imported, d);
  }
  const Fit fit = fit_scenario(d, trace_name);
  return text + fmt::format("simplest kind that fits: {}\n\n{}", fit.kind, to_snippet(fit));
}

}  // namespace

int command_import(const ImportCommand& options) {
  const bool to_stdout = options.output == "-";
  const OutputFile output{"-o", options.output};
  check_output_files({&output, 1}, inputs_of(options.paths));
  std::error_code none;
  if (!to_stdout && !options.force && std::filesystem::exists(options.output, none))
    throw usage_error(printable(options.output) + ": is there already: --force writes over it, -o names another file");
  Imported imported = read_recording(options);
  tell(remarks_text(imported.remarks));
  write_rows(options, imported.rows);
  const Decomposition decomposition = decompose(imported.rows);
  const std::string report = import_report(imported, decomposition, to_stdout ? "imported.csv" : options.output);
  if (to_stdout) {
    tell(report);
  } else {
    put("-", report);
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
