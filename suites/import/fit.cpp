// The choice of a scenario for a recording. docs/import.md states the rule.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backends/base/text.h"
#include "suites/import/decompose.h"
#include "suites/language/keys.h"

namespace hopbench {
namespace {

constexpr double kSmallDeviation = 0.01;  // a rest below 1 % is none
constexpr double kLeastExplained = 0.9;   // by two levels
constexpr double kLeastAutocorrelation = 0.2;
constexpr double kLeastFactor = 0.01;  // a rank's factor closer to 1 is none
constexpr std::int64_t kBlock = 10;    // steps of a trace that are drawn together

/// Returns the largest distance from a distribution at which `count` values are taken as drawn from it.
double most_distance(double count) { return 0.05 + 1.36 / std::sqrt(std::max(count, 1.0)); }

bool remembers(double autocorrelation, double pairs) {
  return pairs >= 10 && autocorrelation > std::max(kLeastAutocorrelation, 3 / std::sqrt(pairs));
}

/// Adds a rule for each group of ranks whose factors round to the same two decimals. Leaves out factors that chance
/// explains (three standard errors).
void add_constants(const Decomposition& d, Fit& fit) {
  const double least = std::max(
      kLeastFactor,
      3 * d.rest_deviation * std::sqrt(inflation_by(d.autocorrelation) / double(std::max<std::int64_t>(d.steps, 1))));
  std::map<int, std::vector<int>> ranks_of;  // by hundredths of the factor
  for (std::size_t rank = 0; rank < d.factors.size(); ++rank) {
    if (std::abs(std::log(d.factors[rank])) >= least)
      ranks_of[int(std::lround(100 * std::clamp(d.factors[rank], 0.01, 1e6)))].push_back(int(rank));
  }
  for (const auto& [hundredths, ranks] : ranks_of) {
    if (hundredths == 100) continue;
    fit.rules.push_back(fmt::format("{{ kind = \"constant\", ranks = [{}], factor = {:.2f} }}", fmt::join(ranks, ", "),
                                    hundredths / 100.0));
  }
}

/// A part of the variance, and the rule that stands for it.
struct Part {
  bool fits = false;
  std::string kind;  // "": too small to need a rule
  std::string rule;
};

Part part_of_steps(const Decomposition& d, Fit& fit) {
  if (!d.steps_differ || d.step_deviation < kSmallDeviation) return {true, "", ""};
  const double limit = most_distance(double(d.steps));
  const bool memory = remembers(d.step_autocorrelation, double(d.pairs) / d.ranks);
  fit.why.push_back(
      fmt::format("common to all ranks: deviation {:.1f} %, distance from log_normal {:.3f} (at most {:.3f}), "
                  "autocorrelation {:.2f}",
                  100 * d.step_deviation, d.step_distance, limit, d.step_autocorrelation));
  return {!memory && d.step_distance <= limit, "log_normal",
          fmt::format("{{ kind = \"log_normal\", shape = {:.4f}, correlated = \"all\" }}", d.step_deviation)};
}

std::string length_text(double seconds) {
  constexpr double kMost = 1e9;
  const double bounded = std::clamp(seconds, 1e-6, kMost);
  const double unit = std::pow(10.0, std::max(-6.0, std::floor(std::log10(bounded)) - 3));  // four digits
  return duration_text(std::llround(std::round(bounded / unit) * unit * 1e6) * 1000);
}

Part part_of_rest(const Decomposition& d, Fit& fit) {
  if (d.rest_deviation < kSmallDeviation) {
    fit.why.push_back(fmt::format("the rest deviates by {:.2f} %: none is needed below 1 %", 100 * d.rest_deviation));
    return {true, "", ""};
  }
  const double limit = most_distance(double(d.steps) * d.ranks);
  const bool memory = remembers(d.autocorrelation, double(d.pairs));
  const TwoLevels& levels = d.levels;
  fit.why.push_back(fmt::format("the rest: deviation {:.1f} %, distance from log_normal {:.3f} (at most {:.3f})",
                                100 * d.rest_deviation, d.rest_distance, limit));
  fit.why.push_back(
      fmt::format("the rest: two levels explain {:.0f} % of its variance (at least 90), autocorrelation {:.2f}",
                  100 * levels.explained, d.autocorrelation));
  if (!memory && d.rest_distance <= limit)
    return {true, "log_normal", fmt::format("{{ kind = \"log_normal\", shape = {:.4f} }}", d.rest_deviation)};
  constexpr double kMostFactor = 1e6;  // of a suite
  if (levels.explained < kLeastExplained || levels.factor > kMostFactor) return {false, "", ""};
  if (!memory)
    return {true, "bernoulli",
            fmt::format("{{ kind = \"bernoulli\", factor = {:.3f}, probability = {:.4f} }}", levels.factor,
                        levels.slow_share)};
  if (levels.slow_steps <= 0 || levels.normal_steps <= 0) return {false, "", ""};
  const double normal = d.typical * std::exp(levels.normal_level);
  return {
      true, "markov",
      fmt::format("{{ kind = \"markov\", factor = {:.3f}, slow = \"{}\", normal = \"{}\" }}", levels.factor,
                  length_text(levels.slow_steps * normal * levels.factor), length_text(levels.normal_steps * normal))};
}

/// Returns the length of blocks that keep what follows what; 1 if steps do not depend on those before.
std::int64_t block_of(const Decomposition& d) {
  const bool memory = remembers(d.autocorrelation, double(d.pairs)) ||
                      remembers(d.step_autocorrelation, double(d.pairs) / std::max(d.ranks, 1));
  return memory && d.longest_run >= kBlock ? kBlock : 1;
}

Fit trace_of(const Decomposition& d, const std::string& file, Fit fit) {
  fit.kind = "trace";
  fit.pace = 0;
  fit.rules = {fmt::format("{{ kind = \"trace\", file = {}, map = \"block_bootstrap\"{} }}", toml_text(file),
                           block_of(d) > 1 ? fmt::format(", block = {}", block_of(d)) : "")};
  return fit;
}

/// Returns true if a suite takes the rules; they may have values out of range.
bool is_possible(const Fit& fit) {
  Mistakes mistakes;
  const std::optional<Value> rules = parse_value("[" + join(fit.rules, ", ") + "]", {}, mistakes);
  return rules && check_value(*find_key("scenario.compute"), *rules, mistakes);
}

}  // namespace

Fit fit_trace(const Decomposition& d, const std::string& file) { return trace_of(d, file, {}); }

Fit fit_scenario(const Decomposition& d, const std::string& file) {
  Fit fit;
  if (d.steps < 2) {
    fit.why.push_back(fmt::format("{} steps of all ranks are too few to tell more", d.steps));
    return trace_of(d, file, fit);
  }
  fit.why.push_back(fmt::format("the ranks' factors explain {:.1f} % of the variance", 100 * d.between_ranks));
  const Part steps = part_of_steps(d, fit), rest = part_of_rest(d, fit);
  if (!steps.fits || !rest.fits) return trace_of(d, file, fit);
  std::vector<std::string> kinds;
  if (d.ranks_differ) add_constants(d, fit);
  if (!fit.rules.empty()) kinds.emplace_back("constant");
  for (const Part& part : {steps, rest}) {
    if (part.kind.empty()) continue;
    fit.rules.push_back(part.rule);
    kinds.push_back(part.kind);
  }
  if (!is_possible(fit)) return trace_of(d, file, fit);
  fit.kind = kinds.empty() ? "none" : join(kinds, " and ");
  const bool levelled = rest.kind == "bernoulli" || rest.kind == "markov";
  fit.pace = d.typical * (levelled ? std::exp(d.levels.normal_level) : 1);
  return fit;
}

std::string to_snippet(const Fit& fit) {
  std::string text;
  for (const std::string& line : fit.why) text += "# " + line + "\n";
  if (fit.pace > 0)
    text += fmt::format("# with pace = \"{}\" and noise = 0 in [compute]\n", length_text(fit.pace));
  else
    text += "# with noise = 0 in [compute]; the trace replaces pace\n";
  text += "[[scenario]]\nname = \"imported\"\n";
  if (fit.rules.empty()) return text;
  text += "compute = [\n";
  for (const std::string& rule : fit.rules) text += "  " + rule + ",\n";
  return text + "]\n";
}

}  // namespace hopbench
