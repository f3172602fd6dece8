#include "suites/claims/claims.h"

#include "backends/base/files/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/files/csv.h"
#include "results/tables/numbers.h"

namespace hopbench {
namespace {

constexpr double kInfinitelyLate = std::numeric_limits<double>::infinity();  // later than everything
constexpr double kRounding = 1e-9;                                           // rounding error of logarithms

/// The values of a claim's metric in the rows that one selection names, by draw.
struct Sample {
  std::string name;
  std::map<Draw, double> by_draw;
  int trials = 0, failed = 0, without = 0, unreached = 0;

  int ok() const { return trials - failed; }
  bool never() const { return ok() > 0 && unreached == ok(); }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const auto& [draw, value] : by_draw) all.push_back(value);
    return all;
  }
};

std::vector<std::string> as_list(const std::set<std::string>& set) { return {set.begin(), set.end()}; }

Selection selection_in(const Outcome& row) { return {row.text("measure"), row.text("scenario"), row.text("variant")}; }

void add_row(Sample& sample, const Outcome& row, const std::string& metric) {
  if (!row.cells.contains(metric))
    throw usage_error(fmt::format("there is no metric '{}' in {}: docs/results.md has the columns of trials.csv",
                                  metric, row.text("trial")));
  ++sample.trials;
  if (!row.ok()) {
    ++sample.failed;
    return;
  }
  const std::optional<double> value = row.number(metric);
  const bool reaches = metric.find("_to_target") != std::string::npos;
  if (!value && !reaches) ++sample.without;
  if (!value && reaches) ++sample.unreached;
  if (value || reaches) sample.by_draw[draw_of(row)] = value.value_or(kInfinitelyLate);
}

Sample sample_of(const Claim& claim, const Selection& selection, std::span<const Outcome> outcomes) {
  Sample sample;
  std::set<std::string> found;
  for (const Outcome& row : outcomes) {
    const Selection whole = selection_in(row);
    if (!selection.finds(whole)) continue;
    found.insert(whole.text());
    add_row(sample, row, claim.metric);
  }
  if (found.size() != 1)
    throw usage_error(fmt::format("claim {}: '{}' is {} in these results", claim.id, selection.text(),
                                  found.empty() ? "nothing" : "more than one: " + join(as_list(found), "; ")));
  sample.name = selection.variant.empty() ? *found.begin() : selection.variant;
  return sample;
}

/// Returns the verdict on a number in a range, or on the ratio of neighbours in an order.
ClaimVerdict within(double number, const std::optional<Interval>& interval, const std::optional<double>& at_least,
                    const std::optional<double>& at_most) {
  bool in = true;
  for (const auto& [bound, least] : {std::pair{at_least, true}, std::pair{at_most, false}}) {
    if (!bound) continue;
    const double slack = kRounding * std::abs(*bound);
    in = in && (least ? number >= *bound - slack : number <= *bound + slack);
    if (interval && interval->low < *bound - slack && interval->high > *bound + slack) return ClaimVerdict::kUndecided;
  }
  return in ? ClaimVerdict::kHolds : ClaimVerdict::kDiffers;
}

/// Returns the fault of the rows themselves that leaves nothing to compute from them; "" if there is none.
std::string amiss(const Sample& sample, const std::string& metric) {
  if (sample.by_draw.empty() && sample.failed == sample.trials) return sample.name + ": all trials failed";
  if (sample.without > 0) return fmt::format("{}: has no {}", sample.name, metric);
  if (sample.unreached > 0 && !sample.never())
    return fmt::format("{}: reached in {} of {} repeats only", sample.name, sample.ok() - sample.unreached,
                       sample.ok());
  return "";
}

/// Returns remarks on rows that count nevertheless.
std::string remarks(std::span<const Sample> samples) {
  std::vector<std::string> all;
  for (const Sample& sample : samples) {
    if (sample.failed > 0)
      all.push_back(fmt::format("{}: {} of {} trials failed", sample.name, sample.failed, sample.trials));
    if (sample.never()) all.push_back(sample.name + ": never reached");
  }
  return join(all, "; ");
}

std::string metric_text(double value) { return std::isinf(value) ? "never" : number_text(value); }

struct DrawPairs {
  std::vector<double> a, b;
};

DrawPairs by_draw_pairs(const Sample& a, const Sample& b) {
  DrawPairs pairs;
  for (const auto& [draw, value] : a.by_draw) {
    const auto other = b.by_draw.find(draw);
    if (other == b.by_draw.end()) continue;
    pairs.a.push_back(value);
    pairs.b.push_back(other->second);
  }
  return pairs;
}

bool positive(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v > 0 && std::isfinite(v); });
}

Finding judge_ratio(const Claim& claim, const std::vector<Sample>& samples) {
  const Sample &of = samples[0], &over = samples[1];
  const DrawPairs pairs = by_draw_pairs(of, over);
  Finding finding;
  finding.n = int(pairs.a.size());
  finding.verdict = ClaimVerdict::kDiffers;
  if (pairs.a.empty()) {
    finding.reason = "no two trials of one draw ended well";
  } else if (of.never() && over.never()) {
    finding.reason = "neither reached the target";
  } else if (of.never() || over.never()) {
    finding.number = of.never() ? kInfinitelyLate : 0;
    finding.verdict = within(*finding.number, std::nullopt, claim.at_least, claim.at_most);
    finding.text = fmt::format("{} / {}", of.never() ? "never reached" : metric_text(median(pairs.a)),
                               over.never() ? "never reached" : metric_text(median(pairs.b)));
  } else if (!positive(pairs.a) || !positive(pairs.b)) {
    finding.reason = "no ratio: a number is 0 or below, or infinite";
  } else {
    const Number ratio = paired_ratio(pairs.a, pairs.b);
    finding.number = ratio.value;
    finding.interval = ratio.interval;
    finding.verdict = within(ratio.value, ratio.interval, claim.at_least, claim.at_most);
    finding.text = text_of({.value = ratio.value, .n = ratio.n, .interval = ratio.interval}, kRatioNumber);
  }
  return finding;
}

Finding judge_value(const Claim& claim, const Sample& sample) {
  const std::vector<double> values = sample.values();
  Finding finding;
  finding.n = int(values.size());
  finding.number = median(values);
  finding.interval = median_interval(values);
  if (!finding.interval && values.size() >= 3) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    finding.interval = Interval{*low, *high};
  }
  finding.verdict = within(*finding.number, finding.interval, claim.at_least, claim.at_most);
  finding.text = sample.never()
                     ? "never reached"
                     : text_of({.value = *finding.number, .n = finding.n, .interval = finding.interval}, kPlainNumber);
  return finding;
}

/// Returns the verdict on `later` following `sooner`. It is also undecided if the medians and the pairs do not agree.
ClaimVerdict follows(const Sample& sooner, const Sample& later, double tolerance) {
  const double least = 1 - tolerance, a = median(sooner.values()), b = median(later.values());
  if (std::isinf(a) || std::isinf(b)) return std::isinf(b) ? ClaimVerdict::kHolds : ClaimVerdict::kDiffers;
  const ClaimVerdict medians = b >= least * a - kRounding * std::abs(a) ? ClaimVerdict::kHolds : ClaimVerdict::kDiffers;
  const DrawPairs pairs = by_draw_pairs(later, sooner);
  if (!positive(pairs.a) || !positive(pairs.b) || pairs.a.size() < 3) return medians;
  const Number ratio = paired_ratio(pairs.a, pairs.b);
  const ClaimVerdict paired = within(ratio.value, ratio.interval, least, std::nullopt);
  return paired == medians ? medians : ClaimVerdict::kUndecided;
}

Finding judge_order(const Claim& claim, const std::vector<Sample>& samples) {
  Finding finding;
  finding.verdict = ClaimVerdict::kHolds;
  std::vector<std::string> parts, wrong;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const int n = samples[i].ok();
    finding.n = i == 0 ? n : std::min(finding.n, n);
    parts.push_back(fmt::format("{} {}", samples[i].name, metric_text(median(samples[i].values()))));
    if (i == 0) continue;
    const ClaimVerdict step = follows(samples[i - 1], samples[i], claim.tolerance);
    if (step == ClaimVerdict::kHolds) continue;
    wrong.push_back(fmt::format("{} after {}: {}", samples[i].name, samples[i - 1].name, to_string(step)));
    if (finding.verdict != ClaimVerdict::kDiffers) finding.verdict = step;
  }
  finding.text = join(parts, "; ");
  finding.reason = join(wrong, "; ");
  return finding;
}

/// Returns the values that the rows have in a column, each once, in alphabetical order.
std::string all_of(std::span<const Outcome> outcomes, const char* column) {
  std::set<std::string> all;
  for (const Outcome& row : outcomes) {
    if (!row.text(column).empty()) all.insert(row.text(column));
  }
  return join(as_list(all), ", ");
}

}  // namespace

bool Selection::finds(const Selection& whole) const {
  const auto fits = [](const std::string& part, const std::string& other) { return part.empty() || part == other; };
  return fits(measure, whole.measure) && fits(scenario, whole.scenario) && fits(variant, whole.variant);
}

std::string Selection::text() const {
  std::string all;
  for (const std::string& part : {measure, scenario, variant}) {
    if (!part.empty()) all += (all.empty() ? "" : " / ") + part;
  }
  return all;
}

const char* to_string(ClaimVerdict verdict) {
  return verdict == ClaimVerdict::kHolds ? "holds" : verdict == ClaimVerdict::kDiffers ? "differs" : "undecided";
}

Finding judge(const Claim& claim, std::span<const Outcome> outcomes) {
  std::vector<Sample> samples;
  std::string broken;
  bool failed = false;
  for (const Selection& selection : claim.selections) {
    samples.push_back(sample_of(claim, selection, outcomes));
    const std::string what = amiss(samples.back(), claim.metric);
    failed = failed || samples.back().ok() == 0;
    if (!what.empty()) broken += (broken.empty() ? "" : "; ") + what;
  }
  if (!broken.empty()) {
    Finding finding;
    finding.verdict = ClaimVerdict::kDiffers;
    finding.text = "no number";
    finding.reason = broken;
    finding.failed = failed;
    return finding;
  }
  Finding finding = claim.kind == Claim::Kind::kRatio   ? judge_ratio(claim, samples)
                    : claim.kind == Claim::Kind::kValue ? judge_value(claim, samples[0])
                                                        : judge_order(claim, samples);
  finding.text = fmt::format("{}, n = {}", finding.text.empty() ? "no number" : finding.text, finding.n);
  const std::string more = remarks(samples);
  if (!more.empty()) finding.reason += (finding.reason.empty() ? "" : "; ") + more;
  return finding;
}

std::string caption_of(std::span<const Outcome> outcomes) {
  std::map<std::string, std::set<std::string>> draws;  // of each selection
  bool tuned = !outcomes.empty();
  for (const Outcome& row : outcomes) {
    draws[selection_in(row).text()].insert(row.text("seed") + "/" + row.text("repeat"));
    tuned = tuned && row.text("tuned") == "1";
  }
  std::size_t least = outcomes.size(), most = 0;
  for (const auto& [selection, all] : draws) {
    least = std::min(least, all.size());
    most = std::max(most, all.size());
  }
  std::string text =
      fmt::format("n = {}", least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most));
  text += "; seed " + all_of(outcomes, "seed") + "; " + all_of(outcomes, "clock") + " time";
  const std::string data = all_of(outcomes, "dataset");
  text += "; mean model of " + all_of(outcomes, "model") + (data.empty() ? "" : " on " + data);
  text += tuned ? "; learning rates tuned" : "; untuned";
  const std::string readings = all_of(outcomes, "reading");
  return text + (readings.empty() ? "" : "; readings " + readings);
}

void add_largest_of_ranks(std::vector<Outcome>& outcomes, const std::string& ranks_csv) {
  if (ranks_csv.empty()) return;
  std::map<std::string, std::map<std::string, double>> largest;  // by trial and column
  const std::vector<std::vector<std::string>> lines = read_csv(ranks_csv, "ranks.csv");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Outcome rank;
    for (std::size_t c = 0; c < std::min(lines[0].size(), lines[i].size()); ++c)
      rank.cells[lines[0][c]] = {lines[i][c], number_in<double>(lines[i][c])};
    for (const auto& [column, cell] : rank.cells) {
      const std::optional<double> value = rank.number(column);
      if (!value) continue;
      const auto [at, fresh] = largest[rank.text("trial")].try_emplace(column, *value);
      at->second = std::max(at->second, *value);
    }
  }
  for (Outcome& outcome : outcomes) {
    for (const auto& [column, value] : largest[outcome.text("trial")]) {
      outcome.cells["ranks." + column] = {csv_number(value), value};
    }
  }
}

}  // namespace hopbench
