// Texts between the launcher and the children of a trial: a job down, a result up. JSON comes first, numbers last.
#pragma once

#include <string>
#include <vector>

#include "backends/base/record/trial_record.h"
#include "suites/trial/dump.h"
#include "suites/trial/event_log.h"
#include "suites/trial/trial.h"

namespace hopbench {

struct ChildTask {
  std::string role;  // which of the program's roles (rank.h)
  TrialSpec spec;
  std::string event_log = {};  // simulate: the file to write; simulate_elsewhere: not empty if a log is wanted
  std::string bench = {};      // bench: what to measure, as its role reads it
  Dump dump = {};              // simulate
};
std::string to_text(const ChildTask& job);
/// Reads such a text. This and rank_result_from_text throw Error (trial) if the text is malformed.
ChildTask task_from_text(const std::string& text);

/// A rank's share of a trial.
struct RankResult {
  RankRecord record;
  std::vector<EventLine> events;  // in the order of its clock
  std::vector<float> parameters;  // its last report; empty for servers
};
std::string to_text(const RankResult& result);
RankResult rank_result_from_text(const std::string& text);

/// A trial in virtual time that another machine computed.
struct SimulationResult {
  std::string record;     // JSON
  std::string event_log;  // the whole log; empty: none was wanted
};
std::string to_text(const SimulationResult& result);
/// Throws Error (trial) if the text is malformed.
SimulationResult simulation_result_from_text(const std::string& text);

}  // namespace hopbench
