#include "suites/trial/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "backends/base/record/event.h"
#include "backends/base/text.h"
#include "results/arithmetic/steady.h"
#include "results/files/record_json.h"
#include "suites/trial/bounds.h"

namespace hopbench {
namespace {

constexpr const char* kTrialOver = "the trial was over before";

/// Returns whether a rank was away for as long as the fault says, after its moment.
bool was_away(const Fault& fault, const RankRecord& rank) {
  IterationMark before{.iter = -1};
  for (const IterationMark& mark : rank.marks) {
    const bool late_enough = fault.at != kNever ? before.end >= fault.at : before.iter + 1 >= fault.iteration;
    if (is_absence(before, mark) && late_enough && mark.end - before.end >= fault.lasts) return true;
    before = mark;
  }
  return false;
}

/// Returns whether a fault came to a rank that was not lost, or to a rank before it left.
bool came(const Fault& fault, const RankRecord& rank) {
  if (fault.returns()) return was_away(fault, rank);
  if (fault.what == FaultKind::kCrash || fault.what == FaultKind::kLeave) return false;
  if (fault.what == FaultKind::kJoin) return rank.iters > 0;
  if (fault.at != kNever) return fault.at < rank.finished;
  return std::any_of(rank.marks.begin(), rank.marks.end(),
                     [&](const IterationMark& mark) { return mark.iter >= fault.iteration && mark.samples > 0; });
}

/// Returns why a fault never came to a worker. The text is empty if it came, or if nobody knows: what a crashed rank
/// had begun is lost.
std::string why_never(const Fault& fault, const RankRecord& rank, Time end) {
  if (!rank.lost.empty()) {
    const bool known = fault.at != kNever || rank.lost == to_string(FaultKind::kLeave);
    const bool once_only = fault.what == FaultKind::kCrash || (fault.what == FaultKind::kLeave && !fault.returns());
    const bool spared = !once_only && fault.what != FaultKind::kJoin && known && !came(fault, rank);
    return spared ? "the rank was lost before" : "";
  }
  if (came(fault, rank)) return "";
  if (fault.what == FaultKind::kJoin) return "nothing was left to do";
  if (fault.at != kNever && fault.at >= end) return kTrialOver;
  const bool there = fault.at != kNever && fault.at < rank.finished;  // a leave is looked for before an iteration
  return fault.what == FaultKind::kLeave && there ? "the rank began no iteration after that"
                                                  : "the rank was done before";
}

/// "crash of rank 1, 2 at 100s", "leave of rank 3 in iteration 100", "cut of host 1 at 100s".
std::string text_of(const Fault& fault, const std::vector<std::string>& whom) {
  const char* of = fault.what == FaultKind::kCut ? " of host " : " of rank ";
  const std::string when = fault.at == kNever ? " in iteration " + std::to_string(fault.iteration)
                                              : " at " + duration_text(fault.at.time_since_epoch().count());
  return to_string(fault.what) + (of + join(whom, ", ")) + when;
}

/// Each reason with the faults that never came for it: "crash of rank 2 at 100s: the trial was over before".
std::vector<std::string> never_came(const TrialRecord& record, const std::vector<Fault>& faults) {
  Time end{};  // of those too that were lost after the others had finished
  for (const RankRecord& rank : record.ranks) {
    if (!rank.server) end = std::max(end, rank.finished);
  }
  // A list of absences may go on after the end of the trial.
  const bool some_came = std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return fault.returns() && std::any_of(record.ranks.begin(), record.ranks.end(), [&](const RankRecord& rank) {
             return fault.is_of(rank.rank) && was_away(fault, rank);
           });
  });
  std::map<std::string, std::vector<std::string>> missing;
  for (const Fault& fault : faults) {
    std::map<std::string, std::vector<std::string>> whom;
    if (fault.what == FaultKind::kCut && fault.at >= end) whom[kTrialOver].push_back(std::to_string(fault.a));
    for (const RankRecord& rank : record.ranks) {
      const bool later_one = fault.returns() && some_came;
      const std::string why = fault.is_of(rank.rank) && !later_one ? why_never(fault, rank, end) : "";
      if (!why.empty()) whom[why].push_back(std::to_string(rank.rank));
    }
    for (const auto& [why, those] : whom) missing[why].push_back(text_of(fault, those));
  }
  std::vector<std::string> told;
  for (const auto& [why, what] : missing) told.push_back(join(what, ", ") + ": " + why);
  return told;
}

/// Names the slowdowns and link rules that begin after the end of the trial.
std::vector<std::string> rules_after(Time end, const Scenario& scenario) {
  std::vector<std::string> late;
  const auto look = [&](const char* what, const auto& rules) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].from > Time{} && rules[i].from >= end)
        late.push_back(fmt::format("{} {} from {}: {}", what, i + 1,
                                   duration_text(rules[i].from.time_since_epoch().count()), kTrialOver));
    }
  };
  look("compute rule", scenario.compute);
  look("link rule", scenario.links);
  return late;
}

}  // namespace

RankRecord crashed_record(int rank, int host, Time when) {
  RankRecord record;
  record.rank = rank;
  record.host = host;
  record.finished = when;
  record.lost = to_string(FaultKind::kCrash);
  return record;
}

Event crash_event(int rank, Iter k, Time when) {
  Event event;
  event.time = event.since = when;
  event.rank = rank;
  event.what = EventKind::kFault;
  event.iter = k;
  event.text = to_string(FaultKind::kCrash);
  return event;
}

void check_ideal(TrialRecord& record, bool virtual_time) {
  const double ideal = record.window_ideal_samples_per_s, rate = record.samples_per_s;
  constexpr double kMeasured = 0.01;
  if (ideal < 0 || rate <= (1 + (virtual_time ? kIdealRounding : kMeasured)) * ideal) return;
  const std::string what = fmt::format("its {:.6g} samples/s are {:.2g} % more than its devices could compute ({:.6g})",
                                       rate, 100 * (rate / ideal - 1), ideal);
  if (!virtual_time) {
    record.warnings.emplace_back(WarningKind::kAboveIdeal, what);
    return;
  }
  record.status = TrialStatus::kFailed;
  record.failure = {
      FailureKind::kError, -1,
      what +
          ". Gradients were counted for which there was no time: a defect of the protocol or of hopbench. "
          "Please report it with the suite"};
}

void complete_record(TrialRecord& record, const TrialSpec& spec, const Plan& plan) {
  for (RankRecord& rank : record.ranks) rank.worker = rank.server ? -1 : spec.workload.number_of(rank.rank);
  record.id = spec.id();
  record.hash = spec.hash();
  Time end{}, first_lost = kNever;
  std::vector<int> lost;
  for (const RankRecord& rank : record.ranks) {
    if (!rank.server && rank.lost.empty()) end = std::max(end, rank.finished);
    if (rank.lost.empty()) continue;
    lost.push_back(rank.rank);
    first_lost = std::min(first_lost, rank.finished);
  }
  record.time_s = to_seconds(end);
  record.ranks_lost = static_cast<int>(lost.size());
  if (!lost.empty()) record.first_lost_s = to_seconds(first_lost);
  fill_gaps(record, plan.workers);
  record.gap_bound = lost.empty() ? gap_bound_of(spec, plan) : -1;  // else it changed on the way
  const Window window = fill_rates(record, spec.warmup, spec.warmup_time, plan.workers);
  if (spec.what == MeasureKind::kRate && record.gap_bound >= 0 &&
      (warm_up_of(spec).iterations < 2 * record.gap_bound || lead_in_window(record) > kLongLead))
    record.warnings.emplace_back(WarningKind::kShortWarmUp);
  const bool moves_data = plan.protocol->moves_data != nullptr && plan.protocol->moves_data(spec.knobs);
  if (moves_data && spec.workload.split.what != SplitKind::kIid) record.warnings.emplace_back(WarningKind::kMovesData);
  const WindowBounds bounds = window_bounds(record, spec, plan, window);
  record.window_ideal_samples_per_s = bounds.ideal;
  record.slowest_rank_samples_per_s = bounds.slowest;
  record.without_slowest_samples_per_s = bounds.without_slowest;
  check_ideal(record, spec.transport == "sim");
  if (spec.pace && spec.step_p99.count() > 0 && spec.costs.gradient > 3 * spec.step_p99) {
    record.warnings.emplace_back(WarningKind::kOverpaced, "the pace is above 3 times the 99th percentile of a step");
  }
  std::vector<std::string> missing = never_came(record, spec.scenario.faults);
  for (std::string& late : rules_after(end, spec.scenario)) missing.push_back(std::move(late));
  if (!missing.empty()) record.warnings.emplace_back(WarningKind::kFaultNeverCame, join(missing, "; "));
  constexpr double kLateShown = 0.05;  // of an iteration
  const auto worst = std::max_element(record.ranks.begin(), record.ranks.end(), [](const auto& a, const auto& b) {
    return a.link_late_median_s < b.link_late_median_s;
  });
  if (worst != record.ranks.end() && worst->link_late_median_s > kLateShown * record.median_iteration_s &&
      record.median_iteration_s > 0)
    record.warnings.emplace_back(WarningKind::kLateLinks,
                                 "emulated messages came late by more than 5 % of an iteration (median)");
}

}  // namespace hopbench
