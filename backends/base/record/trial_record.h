// The record of a trial, as plain data. Writers (JSON, CSV, tables) and checkers read it; nothing here computes.
// Every module may see it, but protocols, which must not decide by it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/failure.h"
#include "backends/base/record/rank_record.h"
#include "backends/base/time.h"

namespace hopbench {

struct CurvePoint {
  std::string model;  // mean | median rank | worst rank | server
  Time time{};
  double iteration = 0;      // mean over ranks
  std::int64_t samples = 0;  // summed over ranks
  double loss = 0, accuracy = 0, consensus_distance = 0;
};

enum class TrialStatus { kOk, kFailed, kInterrupted };

/// A warning about a trial's numbers.
enum class WarningKind : std::uint8_t {
  kOther,           // of a later version: only its text is known
  kNotSteady,       // the halves of the window differ
  kNoSteadyWindow,  // rates are over the whole trial
  kOversubscribed,  // too many iterations did not fit into their pace
  kContended,       // a rank waited for a core
  kOverpaced,       // the pace is far above what a step takes
  kAboveIdeal,      // the rate is above what the devices could compute
  kFaultNeverCame,
  kLateLinks,  // emulated messages came late
  kDiverged,
  kMeasuredAgain,  // the machine disturbed an earlier attempt
  kKept,           // by --force, with other settings
  kShortWarmUp,    // a rank may still be running ahead when the window begins
  kMovesData,      // workers compute on samples of others' parts, on skewed data
  kDependsOnTies,  // other orders of what happens at one instant give other rates
  kUnchanged,      // all final models are the initial one
};
inline constexpr int kWarningKinds = 16;

struct Warning {
  Warning() = default;
  Warning(WarningKind its_kind, std::string its_text = "") : kind(its_kind), text(message_text(std::move(its_text))) {}
  friend bool operator==(const Warning& a, const Warning& b) = default;

  WarningKind kind = WarningKind::kOther;
  std::string text;  // for people: details beyond the kind; empty: no details
};

/// The share by which rounding may lift a rate in virtual time above its window_ideal_samples_per_s.
inline constexpr double kIdealRounding = 1e-6;

struct TrialRecord {
  std::string id;    // suite/measure/scenario/variant/seed/repeat: readable, unique in a run
  std::string hash;  // of the resolved trial; --resume compares it
  TrialStatus status = TrialStatus::kOk;
  Failure failure;  // kNone if ok
  std::vector<Warning> warnings;
  // The trial's clock (real or virtual)
  double time_s = 0;
  int ranks_lost = 0;        // workers; rates, losses, `time_s` and `params_hash` are of the others
  double first_lost_s = -1;  // -1: no worker was lost
  std::vector<RankRecord> ranks;
  std::vector<CurvePoint> curve;
  std::string params_hash;
  // Rates over the steady window (fairness section 5)
  double window_start_s = 0, window_end_s = 0, samples_per_s = 0, iters_per_s = 0, wait_share = 0,
         median_iteration_s = 0;
  std::string main_wait;  // the reason with the most waiting time
  // Virtual time with event logs: what the critical path to the end of the trial consists of
  // (results/arithmetic/critical_path.h)
  std::map<std::string, Duration> path;
  // Bound rows, from the paired draws and the cost
  std::int64_t gap_bound = -1;  // of `gap_max` of any worker, by the protocol; -1: none
  double slowest_rank_samples_per_s = 0, without_slowest_samples_per_s = 0;
  double samples_heard_per_s = -1;         // of gradients that came to another rank; -1: not known
  double window_ideal_samples_per_s = -1;  // suites/trial/bounds.h; -1: not known, as in rows of schema 1.0
  double overrun_share = 0;
  // The host (host.csv)
  double wall_s = 0, cpu_s = 0;
  std::int64_t max_rss_bytes = 0;
};

}  // namespace hopbench
