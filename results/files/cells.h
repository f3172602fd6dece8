// Functions that return the value of a table's cell (fields.cpp): a member's value, or a value computed from several.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "results/arithmetic/curve.h"
#include "results/files/csv.h"
#include "results/files/fields.h"

namespace hopbench::cells {

/// Divides instead of multiplying by 1e-9, because the nearest double then prints as the decimal it is (0.04, not
/// 0.040000000000000001).
inline double seconds(Duration d) { return static_cast<double>(d.count()) / 1e9; }

inline CsvValue value_of(const std::string& value) { return {value}; }
inline CsvValue value_of(double value) {
  return {csv_number(value), std::isnan(value) ? std::nullopt : std::optional(value)};
}
inline CsvValue value_of(Duration value) { return value_of(seconds(value)); }
inline CsvValue value_of(Time value) { return value_of(value.time_since_epoch()); }
inline CsvValue value_of(TrialStatus value) { return {to_string(value)}; }
inline CsvValue value_of(const std::vector<Warning>& value) {
  std::vector<std::string> words;
  for (const Warning& warning : value) words.push_back(in_words(warning));
  return {join(words, "; ")};
}
template <std::integral T>
CsvValue value_of(T value) {
  return {std::to_string(value), static_cast<double>(value)};
}
template <class T>
CsvValue value_of(const std::optional<T>& value) {
  return value ? value_of(*value) : CsvValue();
}

/// Returns "" for a negative value, which means unknown.
template <auto kMember>
CsvValue if_known(const TrialRecord& record, const std::string&) {
  return record.*kMember < 0 ? CsvValue() : value_of(record.*kMember);
}

inline CsvValue first_lost(const TrialRecord& record, const std::string&) {
  return record.ranks_lost > 0 ? value_of(seconds_to_duration(record.first_lost_s)) : CsvValue();
}

enum Whose { kAll, kWorkers };

template <std::int64_t RankRecord::*kMember, Whose kWhose>
CsvValue sum(const TrialRecord& record, const std::string&) {
  std::int64_t total = 0;
  for (const RankRecord& rank : record.ranks) {
    if (kWhose == kAll || !rank.server) total += rank.*kMember;
  }
  return value_of(total);
}

template <std::int64_t RankRecord::*kMember, Whose kWhose>
CsvValue largest(const TrialRecord& record, const std::string&) {
  std::int64_t most = 0;
  for (const RankRecord& rank : record.ranks) {
    if (kWhose == kAll || !rank.server) most = std::max(most, rank.*kMember);
  }
  return value_of(most);
}

/// Returns 0 if no worker is left.
inline CsvValue least_iters(const TrialRecord& record, const std::string&) {
  std::optional<std::int64_t> least;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.server && rank.lost.empty()) least = std::min(least.value_or(rank.iters), rank.iters);
  }
  return value_of(least.value_or(0));
}

/// Returns the mean over the ranks that have the figure.
inline CsvValue mean_figure(const TrialRecord& record, const std::string& name) {
  double sum = 0;
  int n = 0;
  for (const RankRecord& rank : record.ranks) {
    const auto figure = rank.figures.find(name);
    if (figure == rank.figures.end()) continue;
    sum += figure->second;
    ++n;
  }
  return n == 0 ? CsvValue() : value_of(sum / n);
}

template <class Of>
void add_keys(const std::map<std::string, Of>& values, std::set<std::string>& keys) {
  for (const auto& [key, value] : values) keys.insert(key);
}
inline void figures_of(const RankRecord& rank, std::set<std::string>& names) { add_keys(rank.figures, names); }
inline void reasons_of(const RankRecord& rank, std::set<std::string>& reasons) { add_keys(rank.waits, reasons); }
inline void all_figures(const TrialRecord& record, std::set<std::string>& names) {
  for (const RankRecord& rank : record.ranks) figures_of(rank, names);
}

inline CsvValue figure(const RankRecord& rank, const std::string& name) {
  const auto found = rank.figures.find(name);
  return found == rank.figures.end() ? CsvValue() : value_of(found->second);
}

inline CsvValue wait(const RankRecord& rank, const std::string& reason) {
  const auto found = rank.waits.find(reason);
  return value_of(found == rank.waits.end() ? Duration() : found->second);
}

inline CsvValue waited(const RankRecord& rank, const std::string&) {
  Duration total{};
  for (const auto& [reason, time] : rank.waits) total += time;
  return value_of(total);
}

inline CsvValue worker_number(const RankRecord& rank, const std::string&) {
  return rank.worker < 0 ? CsvValue() : value_of(rank.worker);
}
inline CsvValue role(const RankRecord& rank, const std::string&) { return {rank.server ? "server" : "worker"}; }

inline CsvValue batch_mean(const RankRecord& rank, const std::string&) {
  if (rank.gradients == 0) return {};
  return value_of(static_cast<double>(rank.samples) / static_cast<double>(rank.gradients));
}

inline CsvValue target(const TableLine& line, const std::string&) {
  const double loss = line.trial->labels.target_loss;
  return loss > 0 ? value_of(loss) : CsvValue();
}

template <Crossing TargetReached::*kMeasure, auto kHow>
CsvValue to_target(const TableLine& line, const std::string&) {
  return value_of(target_reached(*line.trial).*kMeasure.*kHow);
}

template <double CurvePoint::*kValue>
CsvValue at_the_end(const TableLine& line, const std::string&) {
  const CurvePoint* last = final_point(line.trial->record, "mean");
  return last == nullptr ? CsvValue() : value_of(last->*kValue);
}

inline CsvValue best(const TableLine& line, const std::string&) { return value_of(best_accuracy(line.trial->record)); }

inline bool of_whole_trial(const TableLine& line) { return line.rank->rank < 0; }

inline CsvValue rank_or_all(const TableLine& line, const std::string&) {
  return of_whole_trial(line) ? CsvValue{"all"} : value_of(line.rank->rank);
}

inline CsvValue wall(const TableLine& line, const std::string&) {
  return of_whole_trial(line) ? value_of(line.trial->record.wall_s) : CsvValue();
}

}  // namespace hopbench::cells
