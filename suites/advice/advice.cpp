#include "suites/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/base/error.h"

namespace hopbench {
namespace {

constexpr double kTail = 0.05;  // beyond either end of an interval

/// Returns the logs of the ratios a / b, or of a alone without b.
std::vector<double> logs_of(std::span<const double> a, std::span<const double> b) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(a[i]) - (b.empty() ? 0 : std::log(b[i])));
  return logs;
}

/// Returns by how much deviations of `n` repeats from their own mean are too short to stand for what is likely: the
/// mean is theirs, and few of them say little about their spread (Student's t against a normal distribution).
double lengthening(std::size_t n) {
  if (n < 2) return 1;
  constexpr double kNormal = 1.6449;  // 95 % quantile
  return std::sqrt(double(n + 1) / double(n - 1)) * t_quantile(1 - kTail, int(n) - 1) / kNormal;
}

/// Returns the distances from the mean, lengthened so that their variance is `sampling` times as large.
std::vector<double> deviations_of(std::span<const double> logs, double sampling) {
  const double mean = mean_of(logs), factor = std::sqrt(sampling) * lengthening(logs.size());
  std::vector<double> deviations;
  for (const double log : logs) deviations.push_back(factor * (log - mean));
  return deviations;
}

/// Returns a + b - c for all combinations; an empty list counts as a zero.
std::vector<double> combined(std::span<const double> a, std::span<const double> b, std::span<const double> c) {
  static constexpr double kZero[] = {0};
  const auto some = [](std::span<const double> list) { return list.empty() ? std::span<const double>(kZero) : list; };
  std::vector<double> sums;
  for (const double x : some(a))
    for (const double y : some(b))
      for (const double z : some(c)) sums.push_back(x + y - z);
  return sums;
}

/// Returns what is likely around a mean. The mean is always within.
Interval likely(double mean_log, std::span<const double> logs) {
  return {std::exp(mean_log + std::min(0.0, quantile(logs, kTail))),
          std::exp(mean_log + std::max(0.0, quantile(logs, 1 - kTail)))};
}

double half_width(std::span<const double> logs) { return (quantile(logs, 1 - kTail) - quantile(logs, kTail)) / 2; }

Ranked ranked(const Candidate& candidate, const Candidate& present, double sampling) {
  Ranked result;
  result.of = candidate;
  result.changes = candidate.lost > 0 || candidate.unheard > kMostUnheard ? 3 : candidate.changes;
  const std::vector<double> own = logs_of(candidate.rates, {});
  result.rate = std::exp(mean_of(own));
  result.rates = likely(mean_of(own), combined(deviations_of(own, sampling), candidate.errors, {}));
  result.gain = 1, result.gains = {1, 1};
  if (candidate.label == present.label) return result;
  const std::vector<double> paired = logs_of(candidate.rates, present.rates);
  const std::vector<double> deviations = deviations_of(paired, sampling);
  result.gain = std::exp(mean_of(paired));
  result.gains = likely(mean_of(paired), combined(deviations, candidate.errors, present.errors));
  result.chance = half_width(deviations);
  result.error = half_width(combined({}, candidate.errors, present.errors));
  return result;
}

}  // namespace

const Ranked& Advice::of_present() const {
  return *std::find_if(ranking.begin(), ranking.end(), [&](const Ranked& one) { return one.of.label == present; });
}

const Ranked& Advice::nearest() const {
  if (best || beside) return ranking[best ? *best : *beside];
  const auto first = std::find_if(ranking.begin(), ranking.end(),
                                  [&](const Ranked& one) { return one.changes < 3 && one.of.label != present; });
  return first == ranking.end() ? of_present() : *first;
}

Advice advise(std::span<const Candidate> candidates, const AdviceQuestion& question) {
  const auto present = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate& one) { return one.label == question.present; });
  HB_ASSERT(present != candidates.end());
  if (!present->failure.empty())
    throw trial_error(fmt::format("the present protocol {} has no rate: {}", present->label, present->failure));
  Advice advice{.present = question.present, .ranking = {}, .failed = {}};
  for (const Candidate& candidate : candidates) {
    if (candidate.failure.empty()) {
      advice.ranking.push_back(ranked(candidate, *present, question.sampling));
    } else {
      advice.failed.push_back(candidate);
    }
  }
  std::stable_sort(advice.ranking.begin(), advice.ranking.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rate > b.rate; });
  for (std::size_t i = advice.ranking.size(); i-- > 0;) {
    const Ranked& one = advice.ranking[i];
    if (one.gains.low <= 1 || one.of.leads || one.of.label == advice.present) continue;
    if (one.changes == 1) advice.best = i;
    if (one.changes == 2) advice.beside = i;
  }
  return advice;
}

}  // namespace hopbench
