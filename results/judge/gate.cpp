#include "results/judge/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/judge/convergence_gate.h"
#include "results/judge/exact.h"
#include "results/tables/table.h"

namespace hopbench {
namespace {

bool undecided(const GateRow& row) {
  return row.verdict == Verdict::kInconclusive || row.verdict == Verdict::kInsufficient;
}

/// Returns true if the row has a verdict about speed; the others could not be compared.
bool has_verdict(const GateRow& row) { return row.verdict <= Verdict::kInconclusive; }

std::string headline(const GateResult& result) {
  std::string text = fmt::format("compared {} of {} rows of {} with {}", compared(result), result.rows.size(),
                                 result.head, result.base);
  const auto count = [&](auto wanted) { return std::count_if(result.rows.begin(), result.rows.end(), wanted); };
  for (const Verdict verdict : {Verdict::kNoChange, Verdict::kWithin, Verdict::kNotSlower, Verdict::kImprovement,
                                Verdict::kRegression, Verdict::kInconclusive, Verdict::kInsufficient,
                                Verdict::kIncomparable, Verdict::kFailed, Verdict::kMissing, Verdict::kNew}) {
    const auto rows = count([&](const GateRow& row) { return row.verdict == verdict; });
    text += rows > 0 ? fmt::format(", {} {}", rows, verdict_text(verdict, {})) : "";
  }
  return text;
}

/// Returns the rows without a verdict about speed, and the reason: its own notes, or the side where it is missing.
std::string not_compared(const GateResult& result) {
  std::vector<NotCompared> rows;
  for (const GateRow& row : result.rows) {
    std::string why = join(row.notes, "; ");
    if (row.verdict == Verdict::kMissing) why = "missing in " + result.head;
    if (row.verdict == Verdict::kNew) why = "only in " + result.head;
    if (!has_verdict(row)) rows.push_back({row.name, why.empty() ? to_string(row.verdict) : why});
  }
  return not_compared_text(rows);
}

std::string conclusion(const GateResult& result, bool strict) {
  const std::size_t of = result.rows.size(), open = of - std::size_t(compared(result));
  switch (gate_exit(result, strict)) {
    case ExitCode::kRegression:
      return result.tier == "exact" ? "the gate fails: if the change is meant, save the baseline again, with --reason"
                                    : "the gate fails";
    case ExitCode::kInconclusive:
      return "the gate is inconclusive: more repeats or a quieter machine may tell";
    case ExitCode::kNoBaseline:
      if (open < of)
        return fmt::format("the gate does not pass: {} of {} rows could not be compared (--strict)", open, of);
      return result.tier == "counts" ? "the gate is skipped: nothing was compared"
                                     : "the gate does not pass: nothing was compared";
    default:
      return strict ? "the gate passes"
                    : "the gate passes (not strict: inconclusive and incomparable rows do not count)";
  }
}

std::string numbers_of(const GateRow& row) {
  const bool about_speed = row.verdict != Verdict::kFailed && row.verdict != Verdict::kIncomparable;
  if (std::isnan(row.speed_up) || !about_speed || (row.metric == "exact" && std::abs(row.speed_up - 1) < 5e-4))
    return "";
  constexpr Format kFineRatio{kPlainNumber.text, "x"};
  return text_of({.value = row.speed_up, .n = row.n, .interval = row.interval}, kFineRatio);
}

/// Returns true if a row is shown. Equal rows of exact virtual time are not; timed ones show what they could have seen.
bool shown(const GateRow& row) { return row.verdict != Verdict::kNoChange || !row.notes.empty() || row.threshold; }

std::string threshold_text(const GateRow& row) { return row.threshold ? percent_text(*row.threshold) : "-"; }

/// Returns 0 for a row that fails, 1 for one without a verdict, 2 for others.
int urgency_of(const GateRow& row) { return fails(row) ? 0 : undecided(row) || !has_verdict(row) ? 1 : 2; }

/// Appends lines while the text has at most `most` bytes, and then how many are left out.
void append_lines(std::string& text, const std::vector<std::string>& lines, std::size_t most) {
  std::size_t fit = 0;
  while (fit < lines.size() && text.size() + lines[fit].size() <= most) text += lines[fit++];
  if (fit < lines.size()) {
    text +=
        fmt::format("\n{} more lines are left out here: standard output and --json have them\n", lines.size() - fit);
  }
}

std::string markdown_row(const GateRow& row) {
  constexpr std::size_t kLongestCell = 400, kMostNotes = 4;
  std::vector<std::string> notes;
  for (const std::string& note : std::span(row.notes).first(std::min(row.notes.size(), kMostNotes)))
    notes.push_back(markdown_cell(shortened(note, kLongestCell)));
  if (row.notes.size() > kMostNotes) notes.push_back(fmt::format("and {} more", row.notes.size() - kMostNotes));
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", verdict_text(row.verdict, row.threshold),
                     markdown_cell(shortened(row.name, kLongestCell)), row.metric, numbers_of(row), threshold_text(row),
                     row.n, join(notes, "<br>"));
}

}  // namespace

int compared(const GateResult& result) {
  return static_cast<int>(std::count_if(result.rows.begin(), result.rows.end(), has_verdict));
}

bool fails(const GateRow& row) {
  const bool changed = row.metric == "exact" && row.verdict == Verdict::kImprovement;
  return changed || row.verdict == Verdict::kRegression || row.verdict == Verdict::kMissing ||
         row.verdict == Verdict::kFailed;
}

ExitCode gate_exit(const GateResult& result, bool strict) {
  const auto any = [&](auto wanted) { return std::any_of(result.rows.begin(), result.rows.end(), wanted); };
  if (any(fails)) return ExitCode::kRegression;
  if (compared(result) == 0) return ExitCode::kNoBaseline;
  if (!strict) return ExitCode::kOk;
  if (any(undecided)) return ExitCode::kInconclusive;
  const bool unlike = any([](const GateRow& row) { return row.verdict == Verdict::kIncomparable; });
  return unlike ? ExitCode::kNoBaseline : ExitCode::kOk;
}

std::string gate_text(const GateResult& result, bool strict) {
  std::string text;
  for (const GateRow& row : result.rows) {
    if (!shown(row)) continue;
    const std::string numbers = numbers_of(row);
    text += fmt::format("{:<12} {}{}{}{}{}\n", verdict_text(row.verdict, row.threshold), row.name,
                        row.metric == "exact" ? "" : ", " + row.metric, numbers.empty() ? "" : ", speed-up ", numbers,
                        row.threshold ? ", threshold " + threshold_text(row) : "");
    for (const std::string& note : row.notes) text += fmt::format("             {}\n", note);
  }
  for (const std::string& note : result.notes) text += note + "\n";
  text += printable_line(headline(result)) + "\n" + not_compared(result) + conclusion(result, strict) + "\n";
  return printable_lines(text);
}

std::string gate_markdown(const GateResult& result, bool strict) {
  std::string text = fmt::format("### hopbench gate ({}): {}\n\n{}\n\n", result.tier, conclusion(result, strict),
                                 markdown_cell(shortened(headline(result), 2000)));
  std::vector<std::string> rows, notes, open;
  for (const int urgency : {0, 1, 2}) {
    for (const GateRow& row : result.rows) {
      if (row.verdict == Verdict::kNoChange || urgency != urgency_of(row)) continue;
      rows.push_back(markdown_row(row));
    }
  }
  if (!rows.empty()) {
    text += "| verdict | row | metric | speed-up | threshold | n | notes |\n|---|---|---|---|---|---|---|\n";
    append_lines(text, rows, kLongestComment * 3 / 5);
    text += "\n";
  }
  for (const std::string& note : result.notes) notes.push_back("- " + markdown_cell(shortened(note, 2000)) + "\n");
  append_lines(text, notes, kLongestComment * 4 / 5);
  std::istringstream reasons(not_compared(result));
  for (std::string line; std::getline(reasons, line);) open.push_back(shortened(line, 2000) + "\n");
  if (open.empty()) return text;
  text += "\n```\n";
  append_lines(text, open, kLongestComment - 200);
  return text + "```\n";
}

void add_real_time_note(std::span<const TrialRow> base, GateResult& result) {
  const auto real =
      std::count_if(base.begin(), base.end(), [](const TrialRow& row) { return row.labels.clock != "virtual"; });
  if (real == 0) return;
  result.notes.push_back(
      fmt::format("{} trials of real time are not gated by a baseline, which would see the machine's "
                  "mood: hopbench gate --base CMD --head CMD runs both in turns",
                  real));
}

GateResult exact_gate(const std::string& base_name, const RunFolder& base, const std::string& head_name,
                      const RunFolder& head) {
  GateResult result{"exact", base_name, head_name, compare_exact(base, head), {}};
  for (GateRow& row : convergence_rows(base, head, result.notes)) result.rows.push_back(std::move(row));
  add_real_time_note(base.rows(), result);
  return result;
}

}  // namespace hopbench
