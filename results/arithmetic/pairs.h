// Pairs: two trials that met the same random draws, since they have the same seed and repeat. Every ratio that hopbench
// shows is of such pairs, and this is the only place that says which trials are a pair.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "backends/base/record/trial_row.h"
#include "results/arithmetic/statistics.h"

namespace hopbench {

/// The random draws of a trial.
struct Draw {
  std::uint64_t seed = 0;
  std::uint32_t repeat = 0;
  bool operator==(const Draw&) const = default;
  bool operator<(const Draw& other) const { return std::tie(seed, repeat) < std::tie(other.seed, other.repeat); }
};
inline Draw draw_of(const TrialRow& row) { return {row.labels.seed, row.labels.repeat}; }
inline bool ended_well(const TrialRow& row) { return row.record.status == TrialStatus::kOk; }

/// Trials of one draw. `Row` is anything with draw_of() and ended_well(): a trial, or what a file says of one.
template <class Row>
struct PairOf {
  const Row *row, *reference;
};

/// Returns the pairs, in the order of the rows.
template <class Row>
std::vector<PairOf<Row>> all_pairs_of(const std::vector<const Row*>& rows, const std::vector<const Row*>& reference) {
  std::vector<PairOf<Row>> pairs;
  for (const Row* row : rows) {
    for (const Row* other : reference) {
      if (draw_of(*row) == draw_of(*other)) pairs.push_back({row, other});
    }
  }
  return pairs;
}

/// Returns the pairs of which both ended well.
template <class Row>
std::vector<PairOf<Row>> pairs_of(const std::vector<const Row*>& rows, const std::vector<const Row*>& reference) {
  std::vector<PairOf<Row>> pairs = all_pairs_of(rows, reference);
  std::erase_if(pairs, [](const PairOf<Row>& pair) { return !ended_well(*pair.row) || !ended_well(*pair.reference); });
  return pairs;
}

/// A quantity of pairs of trials, all of them numbers above 0.
struct PairedSamples {
  std::vector<double> values, reference;
  int gained = 0, lost = 0,
      neither = 0;  // pairs that lack the number: in which only the row, only the reference has it
  int without() const { return gained + lost + neither; }
  Number ratio() const { return paired_ratio(values, reference); }
};

/// Returns the values of a metric in pairs. `metric` returns the optional number of a row.
template <class Row, class Metric>
PairedSamples samples_of(const std::vector<PairOf<Row>>& pairs, const Metric& metric) {
  PairedSamples samples;
  for (const auto& [row, reference] : pairs) {
    const std::optional<double> a = metric(*row), b = metric(*reference);
    samples.gained += a && !b ? 1 : 0;
    samples.lost += b && !a ? 1 : 0;
    samples.neither += !a && !b ? 1 : 0;
    if (!a || !b || *a <= 0 || *b <= 0) continue;
    samples.values.push_back(*a);
    samples.reference.push_back(*b);
  }
  return samples;
}

template <class Row, class Metric>
PairedSamples pairs_of(const std::vector<const Row*>& rows, const std::vector<const Row*>& reference,
                       const Metric& metric) {
  return samples_of(pairs_of(rows, reference), metric);
}

}  // namespace hopbench
