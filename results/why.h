// Why one variant is faster than another: log(speed-up) = log(samples ratio) + log(time a sample's ratio), and the time
// a sample split by what it went into.
//
// In virtual time the parts are those of the critical path to the end of the trial (suites/critical_path.h), scaled to
// the time to the target where there is one; they sum up to it. With real processes they are what the mean worker did
// and waited for.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "results/run_folder.h"
#include "results/statistics.h"

namespace hopbench {

struct WhyPart {
  std::string name;     // "compute", "slowdown, rank 3", "messages, parameters", "waiting, parameters", "other"
  double a = 0, b = 0;  // s that it took each of them, a's for as many samples as b needed
};

struct Why {
  std::string measure, scenario, a, b;
  double target = 0;     // loss; 0: none: the whole trial
  int n = 0;             // pairs of repeats in which both got there
  int lost = 0;          // repeats in which only b did, or neither
  PairedRatio speed_up;  // time of b / time of a
  PairedRatio samples;   // samples of b / samples of a: above 1, a needs fewer
  PairedRatio rate;      // time a sample of b / of a
  bool critical_path = false;
  std::vector<WhyPart> parts;  // means over the pairs, by how much they differ; they sum up to a_s and b_s
  double a_s = 0, b_s = 0;     // time a sample x the samples that b needed
};

/// One for each measure and scenario in which both variants have trials. Error(kUsage) if a variant is not there.
std::vector<Why> why(std::span<const TrialRow> rows, const std::string& a, const std::string& b);

/// "hop reaches 0.6 1.31x sooner than allreduce: 1.42x faster a sample (-0.9 s slowdown, rank 3), 8 % more samples."
std::string why_sentence(const Why& why);
/// The sentence, two stacked bars and what they are made of.
std::string why_text(const Why& why);

/// What a trial's time went into, in seconds; the sum is time_s.
std::map<std::string, double> time_parts(const TrialRow& row);

}  // namespace hopbench
