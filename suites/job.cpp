#include "suites/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/json.h"
#include "results/steady.h"
#include "suites/bounds.h"
#include "suites/trial_field.h"

namespace hopbench {
namespace {

/// What another process of this same binary wrote is none of that: that process went wrong.
[[noreturn]] void refuse(const char* what, const std::string& why) {
  throw trial_error(std::string(what) + " cannot be read: " + why + ": run the trial again");
}

template <class Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const OrderedJson::exception& error) {
    refuse(what, json_mistake(error));
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUsage) throw;
    refuse(what, error.what());
  }
}

constexpr const char* kJob = "a rank's job";
constexpr const char* kResult = "a rank's result";
constexpr const char* kRoles[] = {"rank", "simulate", "calibrate", "calibrate_links", "bench"};

}  // namespace

std::string to_text(const Job& job) {
  return OrderedJson{{"role", kRoles[static_cast<int>(job.role)]},
                     {"spec", encode(job.spec)},
                     {"event_log", job.event_log},
                     {"bench", job.bench}}
      .dump();
}

Job job_from_text(const std::string& text) {
  return reading(kJob, [&] {
    const OrderedJson j = OrderedJson::parse(text);
    Job job;
    const std::string role = j.at("role");
    const auto* found = std::find(std::begin(kRoles), std::end(kRoles), role);
    if (found == std::end(kRoles)) refuse(kJob, "it has no such role");
    job.role = static_cast<Job::Role>(found - std::begin(kRoles));
    decode(j.at("spec"), job.spec);
    job.event_log = j.at("event_log");
    job.bench = j.at("bench");
    return job;
  });
}

// "<length of the JSON>\n<JSON><the events' lines><float32 parameters, this machine's order>": both ends are this same
// binary.
std::string to_text(const RankResult& result) {
  std::vector<Time> times;
  std::string lines;
  for (const EventLine& event : result.events) {
    times.push_back(event.time);
    lines += event.text;
  }
  const std::string head =
      OrderedJson{{"record", encode(result.record)}, {"times", encode(times)}, {"bytes_of_lines", lines.size()}}.dump();
  std::string text = std::to_string(head.size()) + "\n" + head + lines;
  const std::size_t begin = text.size(), bytes = result.parameters.size() * sizeof(float);
  text.resize(begin + bytes);
  if (bytes > 0) std::memcpy(text.data() + begin, result.parameters.data(), bytes);
  return text;
}

namespace {

std::vector<EventLine> events_of(const std::vector<Time>& times, std::string_view lines) {
  std::vector<EventLine> events;
  for (const Time time : times) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) refuse(kResult, "its events do not fit together");
    events.push_back({time, std::string(lines.substr(0, end + 1))});
    lines.remove_prefix(end + 1);
  }
  if (!lines.empty()) refuse(kResult, "its events do not fit together");
  return events;
}

}  // namespace

RankResult rank_result_from_text(const std::string& text) {
  std::size_t head = 0, lines = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), head);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;  // of the JSON
  if (error != std::errc() || begin > text.size() || *end != '\n' || head > text.size() - begin)
    refuse(kResult, "it is cut off");
  RankResult result;
  reading(kResult, [&] {
    const OrderedJson j = OrderedJson::parse(text.substr(begin, head));
    std::vector<Time> times;
    decode(j.at("record"), result.record);
    decode(j.at("times"), times);
    decode(j.at("bytes_of_lines"), lines);
    if (lines > text.size() - begin - head) refuse(kResult, "it is cut off");
    result.events = events_of(times, std::string_view(text).substr(begin + head, lines));
  });
  const std::size_t numbers = begin + head + lines;
  result.parameters.resize((text.size() - numbers) / sizeof(float));
  if (!result.parameters.empty())
    std::memcpy(result.parameters.data(), text.data() + numbers, result.parameters.size() * sizeof(float));
  return result;
}

namespace {

std::int64_t gap_bound_of(const TrialSpec& spec, const Plan& plan) {
  if (plan.protocol->gap_bound == nullptr) return -1;
  const Setting setting{spec.knobs, plan.graph, plan.workers, plan.host_of, 0};
  return plan.protocol->gap_bound(setting).value_or(-1);
}

constexpr const char* kTrialOver = "the trial was over before";

/// Of a rank that was not lost, or of a leaver before it left.
bool came(const Fault& fault, const RankRecord& rank) {
  if (fault.what == Fault::What::kCrash || fault.what == Fault::What::kLeave) return false;
  if (fault.what == Fault::What::kJoin) return rank.iters > 0;
  if (fault.at != kNever) return fault.at < rank.finished;
  return std::any_of(rank.marks.begin(), rank.marks.end(),
                     [&](const IterationMark& mark) { return mark.iter >= fault.iteration && mark.samples > 0; });
}

/// Why a fault never came to a worker; empty: it came, or it is not known, as what a crashed rank had begun is not.
std::string why_never(const Fault& fault, const RankRecord& rank, Time end) {
  if (!rank.lost.empty()) {
    const bool known = fault.at != kNever || rank.lost == to_string(Fault::What::kLeave);
    return fault.what == Fault::What::kHang && known && !came(fault, rank) ? "the rank was lost before" : "";
  }
  if (came(fault, rank)) return "";
  if (fault.what == Fault::What::kJoin) return "nothing was left to do";
  if (fault.at != kNever && fault.at >= end) return kTrialOver;
  const bool there = fault.at != kNever && fault.at < rank.finished;  // a leave is looked for before an iteration
  return fault.what == Fault::What::kLeave && there ? "the rank began no iteration after that"
                                                    : "the rank was done before";
}

/// "crash of rank 1, 2 at 100s", "leave of rank 3 in iteration 100", "cut of host 1 at 100s".
std::string text_of(const Fault& fault, const std::vector<std::string>& whom) {
  const char* of = fault.what == Fault::What::kCut ? " of host " : " of rank ";
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
  std::map<std::string, std::vector<std::string>> missing;
  for (const Fault& fault : faults) {
    std::map<std::string, std::vector<std::string>> whom;
    if (fault.what == Fault::What::kCut && fault.at >= end) whom[kTrialOver].push_back(std::to_string(fault.a));
    for (const RankRecord& rank : record.ranks) {
      const std::string why = fault.is_of(rank.rank) ? why_never(fault, rank, end) : "";
      if (!why.empty()) whom[why].push_back(std::to_string(rank.rank));
    }
    for (const auto& [why, those] : whom) missing[why].push_back(text_of(fault, those));
  }
  std::vector<std::string> told;
  for (const auto& [why, what] : missing) told.push_back(join(what, ", ") + ": " + why);
  return told;
}

}  // namespace

RankRecord crashed_record(int rank, int host, Time when) {
  RankRecord record;
  record.rank = rank;
  record.host = host;
  record.finished = when;
  record.lost = to_string(Fault::What::kCrash);
  return record;
}

Event crash_event(int rank, Iter k, Time when) {
  Event event;
  event.time = event.since = when;
  event.rank = rank;
  event.what = EventKind::kFault;
  event.iter = k;
  event.text = to_string(Fault::What::kCrash);
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
  const ScheduleBounds bounds = schedule_bounds(spec, plan, lost);
  record.slowest_rank_samples_per_s = bounds.slowest;
  record.without_slowest_samples_per_s = bounds.without_slowest;
  fill_gaps(record, plan.workers);
  record.gap_bound = lost.empty() ? gap_bound_of(spec, plan) : -1;  // else it changed on the way
  const Window window = fill_rates(record, spec.warmup, spec.warmup_time, plan.workers);
  record.window_ideal_samples_per_s = window_ideal(record, spec, plan, window);
  check_ideal(record, spec.transport == "sim");
  if (spec.pace && spec.step_p99.count() > 0 && spec.costs.gradient > 3 * spec.step_p99) {
    record.warnings.emplace_back(WarningKind::kOverpaced, "the pace is above 3 times the 99th percentile of a step");
  }
  if (const auto missing = never_came(record, spec.scenario.faults); !missing.empty())
    record.warnings.emplace_back(WarningKind::kFaultNeverCame, join(missing, "; "));
  constexpr double kLateShown = 0.05;  // of an iteration
  const auto worst = std::max_element(record.ranks.begin(), record.ranks.end(), [](const auto& a, const auto& b) {
    return a.link_late_median_s < b.link_late_median_s;
  });
  if (worst != record.ranks.end() && worst->link_late_median_s > kLateShown * record.median_iteration_s &&
      record.median_iteration_s > 0)
    record.warnings.emplace_back(WarningKind::kLateLinks,
                                 "emulated messages came late by more than 5 % of an iteration (median)");
}

void EventLog::on(const Event& event) {
  if (detail_ == EventDetail::kNone || (detail_ == EventDetail::kBrief && of_a_message(event.what))) return;
  lines_.push_back({event.time, {}});
  const char* kind = kind_name(event.kind);
  if (kind == nullptr || *event.text != '\0') return append_event(lines_.back().text, event);
  Event named = event;
  named.text = kind;
  append_event(lines_.back().text, named);
}

void write_event_log(const std::string& path, const std::string& trial_id, std::vector<EventLine> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << event_log_head(trial_id);
  for (const EventLine& line : lines) file << line.text;
  file.close();
  if (!file)
    throw environment_error("cannot write the event log " + path + ": " + std::strerror(errno) +
                            ": is its folder there and the disk not full? --no-events goes without");
}

}  // namespace hopbench
