#include "suites/import/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr double kLeastSecondsOfTrace = 1e-9, kMostSecondsOfTrace = 1e9;

bool comes_before(const TraceRow& a, const TraceRow& b) {
  return std::pair(a.rank, a.step) < std::pair(b.rank, b.step);
}

/// Removes every row whose rank and step another row has too.
void remove_repeated(Imported& imported) {
  TraceRows& rows = imported.rows;
  auto to = rows.begin();
  for (auto from = rows.begin(); from != rows.end();) {
    const TraceRow row = *from;
    auto end = from;
    while (end != rows.end() && end->rank == row.rank && end->step == row.step) ++end;
    if (end - from == 1) {
      *to++ = row;
    } else {
      imported.remarks.add(
          fmt::format("rank {} has {} rows of step {}: all are left out", row.rank, end - from, row.step));
    }
    from = end;
  }
  rows.erase(to, rows.end());
}

std::vector<std::int32_t> all_steps(const TraceRows& rows) {
  std::vector<std::int32_t> steps, both;
  for (auto begin = rows.begin(); begin != rows.end();) {
    auto end = begin;
    while (end != rows.end() && end->rank == begin->rank) ++end;
    const bool known =
        std::size_t(end - begin) == steps.size() &&
        std::equal(begin, end, steps.begin(), [](const TraceRow& row, std::int32_t step) { return row.step == step; });
    if (!known) {
      both.clear();
      auto at = steps.begin();
      for (auto row = begin; row != end; ++row) {
        while (at != steps.end() && *at < row->step) both.push_back(*at++);
        if (at != steps.end() && *at == row->step) ++at;
        both.push_back(row->step);
      }
      both.insert(both.end(), at, steps.end());
      steps.swap(both);
    }
    begin = end;
  }
  return steps;
}

void report_gaps(Imported& imported) {
  const std::vector<std::int32_t> steps = all_steps(imported.rows);
  for (auto begin = imported.rows.begin(); begin != imported.rows.end();) {
    auto end = begin;
    while (end != imported.rows.end() && end->rank == begin->rank) ++end;
    std::size_t missing = steps.size() - std::size_t(end - begin);
    auto row = begin;
    for (std::size_t at = 0; at < steps.size() && missing > 0 && !imported.remarks.full(); ++at) {
      if (row != end && row->step == steps[at]) {
        ++row;
      } else {
        imported.remarks.add(fmt::format("rank {} has no step {}, which other ranks have", begin->rank, steps[at]));
        --missing;
      }
    }
    imported.remarks.count(missing);
    begin = end;
  }
}

void number_ranks(Imported& imported) {
  std::vector<std::string> names;
  std::int32_t next = -1, had = -1;
  bool moved = false;
  for (TraceRow& row : imported.rows) {
    if (row.rank != had) {
      ++next, had = row.rank;
      moved = moved || had != next;
      names.push_back(std::to_string(had));
    }
    row.rank = next;
  }
  if (moved)
    imported.remarks.add(fmt::format("a trace numbers its ranks from 0 without gaps: ranks {} are written as 0 to {}",
                                     listed(names, 12), next));
}

}  // namespace

void Remarks::add(std::string remark) {
  if (full()) {
    ++more_;
  } else {
    kept_.push_back(std::move(remark));
  }
}

void Imported::add(int rank, std::int64_t step, double seconds) {
  if (step < 0 || step > kMostStepOfTrace) {
    remarks.add(
        fmt::format("rank {}: step {} is not a number from 0 to {}: it is left out", rank, step, kMostStepOfTrace));
  } else if (!(seconds >= kLeastSecondsOfTrace) || seconds > kMostSecondsOfTrace) {
    remarks.add(fmt::format("rank {} computes for {} s in step {}, which is not from {} to {}: it is left out", rank,
                            seconds, step, kLeastSecondsOfTrace, kMostSecondsOfTrace));
  } else {
    rows.push_back({rank, std::int32_t(step), seconds});
  }
}

void finish_rows(Imported& imported, const std::string& where) {
  if (!std::is_sorted(imported.rows.begin(), imported.rows.end(), comes_before))
    std::sort(imported.rows.begin(), imported.rows.end(), comes_before);
  remove_repeated(imported);
  if (imported.rows.empty()) {
    const std::vector<std::string>& why = imported.remarks.kept();
    throw usage_error(fmt::format("{}: no step of any rank can be used{}", where,
                                  why.empty() ? ": there are no rows" : ": " + why.front()));
  }
  report_gaps(imported);
  number_ranks(imported);
}

void write_trace(const TraceRows& rows, const std::string& title, std::ostream& out) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string text = "# " + printable_line(title) + "\nrank,step,seconds\n";
  for (const TraceRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g}\n", row.rank, row.step, row.seconds);
    if (text.size() < kPiece) continue;
    out << text;
    text.clear();
  }
  out << text;
}

}  // namespace hopbench
