// Reasons why one variant is faster than another: log(speed-up) = log(samples ratio) + log(time a sample's ratio), and
// the time a sample split by its uses.
//
// A rate is explained in the window of the table's samples/s, so that both give the same ratio; a target, up to where
// it was reached. In virtual time the parts are those of the critical path (results/arithmetic/critical_path.h). With
// real processes, and without event logs, they are the shares of the mean worker's time until its last iteration.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/arithmetic/statistics.h"
#include "results/files/run_folder.h"

namespace hopbench {

struct WhyPart {
  std::string name;     // "compute", "slowdown, rank 3", "messages, parameters", "waiting, parameters", "other"
  double a = 0, b = 0;  // seconds that it took a and b, a's for the number of samples that b needed
};

struct Why {
  /// The part of the trial whose time is explained.
  enum class Time {
    kWindow,  // the window of samples/s, as in the table
    kTarget,  // until the target was reached
    kWhole,   // the whole trial, since one of the two has no steady window: the table has no speed-up then
  };

  std::string measure, scenario, a, b;
  Time time = Time::kWindow;
  double target = 0;  // loss; 0: none
  int n = 0;          // pairs of repeats in which both got there
  int lost = 0;       // the other repeats; kWindow: also those in which only one has a steady window
  Number speed_up;    // time of b / time of a
  Number samples;     // samples of b / samples of a: above 1, a needs fewer
  Number rate;        // time a sample of b / of a
  Number whole;       // the same over the whole trial
  bool critical_path = false;
  std::vector<WhyPart> parts;  // means over the pairs, by how much they differ; they sum up to a_s and b_s
  double a_s = 0, b_s = 0;     // time a sample x the samples that b needed
};

/// Returns one for each measure and scenario in which both variants have trials. Error(kUsage) if one is not there.
std::vector<Why> why(std::span<const TrialRow> rows, const std::string& a, const std::string& b);

/// Returns "a reaches 0.6 1.31x sooner than b: 1.42x faster a sample (-0.9 s slowdown, rank 3), 8 % more samples."
std::string why_sentence(const Why& why);
/// Returns the sentence, two stacked bars and their parts.
std::string why_text(const Why& why);

/// Returns the uses of a trial's time, as shares from 0 to 1 that sum up to 1. "vector operations, other" is the
/// time of the mean worker in which it neither computed nor waited. Operations of a strand beside the body are not
/// counted: the body computes or waits at the same time.
std::map<std::string, double> time_shares(const TrialRow& row);

}  // namespace hopbench
