// What passes between the launcher and the children of a trial: a job down, a result up. Text in front, numbers behind.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"
#include "suites/plan.h"
#include "suites/trial.h"

namespace hopbench {

struct Job {
  enum class Role { kRank, kSimulate, kCalibrate, kCalibrateLinks, kBench } role = Role::kRank;
  TrialSpec spec;
  std::string event_log;   // simulate: the file to write
  std::string bench = {};  // bench: what to measure (transport_bench.h)
};
std::string to_text(const Job& job);
/// The readers throw Error (trial) for what is none of these.
Job job_from_text(const std::string& text);

/// An event as the event log has it.
struct EventLine {
  Time time{};
  std::string text;  // one JSON line, line break included
};

/// A rank's share of a trial.
struct RankResult {
  RankRecord record;
  std::vector<EventLine> events;  // in the order of its clock
  std::vector<float> parameters;  // its last report; empty for servers
};
std::string to_text(const RankResult& result);
RankResult rank_result_from_text(const std::string& text);

/// What is left of a worker that the scenario has killed, with real processes and in virtual time: when that was. What
/// it had counted died with it (its slot's samples, which a curve's last point needs, are not of the record).
RankRecord crashed_record(int rank, int host, Time when);
Event crash_event(int rank, Iter k, Time when);

/// Fills in what follows from the ranks' records: names, hash, time, rates, gaps, bounds, warnings.
void complete_record(TrialRecord& record, const TrialSpec& spec, const Plan& plan);

/// Holds the record's rate against window_ideal_samples_per_s, if that is known. In virtual time a larger rate fails
/// the trial, since some device computed more than it could. In real processes, whose times are measured, a rate
/// above 1.01 of it adds a warning.
void check_ideal(TrialRecord& record, bool virtual_time);

/// Collects what the event log shows: iterations, gradients, averages, losses, waits, departures; with kAll every
/// event.
class EventLog : public Observer {
 public:
  explicit EventLog(EventDetail detail) : detail_(detail) {}
  void on(const Event& event) override;
  std::vector<EventLine>& lines() { return lines_; }

 private:
  EventDetail detail_;
  std::vector<EventLine> lines_;
};

/// Writes an event log, sorted by time (equal times: in the order given).
void write_event_log(const std::string& path, const std::string& trial_id, std::vector<EventLine> lines);

}  // namespace hopbench
