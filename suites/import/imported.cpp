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
    const std::int32_t first = begin->step, last = std::prev(end)->step;
    const auto share = [&](std::ptrdiff_t some) { return 100 * double(some) / double(steps.size()); };
    const auto late = std::lower_bound(steps.begin(), steps.end(), first) - steps.begin();
    const auto early = steps.end() - std::upper_bound(steps.begin(), steps.end(), last);
    if (late > 1)
      imported.remarks.cause(
          fmt::format("rank {} begins at step {}: the {} steps before it ({:.1f} %) are not of all ranks", begin->rank,
                      first, late, share(late)));
    if (early > 1)
      imported.remarks.cause(
          fmt::format("rank {} ends with step {}: the {} steps after it ({:.1f} %) are not of all ranks", begin->rank,
                      last, early, share(early)));
    auto row = begin;
    for (const std::int32_t step : steps) {
      if (row != end && row->step == step) {
        ++row;
      } else if ((step > first || late == 1) && (step < last || early == 1)) {
        imported.remarks.step(begin->rank, step, "missing, though other ranks have it");
      }
    }
  }
}

/// Throws if no step is of all ranks: such a trace cannot be replayed.
void check_common_steps(Imported& imported, const std::vector<std::int32_t>& steps, const std::string& where) {
  const std::vector<RowsOfRank> ranks = by_rank(imported.rows);
  std::vector<std::uint32_t> having(steps.size());
  for (const auto& [begin, end] : ranks) {
    std::size_t at = 0;
    for (auto row = begin; row != end; ++row, ++at) {
      while (steps[at] != row->step) ++at;
      ++having[at];
    }
  }
  if (std::find(having.begin(), having.end(), ranks.size()) != having.end()) return;
  const auto range = [](const RowsOfRank& rank) {
    return fmt::format("rank {} has steps {} to {}", rank.first->rank, rank.first->step, std::prev(rank.second)->step);
  };
  const std::vector<std::string> why = imported.remarks.texts();
  throw usage_error(fmt::format("{}: no step is of all ranks, so that no trace can be replayed ({}; {}){}", where,
                                range(ranks.front()), range(ranks.back()), why.empty() ? "" : ": " + why.front()));
}

/// Reports times that never fall from a step to the next: they are hardly those of steps.
void report_rising(Imported& imported) {
  constexpr std::size_t kEnough = 8, kFactor = 2;
  std::size_t pairs = 0, rises = 0;
  for (const auto& [begin, end] : by_rank(imported.rows)) {
    for (auto row = begin; std::next(row) != end; ++row, ++pairs) {
      if (std::next(row)->seconds < row->seconds) return;
      rises += std::next(row)->seconds > row->seconds ? 1 : 0;
    }
    if (std::prev(end)->seconds < kFactor * begin->seconds) return;
  }
  if (pairs >= kEnough && 2 * rises > pairs)
    imported.remarks.cause(
        "the seconds of every rank rise from step to step and never fall: are they the time since the start? "
        "A trace needs the duration of each step (import csv takes begin and end, too)");
}

/// Returns the median of the seconds, of a sample if there are very many.
double median_seconds(TraceRows::iterator begin, TraceRows::iterator end) {
  constexpr std::ptrdiff_t kMostSamples = 100'000;
  std::vector<double> seconds;
  const std::ptrdiff_t stride = (end - begin) / kMostSamples + 1;
  for (std::ptrdiff_t at = 0; at < end - begin; at += stride) seconds.push_back(begin[at].seconds);
  return median(seconds);
}

/// Returns the number of first steps that are far from all others, and reports them.
std::size_t report_first_steps(Imported& imported, const std::vector<std::int32_t>& steps) {
  constexpr double kFar = 3;
  constexpr std::size_t kMost = 20;
  const double usual = median_seconds(imported.rows.begin(), imported.rows.end());
  std::size_t far = 0;
  double first = 0;
  for (; far < std::min(kMost, steps.size() / 4); ++far) {
    std::vector<double> seconds;
    for (const auto& [begin, end] : by_rank(imported.rows)) {
      const auto row = std::find_if(begin, std::min(end, begin + std::ptrdiff_t(kMost)),
                                    [&](const TraceRow& one) { return one.step >= steps[far]; });
      if (row != end && row->step == steps[far]) seconds.push_back(row->seconds);
    }
    if (median(seconds) < kFar * usual && median(seconds) > usual / kFar) break;
    if (far == 0) first = median(seconds);
  }
  if (far > 0)
    imported.remarks.cause(fmt::format(
        "the first step{} far from the others ({:.4g} s where {:.4g} s are usual), as by compilation or warm-up: "
        "--skip {} leaves {} out",
        far > 1 ? fmt::format("s, {} to {}, are", steps[0], steps[far - 1]) : fmt::format(", {}, is", steps[0]), first,
        usual, far, far > 1 ? "them" : "it"));
  return far;
}

/// Reports ranks with steps that are far from their others, but not the `skipped` first ones.
void report_outliers(Imported& imported, std::size_t skipped) {
  constexpr double kFar = 10;
  for (const auto& [begin, end] : by_rank(imported.rows)) {
    const double limit = kFar * median_seconds(begin, end);
    for (auto row = begin; row != end; ++row) {
      if (row->seconds > limit && std::size_t(row - begin) >= skipped)
        imported.remarks.step(row->rank, row->step, "more than ten times as long as usual, and kept",
                              fmt::format("{:.4g} s", row->seconds));
    }
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

void Remarks::step(std::int64_t rank, std::int64_t step, const std::string& why, const std::string& detail) {
  constexpr std::size_t kShownSteps = 6;
  const auto [at, is_new] = groups_.try_emplace(why);
  Group& group = at->second;
  if (is_new) group.detail = detail;
  ++group.steps;
  auto& [number, first] = group.ranks[rank];
  if (++number <= kShownSteps && step >= 0) first.push_back(step);
}

std::vector<std::string> Remarks::texts() const {
  const auto numbers = [](const std::vector<std::int64_t>& some, std::size_t all) {
    std::vector<std::string> names;
    for (const std::int64_t number : some) names.push_back(std::to_string(number));
    return join(names, ", ") + (all > some.size() ? fmt::format(" and {} more", all - some.size()) : "");
  };
  std::vector<std::string> lines = causes_;
  std::vector<std::pair<std::size_t, std::string>> grouped;
  for (const auto& [why, group] : groups_) {
    std::vector<std::int64_t> ranks;
    for (const auto& [rank, steps] : group.ranks) ranks.push_back(rank);
    const auto& [number, first] = group.ranks.begin()->second;
    constexpr std::size_t kShownRanks = 8;
    std::string text = fmt::format(
        "rank{} {}", ranks.size() > 1 ? "s" : "",
        numbers({ranks.begin(), ranks.begin() + std::min<std::ptrdiff_t>(kShownRanks, std::ptrdiff_t(ranks.size()))},
                ranks.size()));
    if (!first.empty() && ranks.size() == 1)
      text += fmt::format(": step{} {}", number > 1 ? "s" : "", numbers(first, number));
    if (!first.empty() && ranks.size() > 1)
      text += fmt::format(": {} steps, among them step{} {} of rank {}", group.steps, number > 1 ? "s" : "",
                          numbers(first, number), ranks.front());
    text += ": " + why;
    grouped.emplace_back(group.steps,
                         text + (group.detail.empty() ? "" : fmt::format(" (the first: {})", group.detail)));
  }
  std::stable_sort(grouped.begin(), grouped.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [steps, text] : grouped) lines.push_back(std::move(text));
  lines.insert(lines.end(), others_.begin(), others_.end());
  return lines;
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
  std::vector<std::int32_t> steps = all_steps(imported.rows);
  if (skip > 0 && !steps.empty()) {
    steps.erase(steps.begin(), steps.begin() + std::min(std::ptrdiff_t(skip), std::ptrdiff_t(steps.size())));
    std::erase_if(imported.rows, [&](const TraceRow& row) { return steps.empty() || row.step < steps.front(); });
    if (steps.empty()) imported.remarks.cause(fmt::format("--skip {} leaves out all steps", skip));
  }
  if (imported.rows.empty()) {
    const std::vector<std::string> why = imported.remarks.texts();
    throw usage_error(fmt::format("{}: no step of any rank can be used{}", where,
                                  why.empty() ? ": there are no rows" : ": " + why.front()));
  }
  check_common_steps(imported, steps, where);
  report_rising(imported);
  report_outliers(imported, report_first_steps(imported, steps));
  report_gaps(imported, steps);
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
