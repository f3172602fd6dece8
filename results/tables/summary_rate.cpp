// The table of a measure of rates.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "results/files/kinds.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using Values = std::vector<double>;

template <class Get>
Values values_of(const std::vector<const TrialRow*>& trials, Get get) {
  Values values;
  for (const TrialRow* row : trials) values.push_back(static_cast<double>(get(row->record)));
  return values;
}

std::int64_t sum_over_ranks(const TrialRecord& record, std::int64_t RankRecord::*counter) {
  std::int64_t sum = 0;
  for (const RankRecord& rank : record.ranks) sum += rank.*counter;
  return sum;
}

bool all_zero(const Group& group, std::int64_t RankRecord::*counter) {
  const auto trials = group.trials();
  return std::all_of(trials.begin(), trials.end(),
                     [&](const TrialRow* row) { return sum_over_ranks(row->record, counter) == 0; });
}

/// Returns "12 (1.5 %)": medians of a counter and of its share in another, which does not include it if `apart`.
std::string counter_text(const std::vector<const TrialRow*>& trials, std::int64_t RankRecord::*part,
                         std::int64_t RankRecord::*whole, bool apart) {
  Values counts, shares;
  for (const TrialRow* row : trials) {
    const auto count = static_cast<double>(sum_over_ranks(row->record, part));
    const double all = static_cast<double>(sum_over_ranks(row->record, whole)) + (apart ? count : 0);
    counts.push_back(count);
    shares.push_back(all > 0 ? count / all : 0);
  }
  if (counts.empty()) return "-";
  if (median(counts) == 0) return "0";
  return fmt::format("{} ({})", number_text(median(counts)), percent_text(median(shares)));
}

std::string main_wait_text(const std::vector<const TrialRow*>& trials) {
  std::map<std::string, int> counts;
  for (const TrialRow* row : trials) {
    if (!row->record.main_wait.empty()) ++counts[row->record.main_wait];
  }
  if (counts.empty()) return "-";
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string rate_speed_up(const Group& group, const Variant& variant) {
  const SpeedUpPairs pairs = rate_pairs(group, variant);
  return variant.name == group.reference && !pairs.above.empty() ? "1 (reference)"
                                                                 : ratio_text(pairs.above, pairs.below);
}

bool hosts_differ(const Group& group) {
  std::set<int> hosts;
  for (const TrialRow* row : group.trials()) hosts.insert(row->labels.hosts);
  return hosts.size() > 1;
}

constexpr double kHeardDiffers = 0.02;

/// Returns true if more than that share of a trial's work came to no other rank.
bool heard_differs(const Group& group) {
  const auto trials = group.trials();
  return std::any_of(trials.begin(), trials.end(), [](const TrialRow* row) {
    const double heard = row->record.samples_heard_per_s;
    return heard >= 0 && heard < (1 - kHeardDiffers) * row->record.samples_per_s;
  });
}

/// Returns "1872, 1.43x": the rate of what came to another rank, and its speed-up; "-" if it is not known.
std::string heard_text(const Group& group, const Variant& variant) {
  const auto ok = variant.ok();
  const Values heard = values_of(ok, [](const TrialRecord& r) { return r.samples_heard_per_s; });
  if (heard.empty() || *std::min_element(heard.begin(), heard.end()) < 0) return "-";
  const SpeedUpPairs pairs = rate_pairs(group, variant, &TrialRecord::samples_heard_per_s);
  const bool reference = variant.name == group.reference;
  return number_text(median(heard)) + (reference ? "" : ", " + ratio_text(pairs.above, pairs.below));
}

std::vector<std::string> variant_row(const Group& group, const Variant& variant, bool with_hosts) {
  const auto ok = variant.ok();
  const Values rates = values_of(ok, [](const TrialRecord& r) { return r.samples_per_s; });
  const Values waits = values_of(ok, [](const TrialRecord& r) { return r.wait_share; });
  std::vector<std::string> row{
      variant.name,
      count_text(variant),
      median_text(rates),
      number_text(median(values_of(ok, [](const TrialRecord& r) { return r.iters_per_s; }))),
      rate_speed_up(group, variant),
      ok.empty() ? "-" : percent_text(median(waits)),
      main_wait_text(ok),
      counter_text(ok, &RankRecord::gradients_lost, &RankRecord::gradients, false),
      counter_text(ok, &RankRecord::iters_jumped, &RankRecord::iters, true),
  };
  if (heard_differs(group)) row.push_back(heard_text(group, variant));
  if (with_hosts) {
    const int hosts = std::max(1, variant.trials.front()->labels.hosts);
    row.push_back(fmt::format("{}", hosts));
    row.push_back(number_text(median(rates) / hosts));
  }
  return row;
}

/// The variant of a repeat that gives the bound: the reference (the draws are the same), or the one with the largest.
enum class BoundOf { kReference, kLargest };

void add_bound_row(Grid& grid, const Group& group, const std::string& name, double TrialRecord::*bound, BoundOf of) {
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  std::map<Key, double> by_repeat, reference_rates;
  for (const Variant& variant : group.variants) {
    for (const TrialRow* row : variant.ok()) {
      const Key key{row->labels.seed, row->labels.repeat};
      if (row->record.*bound <= 0) continue;
      const bool reference = variant.name == group.reference;
      if (reference) reference_rates[key] = row->record.samples_per_s;
      double& value = by_repeat[key];
      const bool better = of == BoundOf::kLargest ? row->record.*bound > value : reference;
      if (value == 0 || better) value = row->record.*bound;
    }
  }
  if (by_repeat.empty()) return;
  Values values, paired, reference;
  for (const auto& [key, value] : by_repeat) {
    values.push_back(value);
    const auto rate = reference_rates.find(key);
    if (rate == reference_rates.end() || rate->second <= 0) continue;
    paired.push_back(value);
    reference.push_back(rate->second);
  }
  grid.rows.push_back({name, fmt::format("{}", values.size()), median_text(values), "", ratio_text(paired, reference)});
}

}  // namespace

bool mostly_without_window(const Variant& variant) {
  const auto ok = variant.ok();
  const auto without = std::count_if(ok.begin(), ok.end(), [](const TrialRow* row) {
    return has(row->record.warnings, WarningKind::kNoSteadyWindow);
  });
  return 2 * std::size_t(without) > ok.size();
}

bool have_alike_windows(const TrialRow& a, const TrialRow& b) {
  const auto without = [](const TrialRow& row) { return has(row.record.warnings, WarningKind::kNoSteadyWindow); };
  return without(a) == without(b);
}

SpeedUpPairs rate_pairs(const Group& group, const Variant& variant, double TrialRecord::*rate) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return {};
  // A ratio of rates over a whole trial, including its start, and rates over a steady window says nothing.
  if (mostly_without_window(variant) != mostly_without_window(*reference)) return {};
  SpeedUpPairs pairs;
  for (const auto& [a, b] : pairs_of(variant, *reference)) {
    if (!have_alike_windows(*a, *b)) continue;
    if (a->record.*rate <= 0 || b->record.*rate <= 0) continue;  // nothing was done in that trial
    pairs.above.push_back(a->record.*rate);
    pairs.below.push_back(b->record.*rate);
  }
  return pairs;
}

namespace {

/// Returns the number of pairs that no speed-up counts, since only one of the two has a steady window.
int unlike_pairs(const Group& group) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return 0;
  std::ptrdiff_t unlike = 0;
  for (const Variant& variant : group.variants) {
    const std::vector<Pair> pairs = pairs_of(variant, *reference);
    unlike += std::count_if(pairs.begin(), pairs.end(),
                            [](const Pair& pair) { return !have_alike_windows(*pair.a, *pair.b); });
  }
  return int(unlike);
}

}  // namespace

Grid rate_grid(const Group& group) {
  const bool with_hosts = hosts_differ(group);
  const int unlike = unlike_pairs(group);
  Grid grid;
  grid.title = group.title;
  grid.rows.push_back({"variant", "n", "samples/s", "iterations/s", "speed-up", "waiting", "mostly for",
                       "gradients lost", "iterations jumped"});
  grid.narrow = {"variant", "samples/s", "speed-up"};
  if (all_zero(group, &RankRecord::gradients_lost)) grid.idle.emplace_back("gradients lost");
  if (all_zero(group, &RankRecord::iters_jumped)) grid.idle.emplace_back("iterations jumped");
  if (heard_differs(group)) {
    grid.rows[0].emplace_back("heard/s");
    grid.notes.push_back(explained("heard/s"));
  }
  if (unlike > 0)
    grid.notes.push_back(fmt::format("speed-up: without the {} of which only one trial has a steady window",
                                     unlike == 1 ? "pair" : fmt::format("{} pairs", unlike)));
  if (with_hosts) {
    grid.rows[0].insert(grid.rows[0].end(), {"hosts", "samples/s a host"});
    grid.notes.push_back(explained("hosts"));
  }
  for (const Variant& variant : group.variants) grid.rows.push_back(variant_row(group, variant, with_hosts));
  add_marks_column(grid, group);
  add_bound_row(grid, group, std::string(kIdealRow), &TrialRecord::window_ideal_samples_per_s, BoundOf::kLargest);
  add_bound_row(grid, group, std::string(kSlowestRow), &TrialRecord::slowest_rank_samples_per_s, BoundOf::kReference);
  add_bound_row(grid, group, std::string(kWithoutSlowestRow), &TrialRecord::without_slowest_samples_per_s,
                BoundOf::kReference);
  grid.notes.push_back(explained("samples/s"));
  grid.notes.push_back(explained("iterations/s"));
  grid.notes.push_back(explained("ideal") + "; " + explained("slowest rank") + "; " + explained("slowest left out"));
  return grid;
}

}  // namespace hopbench
