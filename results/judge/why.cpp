#include "results/judge/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "results/arithmetic/critical_path.h"
#include "results/arithmetic/curve.h"
#include "results/arithmetic/groups.h"
#include "results/arithmetic/pairs.h"
#include "results/tables/numbers.h"

namespace hopbench {
namespace {

/// Smaller shares of the whole are rounding errors of sums.
constexpr double kDust = 1e-12;
/// The share of all changes from which on a part explains something.
constexpr double kMatters = 0.1;

/// Some work of a trial, and the time that it took.
struct Work {
  double time_s = 0, samples = 0;
};

/// Returns the work; nothing for a trial that did nothing, and for numbers that no trial has.
std::optional<Work> work_if_sound(double time_s, double samples) {
  const bool sound = time_s > 0 && samples > 0 && std::isfinite(time_s) && std::isfinite(samples);
  return sound ? std::optional(Work{time_s, samples}) : std::nullopt;
}

std::optional<Work> whole_work(const TrialRow& row) {
  std::int64_t samples = 0;
  for (const RankRecord& rank : row.record.ranks) samples += rank.samples;
  return work_if_sound(row.record.time_s, double(samples));
}

/// Returns the work of that part of a trial; nothing if the trial did not do it.
std::optional<Work> work_of(const TrialRow& row, Why::Time time) {
  if (row.record.status != TrialStatus::kOk || !std::isfinite(row.record.time_s)) return std::nullopt;
  if (time == Why::Time::kWhole) return whole_work(row);
  if (time == Why::Time::kWindow) {
    const double length = row.record.window_end_s - row.record.window_start_s;
    return work_if_sound(length, row.record.samples_per_s * length);
  }
  const TargetReached reached = target_reached(row);
  if (!reached.time_s.fitted || !reached.samples.fitted) return std::nullopt;
  return work_if_sound(*reached.time_s.fitted, *reached.samples.fitted);
}

/// Trials of one measure and scenario, by variant.
struct Side {
  std::vector<const TrialRow*> a, b;
};

Why::Time time_of(const Side& side) {
  const TrialLabels& labels = side.a.front()->labels;
  if (labels.what == "convergence") return labels.target_loss > 0 ? Why::Time::kTarget : Why::Time::kWhole;
  return mostly_without_window(side.a) == mostly_without_window(side.b) ? Why::Time::kWindow : Why::Time::kWhole;
}

std::string known_variants(std::span<const TrialRow> rows) {
  std::set<std::string> names;
  for (const TrialRow& row : rows) names.insert(row.labels.variant);
  return join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

/// Adds to the sums the parts of a trial (a or b) for the samples of b.
void add_parts(const TrialRow& row, const Work& work, double samples, double WhyPart::*side,
               std::map<std::string, WhyPart>& sums) {
  const double seconds = work.time_s * samples / work.samples;
  for (const auto& [name, share] : time_shares(row)) sums[name].*side += seconds * share;
}

double change_of(const WhyPart& part) { return std::abs(part.a - part.b); }

double all_changes(const std::vector<WhyPart>& parts) {
  double all = 0;
  for (const WhyPart& part : parts) all += change_of(part);
  return all;
}

/// If several slow ranks each explain nothing, merges them into one row.
void collapse_ranks(std::vector<WhyPart>& parts) {
  const double shown = kMatters * all_changes(parts);
  const auto small = [&](const WhyPart& part) { return is_slowdown(part.name) && change_of(part) <= shown; };
  const auto ranks = std::count_if(parts.begin(), parts.end(), small);
  if (ranks < 2) return;
  const auto all =
      std::count_if(parts.begin(), parts.end(), [](const WhyPart& part) { return is_slowdown(part.name); });
  WhyPart together{fmt::format("slowdown, {} {}ranks", ranks, ranks < all ? "other " : "")};
  for (const WhyPart& part : parts) {
    if (!small(part)) continue;
    together.a += part.a;
    together.b += part.b;
  }
  std::erase_if(parts, small);
  parts.push_back(together);
}

void fill_parts(Why& why, const std::map<std::string, WhyPart>& sums) {
  for (const auto& [name, sum] : sums) {
    const WhyPart part{name, sum.a / why.n, sum.b / why.n};
    why.a_s += part.a;
    why.b_s += part.b;
    why.parts.push_back(part);
  }
  const double dust = kDust * std::max(why.a_s, why.b_s);
  for (WhyPart& part : why.parts) {
    for (double* value : {&part.a, &part.b}) *value = std::abs(*value) < dust ? 0 : *value;
    if (change_of(part) < dust) part.b = part.a;
  }
  collapse_ranks(why.parts);
  std::stable_sort(why.parts.begin(), why.parts.end(),
                   [](const WhyPart& x, const WhyPart& y) { return change_of(x) > change_of(y); });
}

/// The work of two trials that are compared.
struct WorkPair {
  Work a, b;
};

/// Returns the ratio of b over a in a quantity of their work.
template <class Get>
Number ratio_of(const std::vector<WorkPair>& pairs, Get get) {
  std::vector<double> a, b;
  for (const WorkPair& pair : pairs) {
    a.push_back(get(pair.a));
    b.push_back(get(pair.b));
  }
  return paired_ratio(b, a);
}

double time_a_sample(const Work& work) { return work.time_s / work.samples; }

Why compare_sides(const Side& side) {
  const TrialLabels& labels = side.a.front()->labels;
  Why why;
  why.measure = labels.measure;
  why.scenario = labels.scenario;
  why.a = labels.variant;
  why.b = side.b.front()->labels.variant;
  why.time = time_of(side);
  why.target = why.time == Why::Time::kTarget ? labels.target_loss : 0;
  why.critical_path = !side.a.front()->record.path.empty();
  std::vector<WorkPair> works, whole;
  std::map<std::string, WhyPart> sums;
  for (const auto& [a, b] : all_pairs_of(side.a, side.b)) {
    const std::optional<Work> x = work_of(*a, why.time), y = work_of(*b, why.time);
    const bool alike = why.time != Why::Time::kWindow || have_alike_windows(*a, *b);
    if (!x || !y || !alike) {
      ++why.lost;
      continue;
    }
    works.push_back({*x, *y});
    const std::optional<Work> all_x = whole_work(*a), all_y = whole_work(*b);
    if (all_x && all_y) whole.push_back({*all_x, *all_y});
    add_parts(*a, *x, y->samples, &WhyPart::a, sums);
    add_parts(*b, *y, y->samples, &WhyPart::b, sums);
  }
  why.n = int(works.size());
  why.speed_up = ratio_of(works, [](const Work& work) { return work.time_s; });
  why.samples = ratio_of(works, [](const Work& work) { return work.samples; });
  why.rate = ratio_of(works, time_a_sample);
  why.whole = ratio_of(whole, time_a_sample);
  if (why.n > 0) fill_parts(why, sums);
  return why;
}

/// Returns the ratio with its interval, without a range of two.
std::string with_interval(Number ratio) {
  ratio.range.reset();
  return text_of(ratio, kRatioNumber);
}

/// Returns the parts that explain most of a difference: those of a tenth of all changes or more, three at most.
std::string main_changes(const Why& why) {
  const double all = all_changes(why.parts);
  std::vector<std::string> changes;
  for (const WhyPart& part : why.parts) {
    const double change = part.a - part.b;
    if (changes.size() == 3 || std::abs(change) < kMatters * all || change == 0) break;
    changes.push_back(fmt::format("{}{} s {}", change > 0 ? "+" : "-", number_text(std::abs(change), 2), part.name));
  }
  return changes.empty() ? "" : " (" + join(changes, "; ") + ")";
}

std::string parts_title(const Why& why) {
  if (!why.critical_path) return "shares of the mean worker's time until its last iteration";
  return why.time == Why::Time::kWindow ? "along the critical path in the window" : "along the critical path";
}

/// Returns the time until the rank's last iteration ended: some ranks answer others afterwards. If what it computed and
/// waited does not fit before that, returns the time until its body ended.
double lived_s(const RankRecord& rank, const TrialRecord& record) {
  Duration told = rank.compute;
  for (const auto& [reason, time] : rank.waits) told += time;
  if (!rank.marks.empty() && told <= rank.marks.back().end.time_since_epoch()) return to_seconds(rank.marks.back().end);
  return rank.finished > Time{} ? to_seconds(rank.finished) : record.time_s;
}

constexpr int kWidth = 60;
constexpr const char* kLetters = "#=+o%*x.:@";

std::string bar(const Why& why, double WhyPart::*side) {
  const double longest = std::max(why.a_s, why.b_s);
  if (longest <= 0) return "";
  std::string text;
  double sum = 0;
  for (std::size_t i = 0; i < why.parts.size(); ++i) {
    sum += why.parts[i].*side;
    const auto end = static_cast<std::size_t>(std::clamp(kWidth * sum / longest + 0.5, 0.0, kWidth + 0.5));
    if (end > text.size()) text.append(end - text.size(), kLetters[i % 10]);
  }
  return text;
}

}  // namespace

std::map<std::string, double> time_shares(const TrialRow& row) {
  std::map<std::string, double> shares;
  const TrialRecord& record = row.record;
  Duration path{};
  for (const auto& [name, time] : record.path) path += time;
  for (const auto& [name, time] : record.path) shares[name] = to_seconds(time) / to_seconds(path);
  if (path > Duration{}) return shares;
  shares.clear();
  const auto stayed = [](const RankRecord& rank) { return !rank.server && rank.lost.empty(); };
  const auto workers = double(std::count_if(record.ranks.begin(), record.ranks.end(), stayed));
  for (const RankRecord& rank : record.ranks) {
    if (!stayed(rank)) continue;
    const double lived = lived_s(rank, record);
    if (lived <= 0) continue;
    double rest = 1;
    const auto add = [&](const std::string& name, Duration time) {
      if (time.count() == 0) return;
      shares[name] += to_seconds(time) / lived / workers;
      rest -= to_seconds(time) / lived;
    };
    add("compute", rank.compute - rank.injected_delay);
    add(slowdown_of(rank.worker < 0 ? rank.rank : rank.worker), rank.injected_delay);
    for (const auto& [reason, time] : rank.waits) add("waiting, " + reason, time);
    shares["vector operations, other"] += rest / workers;
  }
  return shares;
}

std::vector<Why> why(std::span<const TrialRow> rows, const std::string& a, const std::string& b) {
  std::map<std::pair<std::string, std::string>, Side> sides;
  std::vector<std::pair<std::string, std::string>> order;
  bool has_a = false, has_b = false;
  for (const TrialRow& row : rows) {
    const std::pair<std::string, std::string> key{row.labels.measure, row.labels.scenario};
    if (!sides.contains(key)) order.push_back(key);
    Side& side = sides[key];
    if (row.labels.variant == a) side.a.push_back(&row), has_a = true;
    if (row.labels.variant == b) side.b.push_back(&row), has_b = true;
  }
  if (rows.empty()) throw usage_error("there is no trial in this run that ended: nothing to tell");
  for (const auto& [name, there] : {std::pair{a, has_a}, std::pair{b, has_b}}) {
    if (name.empty()) throw usage_error("name two variants of this run: there are " + known_variants(rows));
    if (!there) throw usage_error(fmt::format("no variant '{}' in this run: there are {}", name, known_variants(rows)));
  }
  std::vector<Why> all;
  for (const auto& key : order) {
    const Side& side = sides.at(key);
    if (!side.a.empty() && !side.b.empty()) all.push_back(compare_sides(side));
  }
  if (all.empty()) throw usage_error(fmt::format("'{}' and '{}' have no measure and scenario in common", a, b));
  return all;
}

std::string why_sentence(const Why& why) {
  if (why.n == 0) {
    return why.target > 0 ? fmt::format("In no repeat do both {} and {} reach {}.", why.a, why.b, why.target)
                          : fmt::format("{} and {} have no repeat in common that ended well.", why.a, why.b);
  }
  const auto factor = [](double ratio, const char* more, const char* less, const char* equal) {
    const std::string text = number_text(ratio >= 1 ? ratio : 1 / ratio, 3);
    return text == number_text(1, 3) ? equal : fmt::format("{}x {}", text, ratio >= 1 ? more : less);
  };
  const std::string faster = factor(why.rate.value, "faster", "slower", "as fast") + " a sample" + main_changes(why);
  if (why.target <= 0) return fmt::format("{} is {}, compared with {}.", why.a, faster, why.b);
  const double more = 1 / why.samples.value - 1;
  const std::string samples =
      std::abs(more) < 5e-4 ? "as many" : percent_text(std::abs(more)) + (more > 0 ? " more" : " fewer");
  return fmt::format("{} reaches {} {} {}: {}, {} samples.", why.a, why.target,
                     factor(why.speed_up.value, "sooner than", "later than", "as soon as"), why.b, faster, samples);
}

std::string why_text(const Why& why) {
  std::string text = fmt::format("{} / {}\n{}\n", why.measure, why.scenario, why_sentence(why));
  if (why.lost > 0) {
    text += fmt::format(
        "{} of {} repeats are left out: one of the two failed, did not reach the target, began below it, or has no "
        "steady window\n",
        why.lost, why.lost + why.n);
  }
  if (why.n == 0) return text;
  switch (why.time) {
    case Why::Time::kTarget:
      text += fmt::format("speed-up {} = samples {} x time a sample {}, n = {}\n", with_interval(why.speed_up),
                          with_interval(why.samples), with_interval(why.rate), why.n);
      break;
    case Why::Time::kWhole:
      text += fmt::format("time a sample {} over the whole trial, n = {}: the table shows no speed-up here\n",
                          with_interval(why.rate), why.n);
      break;
    case Why::Time::kWindow:
      text += fmt::format("time a sample {} in the window of samples/s, as in the table, n = {}\n",
                          with_interval(why.rate), why.n);
      if (with_interval(why.whole) != with_interval(why.rate)) {
        text += fmt::format("over the whole trial, warm-up and last workers included: {}\n", with_interval(why.whole));
      }
  }
  text += fmt::format("{}, for the samples of {}:\n", parts_title(why), why.b);
  const std::size_t names = std::max(why.a.size(), why.b.size());
  text += fmt::format("  {:<{}}  {:<{}}  {} s\n", why.a, names, bar(why, &WhyPart::a), kWidth, number_text(why.a_s));
  text += fmt::format("  {:<{}}  {:<{}}  {} s\n", why.b, names, bar(why, &WhyPart::b), kWidth, number_text(why.b_s));
  for (std::size_t i = 0; i < why.parts.size(); ++i) {
    const WhyPart& part = why.parts[i];
    text +=
        fmt::format("  {} {:<40} {:>9} s {:>9} s {:>9} s\n", kLetters[i % 10], part.name, number_text(part.a, 3),
                    number_text(part.b, 3), (part.a >= part.b ? "+" : "-") + number_text(std::abs(part.a - part.b), 3));
  }
  return printable_lines(text);
}

}  // namespace hopbench
