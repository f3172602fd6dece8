// The findings of a regression gate of any tier, and their reports: exit code, text, JUnit, JSON, Markdown.
//
//   exact    T0: virtual time against a baseline; equal or not                                    (exact.h)
//   virtual  T0: virtual time against a baseline, with a tolerance                                (virtual_gate.h)
//   counts   T1: instructions, messages and bytes; within 2 %                                     (ci/gate)
//   timed    T2: two programs in turns on this machine; beyond chance, noise and threshold        (timed_gate.h)
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/base/error.h"
#include "results/judge/compare.h"

namespace hopbench {

struct GateRow {
  std::string name{};    // a trial, or a scenario and variant
  std::string metric{};  // "exact", "virtual samples/s", "time_s", "cpu_s", "simulator cpu_s", "instructions"
  Verdict verdict = Verdict::kNoChange;
  int n = 0;  // pairs; 1 where nothing is left to chance
  double base = 0, head = 0;
  double speed_up = 1;                 // NaN: not in both
  std::optional<Interval> interval{};  // its one-sided 95 % bounds
  std::vector<std::string> notes{};    // the differences, or the reason why there is no verdict
  std::optional<double> threshold{};   // as a share: a smaller change does not count; absent: every change does
  bool rate = false;                   // base and head are samples/s, else seconds or counts: less is better
};

struct GateResult {
  std::string tier;        // "exact", "virtual", "counts", "timed"
  std::string base, head;  // the names of the two sides
  std::vector<GateRow> rows;
  std::vector<std::string> notes;  // about the whole: the noise, and differences between the sides
};

/// Returns the number of rows that have a verdict about speed; the others could not be compared.
int compared(const GateResult& result);
/// Returns true for a regression, and for a row that is missing, failed, or (T0) not what it was.
bool fails(const GateRow& row);

/// Returns kRegression if a row fails, kNoBaseline if no row at all was compared. Under `strict`, returns kInconclusive
/// if a row is inconclusive or insufficient, and kNoBaseline if one is incomparable. Otherwise returns kOk.
ExitCode gate_exit(const GateResult& result, bool strict);

/// If the baseline has trials of real time, adds a note that these are not gated.
void add_real_time_note(std::span<const TrialRow> base, GateResult& result);

/// Returns "compared 68 of 70 rows: ...", the rows that need attention, and the meaning of the exit code. Rows that
/// have a threshold are all shown, with it.
std::string gate_text(const GateResult& result, bool strict);
/// Returns at most kLongestComment bytes: rows that fail first, then those without a verdict. Rows without a change are
/// only counted, and so is what does not fit.
std::string gate_markdown(const GateResult& result, bool strict);
constexpr std::size_t kLongestComment = 65'000;  // GitHub refuses comments of more than 65 536 characters
/// Returns {"schema_version", "tier", "base", "head", "compared", "of", "exit", "notes", "rows"}
std::string gate_json(const GateResult& result, bool strict);
/// Returns a test case for each row: a failure if it fails the gate, skipped (if strict, a failure) if not compared.
std::string gate_junit(const GateResult& result, bool strict);
/// Returns google-benchmark's JSON, which its compare.py and dashboards read: two benchmarks a row, base/ and head/.
/// Less is better there, so a rate stands as seconds a sample.
std::string gate_benchmark_json(const GateResult& result, const std::string& context_json);

/// Runs the gate of tier T0.
GateResult exact_gate(const std::string& base_name, const RunFolder& base, const std::string& head_name,
                      const RunFolder& head);

}  // namespace hopbench
