// The table of a measure of rates.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/base/record/kinds.h"
#include "results/tables/summary_parts.h"
#include "results/tables/terms.h"

namespace hopbench {
namespace {

using Trials = std::vector<const TrialRow*>;
using Values = std::vector<double>;

Values values_of(const Trials& trials, double TrialRecord::*member) {
  Values values;
  for (const TrialRow* row : trials) values.push_back(row->record.*member);
  return values;
}

std::int64_t sum_over_ranks(const TrialRecord& record, std::int64_t RankRecord::*counter) {
  std::int64_t sum = 0;
  for (const RankRecord& rank : record.ranks) sum += rank.*counter;
  return sum;
}

bool all_zero(const Group& group, std::int64_t RankRecord::*counter) {
  const Trials trials = group.trials();
  return std::all_of(trials.begin(), trials.end(),
                     [&](const TrialRow* row) { return sum_over_ranks(row->record, counter) == 0; });
}

/// Returns "12 (1.5 %)": medians of a counter and of its share in another, which does not include it if `apart`.
Cell counter_cell(const Trials& trials, std::int64_t RankRecord::*part, std::int64_t RankRecord::*whole, bool apart) {
  Values counts, shares;
  for (const TrialRow* row : trials) {
    const auto count = static_cast<double>(sum_over_ranks(row->record, part));
    const double all = static_cast<double>(sum_over_ranks(row->record, whole)) + (apart ? count : 0);
    counts.push_back(count);
    shares.push_back(all > 0 ? count / all : 0);
  }
  const Number count = median_of(counts), share = median_of(shares);
  Cell cell(number_text(count.value), count);
  if (count.value > 0) cell.text += fmt::format(" ({})", percent_text(share.value));
  cell.numbers.push_back({"share", share});
  return cell;
}

std::string main_wait_text(const Trials& trials) {
  std::map<std::string, int> counts;
  for (const TrialRow* row : trials) {
    if (!row->record.main_wait.empty()) ++counts[row->record.main_wait];
  }
  if (counts.empty()) return "-";
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

bool hosts_differ(const Group& group) {
  std::set<int> hosts;
  for (const TrialRow* row : group.trials()) hosts.insert(row->labels.hosts);
  return hosts.size() > 1;
}

constexpr double kHeardDiffers = 0.02;

/// Returns true if more than that share of a trial's work came to no other rank.
bool heard_differs(const Group& group) {
  const Trials trials = group.trials();
  return std::any_of(trials.begin(), trials.end(), [](const TrialRow* row) {
    const double heard = row->record.samples_heard_per_s;
    return heard >= 0 && heard < (1 - kHeardDiffers) * row->record.samples_per_s;
  });
}

/// Returns "1872, 1.43x": the rate of what came to another rank, and its speed-up; "-" if it is not known.
Cell heard_cell(const Group& group, const Variant& variant) {
  const Values heard = values_of(variant.ok(), &TrialRecord::samples_heard_per_s);
  if (heard.empty() || *std::min_element(heard.begin(), heard.end()) < 0) return {Number{}, kPlainNumber};
  const Number ratio = rate_pairs(group, variant, &TrialRecord::samples_heard_per_s).ratio();
  Cell cell(number_text(median(heard)), median_of(heard));
  if (variant.name == group.reference) return cell;
  cell.text += ", " + text_of(ratio, kRatioNumber);
  cell.numbers.push_back({"speed_up", ratio});
  return cell;
}

TableRow variant_row(const Group& group, const Variant& variant, bool with_hosts) {
  const Trials ok = variant.ok();
  const Number rate = median_of(values_of(ok, &TrialRecord::samples_per_s));
  const Number iterations = median_of(values_of(ok, &TrialRecord::iters_per_s));
  const Number waiting = median_of(values_of(ok, &TrialRecord::wait_share));
  TableRow row{variant.name,
               count_cell(variant),
               {rate, kPlainNumber},
               {number_text(iterations.value), iterations},
               speed_up_cell(group, variant, rate_pairs(group, variant)),
               {ok.empty() ? "-" : percent_text(waiting.value), waiting},
               main_wait_text(ok),
               counter_cell(ok, &RankRecord::gradients_lost, &RankRecord::gradients, false),
               counter_cell(ok, &RankRecord::iters_jumped, &RankRecord::iters, true)};
  if (heard_differs(group)) row.push_back(heard_cell(group, variant));
  if (with_hosts) {
    const int hosts = std::max(1, variant.trials.front()->labels.hosts);
    row.emplace_back(Number{double(hosts), rate.n}, kCountNumber);
    row.emplace_back(Number{rate.value / hosts, rate.n}, kPlainNumber);
  }
  return row;
}

/// The variant of a repeat that gives the bound: the reference (the draws are the same), or the one with the largest.
enum class BoundOf { kReference, kLargest };

void add_bound_row(Table& table, const Group& group, const std::string& name, double TrialRecord::*bound, BoundOf of) {
  std::map<Draw, double> by_draw, reference_rates;
  for (const Variant& variant : group.variants) {
    for (const TrialRow* row : variant.ok()) {
      const Draw draw = draw_of(*row);
      if (row->record.*bound <= 0) continue;
      const bool reference = variant.name == group.reference;
      if (reference) reference_rates[draw] = row->record.samples_per_s;
      double& value = by_draw[draw];
      const bool better = of == BoundOf::kLargest ? row->record.*bound > value : reference;
      if (value == 0 || better) value = row->record.*bound;
    }
  }
  if (by_draw.empty()) return;
  Values values, paired, reference;
  for (const auto& [draw, value] : by_draw) {
    values.push_back(value);
    const auto rate = reference_rates.find(draw);
    if (rate == reference_rates.end() || rate->second <= 0) continue;
    paired.push_back(value);
    reference.push_back(rate->second);
  }
  const Number number = median_of(values);
  table.rows.push_back({name,
                        {Number{double(number.n), number.n}, kCountNumber, "ok"},
                        {number, kPlainNumber},
                        "",
                        {paired_ratio(paired, reference), kRatioNumber, "ratio"}});
}

/// Returns the number of pairs that no speed-up counts, since only one of the two has a steady window.
std::size_t unlike_pairs(const Group& group) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return 0;
  std::ptrdiff_t unlike = 0;
  for (const Variant& variant : group.variants) {
    const auto pairs = pairs_of(variant.trials, reference->trials);
    unlike += std::count_if(pairs.begin(), pairs.end(),
                            [](const auto& pair) { return !have_alike_windows(*pair.row, *pair.reference); });
  }
  return std::size_t(unlike);
}

}  // namespace

PairedSamples rate_pairs(const Group& group, const Variant& variant, double TrialRecord::*rate) {
  const Variant* reference = group.find(group.reference);
  if (reference == nullptr) return {};
  // A ratio of rates over a whole trial, including its start, and rates over a steady window says nothing.
  if (mostly_without_window(variant.trials) != mostly_without_window(reference->trials)) return {};
  auto pairs = pairs_of(variant.trials, reference->trials);
  std::erase_if(pairs, [](const auto& pair) { return !have_alike_windows(*pair.row, *pair.reference); });
  return samples_of(pairs, [&](const TrialRow& row) { return std::optional(row.record.*rate); });
}

Table rate_table(const Group& group) {
  const bool with_hosts = hosts_differ(group);
  Table table{.title = group.title(),
              .columns = listed({"variant", "n", "samples/s", "iterations/s", "speed-up", "waiting", "mostly for",
                                 "gradients lost", "iterations jumped"}),
              .caption = group.in_words(),
              .narrow = {"variant", "samples/s", "speed-up"}};
  if (all_zero(group, &RankRecord::gradients_lost)) table.idle.emplace_back("gradients lost");
  if (all_zero(group, &RankRecord::iters_jumped)) table.idle.emplace_back("iterations jumped");
  if (heard_differs(group)) {
    table.columns.push_back(listed("heard/s"));
    explain(table, "heard/s");
  }
  if (const std::size_t unlike = unlike_pairs(group); unlike > 0)
    table.note(fmt::format("speed-up: without the {} of which only one trial has a steady window",
                           unlike == 1 ? "pair" : fmt::format("{} pairs", unlike)));
  if (with_hosts) {
    for (Head& head : listed({"hosts", "samples/s a host"})) table.columns.push_back(std::move(head));
    explain(table, "hosts");
  }
  for (const Variant& variant : group.variants) table.rows.push_back(variant_row(group, variant, with_hosts));
  add_marks_column(table, group);
  add_bound_row(table, group, std::string(kIdealRow), &TrialRecord::window_ideal_samples_per_s, BoundOf::kLargest);
  add_bound_row(table, group, std::string(kSlowestRow), &TrialRecord::slowest_rank_samples_per_s, BoundOf::kReference);
  add_bound_row(table, group, std::string(kWithoutSlowestRow), &TrialRecord::without_slowest_samples_per_s,
                BoundOf::kReference);
  explain(table, "samples/s");
  explain(table, "iterations/s");
  table.note(explained("ideal") + "; " + explained("slowest rank") + "; " + explained("slowest left out"));
  return table;
}

}  // namespace hopbench
