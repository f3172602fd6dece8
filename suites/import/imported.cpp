#include "suites/import/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/arithmetic/statistics.h"

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
      imported.remarks.step(row.rank, row.step, "more than one row: all are left out");
    }
    from = end;
  }
  rows.erase(to, rows.end());
}

using RowsOfRank = std::pair<TraceRows::iterator, TraceRows::iterator>;
std::vector<RowsOfRank> by_rank(TraceRows& rows) {
  std::vector<RowsOfRank> ranks;
  for (auto begin = rows.begin(); begin != rows.end(); begin = ranks.back().second)
    ranks.emplace_back(begin,
                       std::find_if(begin, rows.end(), [&](const TraceRow& row) { return row.rank != begin->rank; }));
  return ranks;
}

/// Reports the steps that a rank lacks: those before its first and after its last row as one cause.
void report_gaps(Imported& imported, const std::vector<std::int32_t>& steps) {
  for (const auto& [begin, end] : by_rank(imported.rows)) {
    const std::int32_t rank = begin->rank, first = begin->step, last = std::prev(end)->step;
    const auto report = [&](std::ptrdiff_t lacking, const std::string& where, const char* side) {
      if (lacking > 1)
        imported.remarks.cause(fmt::format("rank {} {}: the {} steps {} it ({:.1f} %) are not of all ranks", rank,
                                           where, lacking, side, 100 * double(lacking) / double(steps.size())));
    };
    const auto late = std::lower_bound(steps.begin(), steps.end(), first) - steps.begin();
    const auto early = steps.end() - std::upper_bound(steps.begin(), steps.end(), last);
    report(late, fmt::format("begins at step {}", first), "before");
    report(early, fmt::format("ends with step {}", last), "after");
    auto row = begin;
    for (const std::int32_t step : steps) {
      if (row != end && row->step == step) {
        ++row;
      } else if ((step > first || late == 1) && (step < last || early == 1)) {
        imported.remarks.step(rank, step, "missing, though other ranks have it");
      }
    }
  }
}

/// Reports times that hardly ever fall from a step to the next, and returns true: they are hardly those of steps.
bool report_rising(Imported& imported) {
  constexpr std::size_t kEnough = 8, kEnoughIfNamed = 2, kFactor = 2, kRisesOfFall = 9;
  std::size_t rises = 0, falls = 0;
  for (auto row = imported.rows.begin(); std::next(row) != imported.rows.end(); ++row) {
    if (std::next(row)->rank != row->rank) continue;
    rises += std::next(row)->seconds > row->seconds ? 1 : 0;
    falls += std::next(row)->seconds < row->seconds ? 1 : 0;
  }
  for (const auto& [begin, end] : by_rank(imported.rows))
    if (std::prev(end)->seconds < kFactor * begin->seconds) return false;
  if (rises < (imported.named_like_sums ? kEnoughIfNamed : kEnough) || 2 * rises <= imported.rows.size() ||
      rises < kRisesOfFall * falls)
    return false;
  imported.remarks.cause(
      "the seconds of every rank rise from step to step and hardly ever fall: are they the time since the start? "
      "A trace needs the duration of each step (import csv takes begin and end, too)");
  return true;
}

/// Reports first steps that are far from all others.
void report_first_steps(Imported& imported, const std::vector<std::int32_t>& steps) {
  constexpr double kFar = 3;
  constexpr std::size_t kMost = 20, kMostSamples = 100'000;
  const std::size_t most = std::min(kMost, steps.size() / 4);
  std::vector<double> all;  // or a sample
  for (std::size_t at = 0; at < imported.rows.size(); at += imported.rows.size() / kMostSamples + 1)
    all.push_back(imported.rows[at].seconds);
  std::map<std::int32_t, std::vector<double>> firsts;
  for (const TraceRow& row : imported.rows)
    if (most > 0 && row.step <= steps[most - 1]) firsts[row.step].push_back(row.seconds);
  const double usual = median(all);
  std::size_t far = 0;
  for (const auto& [step, seconds] : firsts) {
    const double here = median(seconds);
    if (here < kFar * usual && here > usual / kFar) break;
    ++far;
  }
  if (far == 0) return;
  imported.remarks.cause(fmt::format(
      "the first step{} far from the others ({:.4g} s where {:.4g} s are usual), as by compilation or warm-up: "
      "--skip {} leaves {} out",
      far > 1 ? fmt::format("s, {} to {}, are", steps[0], steps[far - 1]) : fmt::format(", {}, is", steps[0]),
      median(firsts.begin()->second), usual, far, far > 1 ? "them" : "it"));
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

std::vector<std::int32_t> steps_of(const TraceRows& rows, bool every) {
  std::vector<std::int32_t> steps, own, both;
  for (auto row = rows.begin(); row != rows.end();) {
    const bool first = row == rows.begin();
    own.clear();
    for (const std::int32_t rank = row->rank; row != rows.end() && row->rank == rank; ++row) own.push_back(row->step);
    if (first) steps = own;
    if (own == steps) continue;
    both.clear();
    if (every)
      std::set_intersection(steps.begin(), steps.end(), own.begin(), own.end(), std::back_inserter(both));
    else
      std::set_union(steps.begin(), steps.end(), own.begin(), own.end(), std::back_inserter(both));
    steps.swap(both);
  }
  return steps;
}

void Remarks::step(std::int64_t rank, std::int64_t step, const std::string& why, const std::string& detail) {
  constexpr std::size_t kShownSteps = 6;
  Group& group = groups_.try_emplace(why, Group{{}, 0, {}, rank, detail, 0}).first->second;
  group.ranks.insert(rank);
  ++group.steps;
  if (rank == group.first_rank && step >= 0 && ++group.of_first <= kShownSteps)
    group.shown.push_back(std::to_string(step));
}

std::vector<std::string> Remarks::texts() const {
  std::vector<std::string> lines = causes_;
  std::vector<std::pair<std::size_t, std::string>> grouped;
  for (const auto& [why, group] : groups_) {
    constexpr std::size_t kShownRanks = 8;
    std::vector<std::string> ranks;
    for (const std::int64_t rank : group.ranks) ranks.push_back(std::to_string(rank));
    std::string text = fmt::format("rank{} {}: ", ranks.size() > 1 ? "s" : "", listed(ranks, kShownRanks));
    if (group.of_first > 0) {
      if (ranks.size() > 1) text += fmt::format("{} steps, among them ", group.steps);
      text += fmt::format("step{} {}", group.of_first > 1 ? "s" : "", join(group.shown, ", "));
      if (group.of_first > group.shown.size()) text += fmt::format(" and {} more", group.of_first - group.shown.size());
      text += ranks.size() > 1 ? fmt::format(" of rank {}: ", group.first_rank) : ": ";
    }
    text += why + (group.detail.empty() ? "" : fmt::format(" (the first: {})", group.detail));
    grouped.emplace_back(group.steps, std::move(text));
  }
  std::stable_sort(grouped.begin(), grouped.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [steps, text] : grouped) lines.push_back(std::move(text));
  lines.insert(lines.end(), others_.begin(), others_.end());
  return lines;
}

std::string Remarks::first() const {
  const std::vector<std::string> lines = texts();
  return lines.empty() ? "" : ": " + lines.front();
}

void Imported::add(int rank, std::int64_t step, double seconds) {
  if (step < 0 || step > kMostStepOfTrace) {
    remarks.rank(rank, fmt::format("a step whose number is not from 0 to {}: left out", kMostStepOfTrace),
                 std::to_string(step));
  } else if (!(seconds >= kLeastSecondsOfTrace) || seconds > kMostSecondsOfTrace) {
    remarks.step(
        rank, step,
        fmt::format("a time that is not from {} s to {} s: left out", kLeastSecondsOfTrace, kMostSecondsOfTrace),
        fmt::format("{} s", seconds));
  } else {
    rows.push_back({rank, std::int32_t(step), seconds});
  }
}

void finish_rows(Imported& imported, const std::string& where, std::int64_t skip) {
  if (!std::is_sorted(imported.rows.begin(), imported.rows.end(), comes_before))
    std::sort(imported.rows.begin(), imported.rows.end(), comes_before);
  remove_repeated(imported);
  std::vector<std::int32_t> steps = steps_of(imported.rows, false);
  if (skip > 0 && !steps.empty()) {
    steps.erase(steps.begin(), steps.begin() + std::min(std::ptrdiff_t(skip), std::ptrdiff_t(steps.size())));
    std::erase_if(imported.rows, [&](const TraceRow& row) { return steps.empty() || row.step < steps.front(); });
    if (steps.empty()) imported.remarks.cause(fmt::format("--skip {} leaves out all steps", skip));
  }
  if (imported.rows.empty()) throw usage_error(where + ": no step of any rank can be used" + imported.remarks.first());
  if (!report_rising(imported)) report_first_steps(imported, steps);
  report_gaps(imported, steps);
  if (steps_of(imported.rows, true).empty())
    throw usage_error(where + ": no step is of all ranks, so that no trace can be replayed" + imported.remarks.first());
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
