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

/// A step of a pid, microseconds.
struct PidStep {
  double begin = kInfinity, end = -kInfinity;  // of its first forward and its last backward computation
  double last_collective = -kInfinity;
  std::uint32_t collectives = 0;
};

/// The events of all files.
class PidEvents {
 public:
  void add(const TraceEvent& event) {
    if (!event.step || !event.pid || *event.pid < 0 || *event.pid >= kMostRanksOfTrace) return;
    const bool communication = is_communication(event.name);
    spans_.add(*event.pid, communication ? Work::kCommunication : Work::kCompute, event.thread,
               {event.begin, event.end});
    if (communication) {
      if (!is_collective(event.name)) return;
      PidStep& step = steps_[*event.pid][*event.step];
      ++step.collectives;
      step.last_collective = std::max(step.last_collective, event.end);
      return;
    }
    const bool forward = event.name.find("forward") != std::string::npos,
               backward = event.name.find("backward") != std::string::npos,
               any = event.name.find("compute") != std::string::npos && !forward && !backward;
    if (!forward && !backward && !any) return;
    PidStep& step = steps_[*event.pid][*event.step];
    if (forward || any) step.begin = std::min(step.begin, event.begin);
    if (backward || any) step.end = std::max(step.end, event.end);
    busy_[*event.pid][event.thread] += event.end - event.begin;
  }

  bool has_too_many_threads() const { return spans_.threads() > WorkSpans::kMostThreads; }
  std::vector<RankMarks> marks(bool grouped, Imported& to);

 private:
  void set_balance(Imported& to) const;

  std::map<std::int64_t, std::map<std::int64_t, PidStep>> steps_;  // by pid and step
  std::map<std::int64_t, std::map<std::uint64_t, double>> busy_;   // by pid and thread
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
  for (const auto& [pid, steps] : steps_) {
    RankMarks rank{pid, {}, {}};
    for (const auto& [number, step] : steps) {
      if (step.begin < step.end && step.begin > -kInfinity && step.end < kInfinity) {
        rank.steps[number] = {step.begin * 1e-6, step.end * 1e-6, step.last_collective * 1e-6, step.collectives};
      } else {
        to.remarks.add(fmt::format("rank {}: step {} lacks a {} computation: it is left out", pid, number,
                                   step.begin < kInfinity ? "backward" : "forward"));
      }
    }
    const auto threads = busy_.find(pid);
    const bool pipelined = grouped || (threads != busy_.end() && threads->second.size() > 1);
    if (!pipelined) {
      rank.exposed = spans_.exposed(pid);
      for (Span& span : rank.exposed) span = {span.begin * 1e-6, span.end * 1e-6};
    }
    settle_exposed(rank);  // replicas of several ranks have none
    ranks.push_back(std::move(rank));
  }
  if (spans_.closed_gap() > 0)
    to.remarks.add(fmt::format("very many events: gaps of up to {} us between them were closed", spans_.closed_gap()));
  if (!grouped) set_balance(to);
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
