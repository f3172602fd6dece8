// Chrome JSON with the events of all ranks in one document.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "suites/import/marks.h"
#include "suites/import/readers.h"
#include "suites/import/trace_events.h"

namespace hopbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The events of all files.
class PidEvents {
 public:
  explicit PidEvents(Communication& communication) : communication_(communication) {}
  /// The first reading of all files. Error(kUsage) if a pid is no rank, or if there are too many threads.
  void note(const TraceEvent& event, const std::string& path) {
    if (!event.step) return;
    if (!event.pid) return void(++without_pid_);
    if (*event.pid < 0 || *event.pid >= kMostRanksOfTrace)
      throw usage_error(
          fmt::format("{}: the pid of an event is a rank, and {} is not from 0 to {}: number the ranks from 0",
                      printable(path), *event.pid, kMostRanksOfTrace - 1));
    if (event.is_damaged()) return;
    extent_.note(event.begin, event.end);
    last_.note(event.thread, {event.begin, *event.step});
    last_.note(key_of(*event.pid), {event.begin, *event.step});
    if (last_.threads() > 2 * WorkSpans::kMostThreads)
      throw usage_error(fmt::format("{}: its events have more than {} threads: import fewer ranks at a time",
                                    printable(path), WorkSpans::kMostThreads));
  }
  /// The second reading.
  void add(const TraceEvent& event) {
    if (!event.step || !event.pid) return;
    const bool communication = communication_.is(event.name);
    const bool forward = event.name.find("forward") != std::string::npos,
               backward = event.name.find("backward") != std::string::npos,
               any = event.name.find("compute") != std::string::npos && !forward && !backward;
    if (is_damaged(event)) {
      if (communication || forward || backward || any)
        steps_[*event.pid].add({.step = *event.step, .begin = -kInfinity});
      return;
    }
    communication_.note(event.name, (event.end - event.begin) * 1e-6);
    spans_.add(*event.pid, communication ? SpanOf::kCommunication : SpanOf::kCompute, event.thread,
               {event.begin, event.end});
    if (communication) {
      if (!Communication::is_collective(event.name)) return;
      return steps_[*event.pid].add({.step = *event.step, .last_collective = event.end * 1e-6, .collectives = 1});
    }
    if (!forward && !backward && !any) return;
    StepMarks part{.step = *event.step};  // a step lasts from its first forward to its last backward computation
    if (forward || any) part.begin = event.begin * 1e-6;
    if (backward || any) part.end = event.end * 1e-6;
    steps_[*event.pid].add(part);
    busy_[*event.pid][event.thread] += event.end - event.begin;
  }

  /// Returns the steps of each rank. There are no events any more afterwards.
  std::vector<RankMarks> marks(bool grouped, Imported& to);

 private:
  /// Returns true for an event that is to be left out, and counts it.
  bool is_damaged(const TraceEvent& event) {
    const auto step_of = [](const LastBegins::Last& last) { return last.second; };
    const bool endless = last_.never_ended(event.thread, event, *event.step, step_of) ||
                         last_.never_ended(key_of(*event.pid), event, *event.step, step_of);
    never_ended_ += endless ? 1 : 0;
    return endless || extent_.is_far(event.end);
  }
  /// Leaves out steps whose times are not in the order of their numbers.
  static void check_order(Steps& steps);
  void set_balance(Imported& to) const;
  /// Returns a number that stands for all threads of a pid.
  static std::uint64_t key_of(std::int64_t pid) { return ~std::uint64_t(pid); }

  Communication& communication_;
  Extent extent_;
  LastBegins last_;
  std::size_t never_ended_ = 0, without_pid_ = 0;
  std::map<std::int64_t, Steps> steps_;                           // by pid
  std::map<std::int64_t, std::map<std::uint64_t, double>> busy_;  // by pid and thread
  WorkSpans spans_;
};

/// Sets the balance of the threads of each pid, where pids have several that compute.
void PidEvents::set_balance(Imported& to) const {
  double balances = 0;
  bool staged = false;
  for (const auto& [pid, threads] : busy_) {
    double sum = 0, most = 0;
    for (const auto& [thread, busy] : threads) {
      sum += busy;
      most = std::max(most, busy);
    }
    balances += most > 0 ? sum / double(threads.size()) / most : 1;
    staged = staged || threads.size() > 1;
  }
  if (staged) to.stage_balance = balances / double(busy_.size());
}

void PidEvents::check_order(Steps& steps) {
  for (const auto time : {&StepMarks::begin, &StepMarks::end, &StepMarks::last_collective}) {
    std::vector<Ordered> times;
    for (const StepMarks& step : steps)
      if (std::isfinite(step.*time)) times.push_back({0, step.step, step.*time * 1e6});
    for (const Ordered& wrong : take_misplaced(times, [](const Ordered&) { return false; }))
      steps.find(wrong.number)->begin = -kInfinity;
  }
}

std::vector<RankMarks> PidEvents::marks(bool grouped, Imported& to) {
  std::vector<RankMarks> ranks;
  for (auto& [pid, steps] : steps_) {
    RankMarks rank{pid, std::move(steps), {}};
    rank.steps.settle();
    check_order(rank.steps);
    rank.steps.erase_if([&, rank_number = pid](const StepMarks& step) {
      if (step.begin < step.end && step.begin > -kInfinity && step.end < kInfinity) return false;
      to.remarks.step(rank_number, step.step,
                      step.begin == -kInfinity ? "one of its events is damaged: left out"
                                               : fmt::format("no {} computation: left out",
                                                             step.begin < kInfinity ? "backward" : "forward"));
      return true;
    });
    const auto threads = busy_.find(pid);
    const bool pipelined = grouped || (threads != busy_.end() && threads->second.size() > 1);
    if (!pipelined) {
      rank.exposed = spans_.take_exposed(pid);
      for (Span& span : rank.exposed) span = {span.begin * 1e-6, span.end * 1e-6};
    }
    settle_exposed(rank);  // replicas of several ranks have none
    ranks.push_back(std::move(rank));
  }
  if (without_pid_ > 0)
    to.remarks.cause(
        fmt::format("{} events with args.step are left out: their pid is no integer, which is the rank", without_pid_));
  if (never_ended_ > 0)
    to.remarks.add(fmt::format("{} events last beyond all later ones, as if they had never ended: they are left out",
                               never_ended_));
  if (spans_.closed_gap() > 0)
    to.remarks.add(fmt::format("very many events: gaps of up to {} us between them were closed", spans_.closed_gap()));
  if (!grouped) set_balance(to);
  spans_.clear();
  return ranks;
}

}  // namespace

void read_perfetto(const std::vector<std::string>& paths, const Layout& layout, bool align, Imported& to) {
  PidEvents events(to.communication);
  for (const std::string& path : paths) {
    const TraceHead head = read_trace_events(path, [&](const TraceEvent& event) { events.note(event, path); });
    report_head(head, path, to.remarks);
  }
  for (const std::string& path : paths) read_trace_events(path, [&](const TraceEvent& event) { events.add(event); });
  std::vector<RankMarks> ranks = events.marks(layout.grouped(), to);
  if (ranks.empty())
    throw usage_error(
        fmt::format("{}: no event has args.step and is called forward, backward or compute, as in forward-compute{}",
                    printable(paths.front()), to.remarks.first()));
  add_rows(ranks, layout, align, to);
}

}  // namespace hopbench
