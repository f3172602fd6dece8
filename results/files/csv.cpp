#include "results/files/csv.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "results/files/fields.h"

namespace hopbench {
namespace {

/// A column of the file, such as "figure: f" for the listed "figure: NAME".
struct WrittenColumn {
  std::string title;
  std::function<CsvValue(const TableLine&)> cell;
};

template <class Record, class RecordOf>
void add_column(const Field<Record>& field, const std::vector<TableLine>& lines, const RecordOf& record_of,
                std::vector<WrittenColumn>& columns) {
  const auto add = [&](const std::string& title, const std::string& key) {
    columns.push_back(
        {title, [&field, record_of, key](const TableLine& line) { return field.cell(*record_of(line), key); }});
  };
  const std::string title = field.column.name;
  if (field.keys == nullptr) return add(title, "");
  std::set<std::string> keys;
  for (const TableLine& line : lines) field.keys(*record_of(line), keys);
  for (const std::string& key : keys) add(title.substr(0, title.rfind(' ') + 1) + key, key);
}

std::vector<WrittenColumn> columns_of(const char* table, const std::vector<TableLine>& lines) {
  std::vector<WrittenColumn> columns;
  visit_columns(table, [&](const char* of, const auto& list, const auto& record_of) {
    for (const auto& field : list) {
      if (field.is_in(of)) add_column(field, lines, record_of, columns);
    }
  });
  return columns;
}

/// Returns the table. Without lines it has the column names only.
std::string csv_of(const char* table, const std::vector<TableLine>& lines) {
  const std::vector<WrittenColumn> columns = columns_of(table, lines);
  std::string text;
  const auto add = [&](const WrittenColumn& column, const std::string& cell) {
    text += csv_field(cell);
    text += &column == &columns.back() ? '\n' : ',';
  };
  for (const WrittenColumn& column : columns) add(column, column.title);
  for (const TableLine& line : lines) {
    for (const WrittenColumn& column : columns) add(column, column.cell(line).text);
  }
  return text;
}

std::vector<const TrialRow*> in_order(std::span<const TrialRow> rows) {
  std::vector<const TrialRow*> sorted;
  for (const TrialRow& row : rows) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(), [](const TrialRow* a, const TrialRow* b) {
    return std::tie(a->labels.order, a->record.id) < std::tie(b->labels.order, b->record.id);
  });
  return sorted;
}

/// Returns the row of host.csv for the whole trial.
RankRecord host_of(const TrialRecord& trial) {
  RankRecord all;
  all.rank = -1;
  all.cpu_s = trial.cpu_s;
  all.max_rss_bytes = trial.max_rss_bytes;
  for (const RankRecord& rank : trial.ranks) {
    all.cpu_wait_s += rank.cpu_wait_s;
    all.contended_s += rank.contended_s;
    all.overruns += rank.overruns;
    all.state_vectors += rank.state_vectors;
    all.awaited_bodies += rank.awaited_bodies;
    all.staged_bodies += rank.staged_bodies;
    all.gpu_fallbacks += rank.gpu_fallbacks;
    all.link_late_median_s = std::max(all.link_late_median_s, rank.link_late_median_s);
    all.link_late_p99_s = std::max(all.link_late_p99_s, rank.link_late_p99_s);
  }
  return all;
}

}  // namespace

std::string trials_csv(std::span<const TrialRow> rows) {
  std::vector<TableLine> lines;
  for (const TrialRow* row : in_order(rows)) lines.push_back({row});
  return csv_of("trials.csv", lines);
}

std::string ranks_csv(std::span<const TrialRow> rows) {
  std::vector<TableLine> lines;
  for (const TrialRow* row : in_order(rows)) {
    for (const RankRecord& rank : row->record.ranks) lines.push_back({row, &rank});
  }
  return csv_of("ranks.csv", lines);
}

std::string curve_csv(std::span<const TrialRow> rows) {
  std::vector<TableLine> lines;
  for (const TrialRow* row : in_order(rows)) {
    for (const CurvePoint& point : row->record.curve) lines.push_back({row, nullptr, &point});
  }
  return csv_of("curve.csv", lines);
}

std::string host_csv(std::span<const TrialRow> rows) {
  std::vector<RankRecord> whole;
  whole.reserve(rows.size());  // lines point into it
  std::vector<TableLine> lines;
  for (const TrialRow* row : in_order(rows)) {
    lines.push_back({row, &whole.emplace_back(host_of(row->record))});
    for (const RankRecord& rank : row->record.ranks) lines.push_back({row, &rank});
  }
  return csv_of("host.csv", lines);
}

std::vector<TrialCells> trial_cells(std::span<const TrialRow* const> rows) {
  std::vector<TableLine> lines;
  for (const TrialRow* row : rows) lines.push_back({row});
  const std::vector<WrittenColumn> columns = columns_of("trials.csv", lines);
  std::vector<TrialCells> cells;
  for (const TableLine& line : lines) {
    TrialCells& row = cells.emplace_back();
    for (const WrittenColumn& column : columns) row[column.title] = column.cell(line);
  }
  return cells;
}

}  // namespace hopbench
