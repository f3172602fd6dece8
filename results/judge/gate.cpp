#include "results/judge/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/judge/convergence_gate.h"
#include "results/tables/summary_parts.h"
#include "results/tables/table.h"

namespace hopbench {
namespace {

bool undecided(const GateRow& row) {
  return row.verdict == Verdict::kInconclusive || row.verdict == Verdict::kInsufficient;
}

/// Returns true if the row has a verdict about speed; the others could not be compared.
bool has_verdict(const GateRow& row) {
  return row.verdict == Verdict::kNoChange || row.verdict == Verdict::kImprovement ||
         row.verdict == Verdict::kRegression || row.verdict == Verdict::kInconclusive;
}

std::string headline(const GateResult& result) {
  std::string text = fmt::format("compared {} of {} rows of {} with {}", compared(result), result.rows.size(),
                                 result.head, result.base);
  const auto count = [&](auto wanted) { return std::count_if(result.rows.begin(), result.rows.end(), wanted); };
  for (const Verdict verdict :
       {Verdict::kNoChange, Verdict::kImprovement, Verdict::kRegression, Verdict::kInconclusive, Verdict::kInsufficient,
        Verdict::kIncomparable, Verdict::kFailed, Verdict::kMissing, Verdict::kNew}) {
    const auto rows = count([&](const GateRow& row) { return row.verdict == verdict; });
    text += rows > 0 ? fmt::format(", {} {}", rows, to_string(verdict)) : "";
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
      return open < of ? fmt::format("the gate does not pass: {} of {} rows could not be compared (--strict)", open, of)
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
  std::string text = fmt::format("{}x", number_text(row.speed_up, 4));
  if (row.interval) {
    text += fmt::format(" [{}, {}]", number_text(row.interval->low, 4), number_text(row.interval->high, 4));
  }
  return text;
}

/// Returns true if a row is shown. Equal rows of exact virtual time are not; timed ones show what they could have seen.
bool shown(const GateRow& row) { return row.verdict != Verdict::kNoChange || !row.notes.empty() || row.threshold; }

std::string threshold_text(const GateRow& row) { return row.threshold ? percent_text(*row.threshold) : "-"; }

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
    text += fmt::format("{:<12} {}{}{}{}{}\n", to_string(row.verdict), row.name,
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
                                 markdown_cell(headline(result)));
  if (std::any_of(result.rows.begin(), result.rows.end(), shown)) {
    text += "| verdict | row | metric | speed-up | threshold | n | notes |\n|---|---|---|---|---|---|---|\n";
    for (const GateRow& row : result.rows) {
      if (!shown(row)) continue;
      std::vector<std::string> notes;
      for (const std::string& note : row.notes) notes.push_back(markdown_cell(note));
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", to_string(row.verdict), markdown_cell(row.name),
                          row.metric, numbers_of(row), threshold_text(row), row.n, join(notes, "<br>"));
    }
    text += "\n";
  }
  for (const std::string& note : result.notes) text += "- " + markdown_cell(note) + "\n";
  const std::string open = not_compared(result);
  return open.empty() ? text : text + "\n```\n" + open + "```\n";
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
  GateResult result{"exact", base_name, head_name, {}, {}};
  for (ExactRow& exact : compare_exact(base, head)) {
    GateRow row{exact.trial,
                "exact",
                exact.verdict,
                1,
                exact.base_s,
                exact.head_s,
                exact.base_s / exact.head_s,
                {},
                std::move(exact.differences)};
    if (!exact.first_event.empty()) row.notes.push_back("first differing event: " + exact.first_event);
    result.rows.push_back(std::move(row));
  }
  for (GateRow& row : convergence_rows(base, head, result.notes)) result.rows.push_back(std::move(row));
  add_real_time_note(base.rows(), result);
  return result;
}

}  // namespace hopbench
