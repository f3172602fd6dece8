// Comparisons as tables and as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/files/csv.h"
#include "results/judge/compare.h"

namespace hopbench {
namespace {

/// Returns the speed-up with its interval, or if nothing in it is chance, with its range.
Number speed_up_of(const Comparison& row) {
  Number number{.value = row.speed_up, .n = row.n, .interval = row.interval};
  if (!row.by_chance) number.range = Interval{row.least, row.most};
  return number;
}

std::string title_of(const Comparison& row) {
  return fmt::format("{} / {} / {}", row.suite, row.measure, row.scenario);
}

/// Returns the same variant of the same grid in another head's comparisons; nullptr if it is not there.
const Comparison* same_row(const Compared& head, const Comparison& row) {
  const auto key = [](const Comparison& c) { return std::tie(c.suite, c.measure, c.scenario, c.variant); };
  const auto hit =
      std::find_if(head.rows.begin(), head.rows.end(), [&](const Comparison& c) { return key(c) == key(row); });
  return hit == head.rows.end() ? nullptr : &*hit;
}

void add_head_cells(TableRow& cells, const Comparison* row) {
  if (row == nullptr) {
    cells.insert(cells.end(), {"-", "-", "0", "-"});
    return;
  }
  cells.insert(cells.end(),
               {Cell(Number{row->head, row->n}, kPlainNumber), Cell(speed_up_of(*row), kRatioNumber, "ratio"),
                Cell(fmt::format("{}", row->n), Number{double(row->n), row->n}, "pairs"),
                verdict_text(row->verdict, row->threshold)});
}

std::vector<Head> columns_of(std::span<const Compared> heads, const std::string& base) {
  std::vector<Head> columns{"variant", "metric", {"base", base}};
  for (const Compared& head : heads) columns.insert(columns.end(), {{"head", head.name}, "speed-up", "n", "verdict"});
  return columns;
}

void add_note(Table& table, const std::string& head, const Comparison& row) {
  if (row.note.empty()) return;
  std::string text =
      fmt::format("{}, {}: {}: {}", head, row.variant, verdict_text(row.verdict, row.threshold), row.note);
  const auto same = [&](const Note& note) { return note.text == text; };
  if (std::none_of(table.notes.begin(), table.notes.end(), same)) table.note(std::move(text));
}

std::string why_not_compared(const Compared& head, const Comparison& row) {
  if (row.verdict == Verdict::kMissing) return "missing in " + head.name;
  if (row.verdict == Verdict::kNew) return "only in " + head.name;
  return row.verdict == Verdict::kIncomparable ? row.note : "no pair of trials that both have a number";
}

}  // namespace

std::string not_compared_text(std::span<const NotCompared> rows) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> reasons;
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const NotCompared& each : rows) {
    if (by_reason[each.why].empty()) reasons.push_back(each.why);
    by_reason[each.why].push_back(each.row);
  }
  std::string text;
  for (const std::string& why : reasons) {
    const std::vector<std::string>& all = by_reason[why];
    const std::size_t named = std::min(all.size(), kNamed);
    const std::string more = all.size() > named ? fmt::format(" and {} more", all.size() - named) : "";
    text += printable_line(fmt::format("{} {} not compared, {}: {}{}", all.size(), all.size() == 1 ? "row" : "rows",
                                       why, join(std::span(all).first(named), ", "), more)) +
            "\n";
  }
  return text;
}

std::string coverage_text(std::span<const Compared> heads) {
  std::vector<NotCompared> not_compared;
  std::size_t rows = 0;
  for (const Compared& head : heads) {
    rows += head.rows.size();
    for (const Comparison& row : head.rows) {
      if (!compared(row)) not_compared.push_back({title_of(row) + " / " + row.variant, why_not_compared(head, row)});
    }
  }
  return fmt::format("compared {} of {} rows\n", rows - not_compared.size(), rows) + not_compared_text(not_compared);
}

std::vector<Table> comparison_tables(const std::string& base, std::span<const Compared> heads) {
  std::vector<Table> tables;
  std::set<std::string> seen;  // rows that have been shown
  for (const Compared& from : heads) {
    for (const Comparison& row : from.rows) {
      const std::string title = title_of(row);
      if (!seen.insert(title + " / " + row.variant).second) continue;
      auto table = std::find_if(tables.begin(), tables.end(), [&](const Table& t) { return t.title == title; });
      if (table == tables.end()) table = tables.insert(table, {.title = title, .columns = columns_of(heads, base)});
      TableRow cells{row.variant, row.metric.empty() ? "-" : row.metric, {Number{row.base, row.n}, kPlainNumber}};
      for (const Compared& head : heads) {
        const Comparison* here = same_row(head, row);
        add_head_cells(cells, here);
        if (here != nullptr) add_note(*table, head.name, *here);
      }
      table->rows.push_back(std::move(cells));
    }
  }
  return tables;
}

std::string comparison_csv(std::span<const Compared> heads) {
  std::string text = "suite,measure,scenario,variant,head,metric,verdict,n,base,head_median,speed_up,low,high,note\n";
  for (const Compared& head : heads) {
    for (const Comparison& row : head.rows) {
      const auto bound = [&](double Interval::*end) { return row.interval ? csv_number((*row.interval).*end) : ""; };
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(row.suite), csv_field(row.measure),
                          csv_field(row.scenario), csv_field(row.variant), csv_field(head.name), csv_field(row.metric),
                          to_string(row.verdict), row.n, csv_number(row.base), csv_number(row.head),
                          csv_number(row.speed_up), bound(&Interval::low), bound(&Interval::high), csv_field(row.note));
    }
  }
  return text;
}

}  // namespace hopbench
