#include "results/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/curve.h"
#include "results/json.h"

namespace hopbench {
namespace {

/// Division, not multiplication by 1e-9: the nearest double prints as the decimal it is (0.04, not
/// 0.040000000000000001).
double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }
double seconds(Duration d) { return seconds(d.count()); }
double seconds(Time t) { return seconds(t.time_since_epoch().count()); }

/// A row, cell by cell; the names of the columns are taken from the first row that is written.
class Table {
 public:
  void cell(const std::string& column, std::string_view text) { add(column, csv_field(text)); }
  void cell(const std::string& column, const std::string& text) { add(column, csv_field(text)); }
  void cell(const std::string& column, const char* text) { add(column, csv_field(text)); }
  void cell(const std::string& column, double value) { add(column, csv_number(value)); }
  void cell(const std::string& column, std::optional<double> value) {
    add(column, value ? csv_number(*value) : std::string());
  }
  template <std::integral T>
  void cell(const std::string& column, T value) {
    add(column, fmt::format("{}", value));
  }
  void end_row() {
    body_ += '\n';
    if (!has_head_) body_.insert(0, head_ + '\n');
    has_head_ = true;
    first_ = true;
  }
  bool empty() const { return !has_head_; }
  std::string text() && { return std::move(body_); }
  /// The names of the columns alone, from one row that was written for their sake.
  std::string head() && { return head_ + '\n'; }

 private:
  void add(const std::string& column, const std::string& field) {
    if (!first_) body_ += ',';
    body_ += field;
    if (!has_head_) {
      if (!first_) head_ += ',';
      head_ += csv_field(column);
    }
    first_ = false;
  }
  std::string head_, body_;
  bool has_head_ = false, first_ = true;
};

std::vector<const TrialRow*> in_order(std::span<const TrialRow> rows) {
  std::vector<const TrialRow*> sorted;
  for (const TrialRow& row : rows) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(), [](const TrialRow* a, const TrialRow* b) {
    return std::tie(a->labels.order, a->record.id) < std::tie(b->labels.order, b->record.id);
  });
  return sorted;
}

/// What every table begins with.
void key_cells(Table& table, const TrialRow& row) {
  table.cell("trial", row.record.id);
  table.cell("scenario", row.labels.scenario);
  table.cell("variant", row.labels.variant);
  table.cell("seed", row.labels.seed);
  table.cell("repeat", row.labels.repeat);
}

void setting_cells(Table& table, const TrialLabels& labels) {
  table.cell("suite", labels.suite);
  table.cell("measure", labels.measure);
  table.cell("what", labels.what);
  table.cell("protocol", labels.protocol);
  table.cell("knobs", labels.knobs);
  table.cell("backend", labels.backend);
  table.cell("transport", labels.transport);
  table.cell("clock", labels.clock);
  table.cell("world", labels.world);
  table.cell("hosts", labels.hosts);
  table.cell("batch", labels.batch);
  table.cell("model", labels.model);
  table.cell("dataset", labels.dataset);
  table.cell("split", labels.split);
  table.cell("topology", labels.topology);
  table.cell("network", labels.network);
  table.cell("optimizer", labels.optimizer);
  table.cell("tuned", labels.tuned ? 1 : 0);
  table.cell("cost_s", labels.cost_s);
  table.cell("experimental", labels.experimental ? 1 : 0);
  table.cell("source", labels.source);
  table.cell("reading", labels.reading);
  table.cell("order", labels.order);
}

void work_cells(Table& table, const TrialRecord& record) {
  RankRecord sum;
  constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::max();
  std::int64_t least = kNobody;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.server && rank.lost.empty()) least = std::min(least, rank.iters);
    if (!rank.server) {
      sum.iters += rank.iters;
      sum.iters_jumped += rank.iters_jumped;
    }
    sum.gradients += rank.gradients;
    sum.gradients_lost += rank.gradients_lost;
    sum.samples += rank.samples;
    sum.bytes_sent += rank.bytes_sent;
    sum.messages_sent += rank.messages_sent;
  }
  table.cell("time_s", record.time_s);
  table.cell("ranks_lost", record.ranks_lost);
  table.cell("first_lost_s",
             record.ranks_lost > 0 ? std::optional(seconds(seconds_to_duration(record.first_lost_s))) : std::nullopt);
  table.cell("iters_total", sum.iters);
  table.cell("iters_jumped", sum.iters_jumped);
  table.cell("iters_min_rank", least == kNobody ? std::int64_t{0} : least);
  table.cell("gradients", sum.gradients);
  table.cell("gradients_lost", sum.gradients_lost);
  table.cell("samples", sum.samples);
  table.cell("bytes_sent", sum.bytes_sent);
  table.cell("messages", sum.messages_sent);
}

void rate_cells(Table& table, const TrialRecord& record) {
  table.cell("window_start_s", record.window_start_s);
  table.cell("window_end_s", record.window_end_s);
  table.cell("samples_per_s", record.samples_per_s);
  table.cell("iters_per_s", record.iters_per_s);
  table.cell("median_iteration_s", record.median_iteration_s);
  table.cell("wait_share", record.wait_share);
  table.cell("main_wait", record.main_wait);
  table.cell("window_ideal_samples_per_s",
             record.window_ideal_samples_per_s >= 0 ? std::optional(record.window_ideal_samples_per_s) : std::nullopt);
  table.cell("slowest_rank_samples_per_s", record.slowest_rank_samples_per_s);
  table.cell("without_slowest_samples_per_s", record.without_slowest_samples_per_s);
  table.cell("overrun_share", record.overrun_share);
}

/// The protocols' own.
std::set<std::string> figures_in(std::span<const TrialRow> rows) {
  std::set<std::string> names;
  for (const TrialRow& row : rows) {
    for (const RankRecord& rank : row.record.ranks) {
      for (const auto& [name, figure] : rank.figures) names.insert(name);
    }
  }
  return names;
}

/// Over the ranks that have it.
std::optional<double> mean_figure(const TrialRecord& record, const std::string& name) {
  double sum = 0;
  int n = 0;
  for (const RankRecord& rank : record.ranks) {
    const auto figure = rank.figures.find(name);
    if (figure == rank.figures.end()) continue;
    sum += figure->second;
    ++n;
  }
  return n == 0 ? std::nullopt : std::optional(sum / n);
}

/// Over the workers.
void progress_cells(Table& table, const TrialRecord& record) {
  std::int64_t gap = 0, stalest = 0;
  std::vector<double> staleness;
  for (const RankRecord& rank : record.ranks) {
    stalest = std::max(stalest, rank.staleness_max);
    if (rank.server) continue;
    gap = std::max(gap, rank.gap_max);
  }
  table.cell("gap_max", gap);
  table.cell("gap_bound", record.gap_bound < 0 ? std::nullopt : std::optional(double(record.gap_bound)));
  table.cell("staleness_max", stalest);
}

void learning_cells(Table& table, const TrialRow& row) {
  const bool has_target = row.labels.target_loss > 0;
  const TargetReached reached = target_reached(row);
  const CurvePoint* last = final_point(row.record, "mean");
  table.cell("target_loss", has_target ? std::optional(row.labels.target_loss) : std::nullopt);
  table.cell("time_to_target_s", reached.time_s.fitted);
  table.cell("time_to_target_held_s", reached.time_s.held);
  table.cell("samples_to_target", reached.samples.fitted);
  table.cell("samples_to_target_held", reached.samples.held);
  table.cell("iters_to_target", reached.iterations.fitted);
  table.cell("iters_to_target_held", reached.iterations.held);
  table.cell("final_loss", last != nullptr ? std::optional(last->loss) : std::nullopt);
  table.cell("final_accuracy", last != nullptr ? std::optional(last->accuracy) : std::nullopt);
  table.cell("best_accuracy", best_accuracy(row.record));
}

void rank_cells(Table& table, const RankRecord& rank) {
  Duration waited{};
  for (const auto& [reason, time] : rank.waits) waited += time;
  table.cell("rank", rank.rank);
  table.cell("role", rank.server ? "server" : "worker");
  table.cell("lost", rank.lost);
  table.cell("finished_s", seconds(rank.finished));
  table.cell("compute_s", seconds(rank.compute));
  table.cell("wait_s", seconds(waited));
  table.cell("injected_delay_s", seconds(rank.injected_delay));
  table.cell("vector_ops_s", seconds(rank.vector_ops));
  table.cell("iters", rank.iters);
  table.cell("iters_jumped", rank.iters_jumped);
  table.cell("gradients", rank.gradients);
  table.cell("gradients_lost", rank.gradients_lost);
  table.cell("samples", rank.samples);
  table.cell("batch_mean", rank.gradients > 0
                               ? std::optional(static_cast<double>(rank.samples) / static_cast<double>(rank.gradients))
                               : std::nullopt);
  table.cell("messages", rank.messages_sent);
  table.cell("bytes_sent", rank.bytes_sent);
  table.cell("slow_events", rank.slow_events);
  table.cell("staleness_mean", rank.staleness_mean);
  table.cell("staleness_max", rank.staleness_max);
  table.cell("gap_mean", rank.gap_mean);
  table.cell("gap_max", rank.gap_max);
  table.cell("queue_max", rank.queue_max);
}

}  // namespace

std::string trials_csv(std::span<const TrialRow> rows) {
  const std::set<std::string> figures = figures_in(rows);
  Table table;
  for (const TrialRow* row : in_order(rows)) {
    key_cells(table, *row);
    setting_cells(table, row->labels);
    table.cell("status", to_string(row->record.status));
    table.cell("reason", row->record.reason);
    table.cell("warnings", join(row->record.warnings, "; "));
    work_cells(table, row->record);
    rate_cells(table, row->record);
    progress_cells(table, row->record);
    learning_cells(table, *row);
    table.cell("params_hash", row->record.params_hash);
    for (const std::string& name : figures) table.cell("figure: " + name, mean_figure(row->record, name));
    table.end_row();
  }
  return std::move(table).text();
}

std::string ranks_csv(std::span<const TrialRow> rows) {
  const std::set<std::string> figures = figures_in(rows);
  std::set<std::string> reasons;
  for (const TrialRow& row : rows) {
    for (const RankRecord& rank : row.record.ranks) {
      for (const auto& [reason, time] : rank.waits) reasons.insert(reason);
    }
  }
  Table table;
  const auto add = [&](const TrialRow& row, const RankRecord& rank) {
    key_cells(table, row);
    rank_cells(table, rank);
    for (const std::string& reason : reasons) {
      const auto wait = rank.waits.find(reason);
      table.cell("wait_s: " + reason, wait == rank.waits.end() ? 0.0 : seconds(wait->second));
    }
    for (const std::string& name : figures) {
      const auto figure = rank.figures.find(name);
      table.cell("figure: " + name, figure == rank.figures.end() ? std::nullopt : std::optional(figure->second));
    }
    table.end_row();
  };
  for (const TrialRow* row : in_order(rows)) {
    for (const RankRecord& rank : row->record.ranks) add(*row, rank);
  }
  if (!table.empty()) return std::move(table).text();
  add({}, {});
  return std::move(table).head();
}

std::string curve_csv(std::span<const TrialRow> rows) {
  Table table;
  const auto add = [&](const TrialRow& row, const CurvePoint& point) {
    key_cells(table, row);
    table.cell("model", point.model);
    table.cell("time_s", seconds(point.time));
    table.cell("iteration", point.iteration);
    table.cell("samples", point.samples);
    table.cell("loss", point.loss);
    table.cell("accuracy", point.accuracy);
    table.cell("consensus_distance", point.consensus_distance);
    table.end_row();
  };
  for (const TrialRow* row : in_order(rows)) {
    for (const CurvePoint& point : row->record.curve) add(*row, point);
  }
  if (!table.empty()) return std::move(table).text();
  add({}, {});
  return std::move(table).head();
}

std::string host_csv(std::span<const TrialRow> rows) {
  Table table;
  const auto add = [&](const TrialRow& row, const std::string& rank, std::optional<double> wall_s,
                       const RankRecord& host) {
    key_cells(table, row);
    table.cell("rank", rank);
    table.cell("wall_s", wall_s);
    table.cell("cpu_s", host.cpu_s);
    table.cell("cpu_wait_s", host.cpu_wait_s);
    table.cell("contended_s", host.contended_s);
    table.cell("overruns", host.overruns);
    table.cell("max_rss_bytes", host.max_rss_bytes);
    table.cell("link_late_median_s", host.link_late_median_s);
    table.cell("link_late_p99_s", host.link_late_p99_s);
    table.cell("machine", host.machine);
    table.end_row();
  };
  for (const TrialRow* row : in_order(rows)) {
    RankRecord all;
    all.cpu_s = row->record.cpu_s;
    all.max_rss_bytes = row->record.max_rss_bytes;
    for (const RankRecord& rank : row->record.ranks) {
      all.cpu_wait_s += rank.cpu_wait_s;
      all.contended_s += rank.contended_s;
      all.overruns += rank.overruns;
      all.link_late_median_s = std::max(all.link_late_median_s, rank.link_late_median_s);
      all.link_late_p99_s = std::max(all.link_late_p99_s, rank.link_late_p99_s);
    }
    add(*row, "all", row->record.wall_s, all);
    for (const RankRecord& rank : row->record.ranks) add(*row, std::to_string(rank.rank), std::nullopt, rank);
  }
  return std::move(table).text();
}

}  // namespace hopbench
