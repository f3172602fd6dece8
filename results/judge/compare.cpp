#include "results/judge/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/files/context.h"
#include "results/tables/numbers.h"

namespace hopbench {
namespace {

using Outcomes = std::vector<const Outcome*>;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A quantity that a row is compared by. Losses and times are better when they are smaller.
struct Metric {
  Quantity quantity;
  const char *name, *column;
  const char *had, *lost;  // words for a trial that has the number, and for one that lost it
  bool more_is_better = false;
};

constexpr Metric kMetrics[] = {
    {Quantity::kRate, "samples/s", "samples_per_s", "has a rate above 0", "has no rate above 0 any more", true},
    {Quantity::kTimeToTarget, "time to target, s", "time_to_target_s", "reached the target",
     "no longer reaches its target"},
    {Quantity::kFinalLoss, "final loss", "final_loss", "has a finite loss", "has no finite loss any more"},
};

const Metric& metric_of(Quantity quantity) { return kMetrics[static_cast<int>(quantity)]; }

/// Trials of one row of the summary.
struct Row {
  std::vector<std::string> key;  // suite, measure, scenario, variant
  Outcomes base, head;
};

std::vector<std::string> key_of(const Outcome& o) {
  return {o.text("suite"), o.text("measure"), o.text("scenario"), o.text("variant")};
}

std::vector<Row> rows_of(const Results& base, const Results& head) {
  std::vector<Row> rows;
  std::map<std::vector<std::string>, std::size_t> places;
  const auto add = [&](const Results& source, Outcomes Row::*side) {
    for (const Outcome& outcome : source.outcomes) {
      const auto [place, fresh] = places.try_emplace(key_of(outcome), rows.size());
      if (fresh) rows.push_back({place->first, {}, {}});
      (rows[place->second].*side).push_back(&outcome);
    }
  };
  add(base, &Row::base);
  add(head, &Row::head);
  return rows;
}

const Metric& metric_of(const Row& row, bool speed_only) {
  const Outcome& first = *row.base.front();
  const bool learns = first.text("what") == "convergence", has_target = first.number("target_loss").has_value();
  if (!learns || (speed_only && !has_target)) return metric_of(Quantity::kRate);
  return metric_of(has_target ? Quantity::kTimeToTarget : Quantity::kFinalLoss);
}

/// Returns the settings in which the two sides differ: "batch: 32; 64".
std::vector<std::string> setting_differences(const Row& row) {
  static const char* const kSettings[] = {"what",     "protocol", "knobs",     "backend", "transport", "clock",
                                          "world",    "hosts",    "batch",     "model",   "dataset",   "split",
                                          "topology", "network",  "optimizer", "tuned",   "cost_s",    "target_loss"};
  // Tables of older versions do not say which knobs a variant had.
  const auto unknown = [](const std::vector<std::string>& values) { return values == std::vector<std::string>{""}; };
  std::vector<std::string> differences;
  for (const char* setting : kSettings) {
    const auto values = [&](const Outcomes& side) {
      std::set<std::string> all;
      for (const Outcome* o : side) all.insert(o->text(setting));
      return std::vector<std::string>(all.begin(), all.end());
    };
    const std::vector<std::string> base = values(row.base), head = values(row.head);
    if (setting == std::string_view("knobs") && (unknown(base) || unknown(head))) continue;
    if (base != head) differences.push_back(fmt::format("{}: {}; {}", setting, join(base, "|"), join(head, "|")));
  }
  return differences;
}

/// Returns nothing for a rate of 0, because no work was done, and for a loss that is not finite.
std::optional<double> value_of(const Outcome& outcome, const Metric& metric) {
  const std::optional<double> number = outcome.number(metric.column);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return metric.more_is_better && *number <= 0 ? std::nullopt : number;
}

/// Returns the trials of base that ended well and that head lacks.
std::vector<std::string> missing_of(const Row& row) {
  std::vector<std::string> missing;
  for (const Outcome* base : row.base) {
    const auto same = [&](const Outcome* head) { return draw_of(*base) == draw_of(*head); };
    if (base->ok() && std::none_of(row.head.begin(), row.head.end(), same)) missing.push_back(base->text("trial"));
  }
  return missing;
}

Verdict verdict_of(const Comparison& row, double threshold) {
  if (row.lost != row.gained) return row.lost > row.gained ? Verdict::kRegression : Verdict::kImprovement;
  if (row.n == 0 || (row.by_chance && !row.interval)) return Verdict::kInsufficient;
  return row.equal ? Verdict::kNoChange : judged_change(row.speed_up, row.interval, threshold);
}

/// Returns "head lacks 2 trials that base has: ID, ID".
std::string missing_text(const std::vector<std::string>& missing) {
  constexpr std::size_t kNamed = 3;
  return fmt::format("head lacks {} {} that base has: {}", missing.size(), missing.size() == 1 ? "trial" : "trials",
                     listed(missing, kNamed));
}

void fill_numbers(Comparison& result, const Row& row, const Metric& metric) {
  PairedSamples pairs = pairs_of(row.head, row.base, [&](const Outcome& trial) { return value_of(trial, metric); });
  result.quantity = metric.quantity;
  result.n = static_cast<int>(pairs.values.size());
  result.lost = pairs.lost;
  result.gained = pairs.gained;
  result.missing = missing_of(row);
  result.base = median(pairs.reference);
  result.head = median(pairs.values);
  if (!metric.more_is_better) std::swap(pairs.values, pairs.reference);  // a shorter time is a greater speed
  const Number ratio = pairs.ratio();
  result.speed_up = ratio.value;
  std::tie(result.least, result.most) =
      ratio.range ? std::pair(ratio.range->low, ratio.range->high) : std::pair(ratio.value, ratio.value);
  result.equal = pairs.values == pairs.reference;
  // In virtual time durations repeat to the last bit. The result of training depends on the draws there too.
  result.by_chance = !result.virtual_time || !(metric.more_is_better || result.equal);
  if (result.by_chance && pairs.lost == pairs.gained) result.interval = ratio.interval;
  std::vector<std::string> notes;
  if (pairs.lost + pairs.gained > 0) {
    notes.push_back(fmt::format("base alone {} {} times, head alone {} times", metric.had, pairs.lost, pairs.gained));
  }
  if (!result.missing.empty()) notes.push_back(missing_text(result.missing));
  result.note = join(notes, "; ");
}

/// Returns the reason of head's first trial that did not end well, if any trial of base did.
std::optional<std::string> failure_of(const Row& row) {
  const bool base_ok = std::any_of(row.base.begin(), row.base.end(), [](const Outcome* o) { return o->ok(); });
  const auto bad = std::find_if(row.head.begin(), row.head.end(), [](const Outcome* o) { return !o->ok(); });
  if (!base_ok || bad == row.head.end()) return std::nullopt;
  return fmt::format("{}: {} {}", (*bad)->text("trial"), (*bad)->text("status"), (*bad)->text("reason"));
}

Comparison compare_row(const Row& row, const CompareOptions& options, const std::vector<std::string>& contexts) {
  Comparison result;
  result.suite = row.key[0];
  result.measure = row.key[1];
  result.scenario = row.key[2];
  result.variant = row.key[3];
  result.base = result.head = result.speed_up = result.least = result.most = kNone;
  result.virtual_time = (row.base.empty() ? row.head : row.base).front()->virtual_time();
  if (row.base.empty() || row.head.empty()) {
    result.verdict = row.base.empty() ? Verdict::kNew : Verdict::kMissing;
    return result;
  }
  const Metric& metric = metric_of(row, options.speed_only);
  result.metric = metric.name;
  std::vector<std::string> differences = setting_differences(row);
  if (!result.virtual_time) differences.insert(differences.end(), contexts.begin(), contexts.end());
  if (!differences.empty() && !options.any_context) {
    result.verdict = Verdict::kIncomparable;
    result.note = join(differences, "; ");
    return result;
  }
  fill_numbers(result, row, metric);
  result.threshold = options.threshold;
  result.verdict = verdict_of(result, options.threshold);
  if (const auto failure = failure_of(row)) {
    result.verdict = Verdict::kFailed;
    result.note = *failure;
  }
  return result;
}

/// Returns the value of a key in a section of a context; nullptr if it is not there.
const nlohmann::json* part_of(const nlohmann::json& context, const char* section, const std::string& key) {
  if (!context.is_object() || !context.contains(section)) return nullptr;
  const nlohmann::json& inside = context.at(section);
  return inside.is_object() && inside.contains(key) ? &inside.at(key) : nullptr;
}

std::string shown(const nlohmann::json* value) {
  if (value == nullptr || value->is_null()) return "none";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// Returns true if two values are equal, or nearly for memory: virtual machines of one kind differ by some pages.
bool alike(const std::string& key, const nlohmann::json* a, const nlohmann::json* b) {
  const auto none = [](const nlohmann::json* value) { return value == nullptr || value->is_null(); };
  if (none(a) || none(b)) return none(a) && none(b);
  if (key == "flags" && a->is_string() && b->is_string())
    return code_flags(a->get<std::string>()) == code_flags(b->get<std::string>());
  if (key != "memory_bytes" || !a->is_number() || !b->is_number()) return *a == *b;
  return std::abs(a->get<double>() - b->get<double>()) <= 0.05 * std::max(a->get<double>(), b->get<double>());
}

}  // namespace

const char* to_string(Verdict verdict) {
  static constexpr const char* kWords[] = {"regression", "improvement",  "no-change",    "within_threshold",
                                           "not-slower", "inconclusive", "insufficient", "incomparable",
                                           "failed",     "missing",      "new"};
  return kWords[static_cast<int>(verdict)];
}

std::string verdict_text(Verdict verdict, std::optional<double> threshold) {
  if (verdict != Verdict::kWithin) return to_string(verdict);
  return threshold ? fmt::format("within {:.3g} %", 100 * *threshold) : "within the threshold";
}

Verdict judged_change(double speed_up, const std::optional<Interval>& interval, double threshold) {
  const auto [low, high] = interval.value_or(Interval{speed_up, speed_up});
  const auto too_slow = [&](double ratio) { return 1 / ratio - 1 > threshold; };
  const auto fast = [&](double ratio) { return ratio - 1 > threshold; };
  if (too_slow(speed_up) && high < 1) return Verdict::kRegression;
  if (fast(speed_up) && low > 1) return Verdict::kImprovement;
  if (too_slow(low)) return Verdict::kInconclusive;
  return fast(high) ? Verdict::kNotSlower : Verdict::kWithin;
}

std::vector<Comparison> compare(const Results& base, const Results& head, const CompareOptions& options) {
  const std::vector<std::string> contexts = context_differences(base.context, head.context);
  std::vector<Comparison> all;
  for (const Row& row : rows_of(base, head)) all.push_back(compare_row(row, options, contexts));
  return all;
}

double slower_by(const Comparison& row) {
  return std::isnan(row.speed_up) ? kNone : std::max(0.0, 1 / row.speed_up - 1);
}

std::vector<std::string> why_slower(const Comparison& row, double limit) {
  if (row.verdict == Verdict::kIncomparable || row.verdict == Verdict::kNew) return {};
  if (row.verdict == Verdict::kFailed || row.verdict == Verdict::kMissing) return {to_string(row.verdict)};
  std::vector<std::string> reasons;
  if (row.lost == row.gained && verdict_of(row, limit) == Verdict::kRegression)
    reasons.push_back(fmt::format("slower by {} %", number_text(100 * slower_by(row), 3)));
  if (row.lost > row.gained) reasons.emplace_back(metric_of(row.quantity).lost);
  if (!row.missing.empty()) reasons.push_back(missing_text(row.missing));
  return reasons;
}

bool slower_than(const Comparison& row, double limit) { return !why_slower(row, limit).empty(); }

bool compared(const Comparison& row) {
  return row.verdict != Verdict::kIncomparable && row.verdict != Verdict::kMissing && row.verdict != Verdict::kNew &&
         (row.n > 0 || row.lost + row.gained > 0 || row.verdict == Verdict::kFailed);
}

std::vector<std::string> context_differences(const std::string& base, const std::string& head) {
  const nlohmann::json a = nlohmann::json::parse(base, nullptr, false), b = nlohmann::json::parse(head, nullptr, false);
  if (!a.is_object() || !b.is_object()) return {"context: the machine is not recorded with both"};
  std::vector<std::string> differences;
  const auto look = [&](const char* section, const std::string& key) {
    const nlohmann::json *left = part_of(a, section, key), *right = part_of(b, section, key);
    if (!alike(key, left, right)) differences.push_back(fmt::format("{}: {}; {}", key, shown(left), shown(right)));
  };
  for (const char* key : {"compiler", "build_type", "flags", "sanitize", "libraries"}) look("hopbench", key);
  for (const char* key : {"cpu", "isa", "cores", "usable_cores", "governor", "cpu_quota_cores", "memory_bytes",
                          "kernel", "gpu_driver", "gpus"}) {
    look("machine", key);
  }
  for (const char* key : {"tcp_congestion_control", "queue_discipline", "largest_packets"}) {  // not in older contexts
    if (part_of(a, "machine", key) != nullptr && part_of(b, "machine", key) != nullptr) look("machine", key);
  }
  std::set<std::string> variables;
  for (const nlohmann::json* context : {&a, &b}) {
    if (!context->contains("environment")) continue;
    for (const auto& [name, value] : context->at("environment").items()) variables.insert(name);
  }
  for (const std::string& name : variables) {
    if (name != "CI" && name != "HOPBENCH_ROOT" && name != "HOPBENCH_COMMAND") look("environment", name);
  }
  return differences;
}

}  // namespace hopbench
