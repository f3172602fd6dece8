// Chrome JSON with the events of all ranks in one document.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
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
  void add(const TraceEvent& event) {
    if (!event.step || !event.pid || *event.pid < 0 || *event.pid >= kMostRanksOfTrace) return;
    const bool communication = is_communication(event.name);
    spans_.add(*event.pid, communication ? SpanOf::kCommunication : SpanOf::kCompute, event.thread,
               {event.begin, event.end});
    if (communication) {
      if (!is_collective(event.name)) return;
      return steps_[*event.pid].add({.step = *event.step, .last_collective = event.end * 1e-6, .collectives = 1});
    }
    const bool forward = event.name.find("forward") != std::string::npos,
               backward = event.name.find("backward") != std::string::npos,
               any = event.name.find("compute") != std::string::npos && !forward && !backward;
    if (!forward && !backward && !any) return;
    StepMarks part{.step = *event.step};  // a step lasts from its first forward to its last backward computation
    if (forward || any) part.begin = event.begin * 1e-6;
    if (backward || any) part.end = event.end * 1e-6;
    steps_[*event.pid].add(part);
    busy_[*event.pid][event.thread] += event.end - event.begin;
  }

  bool has_too_many_threads() const { return spans_.threads() > WorkSpans::kMostThreads; }
  /// Returns the steps of each rank. There are no events any more afterwards.
  std::vector<RankMarks> marks(bool grouped, Imported& to);

 private:
  void set_balance(Imported& to) const;

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
    for (const auto& [thread, busy] : threads) sum += busy, most = std::max(most, busy);
    balances += most > 0 ? sum / double(threads.size()) / most : 1;
    staged = staged || threads.size() > 1;
  }
  if (staged) to.stage_balance = balances / double(busy_.size());
}

std::vector<RankMarks> PidEvents::marks(bool grouped, Imported& to) {
  std::vector<RankMarks> ranks;
  for (auto& [pid, steps] : steps_) {
    RankMarks rank{pid, std::move(steps), {}};
    rank.steps.settle();
    rank.steps.erase_if([&, rank_number = pid](const StepMarks& step) {
      if (step.begin < step.end && step.begin > -kInfinity && step.end < kInfinity) return false;
      to.remarks.add(fmt::format("rank {}: step {} lacks a {} computation: it is left out", rank_number, step.step,
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
  if (spans_.closed_gap() > 0)
    to.remarks.add(fmt::format("very many events: gaps of up to {} us between them were closed", spans_.closed_gap()));
  if (!grouped) set_balance(to);
  spans_.clear();
  return ranks;
}

}  // namespace

void read_perfetto(const std::vector<std::string>& paths, const Layout& layout, bool align, Imported& to) {
  PidEvents events;
  for (const std::string& path : paths) {
    const TraceHead head = read_trace_events(path, [&](const TraceEvent& event) {
      events.add(event);
      if (events.has_too_many_threads())
        throw usage_error(fmt::format("{}: its events have more than {} threads: import fewer ranks at a time",
                                      printable(path), WorkSpans::kMostThreads));
    });
    if (head.damaged > 0)
      to.remarks.add(
          fmt::format("{}: {} events without a time or a duration are left out", printable(path), head.damaged));
    if (head.open > 0)
      to.remarks.add(fmt::format("{}: {} events of phase B or E are left out: only whole events (phase X) are read",
                                 printable(path), head.open));
  }
  std::vector<RankMarks> ranks = events.marks(layout.grouped(), to);
  if (ranks.empty())
    throw usage_error(
        fmt::format("{}: no event has args.step and is called forward, backward or compute, as in forward-compute",
                    printable(paths.front())));
  add_rows(ranks, layout, align, to);
}

}  // namespace hopbench
