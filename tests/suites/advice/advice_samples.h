// Candidates for the tests of advice.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "suites/advice/advice.h"

namespace hopbench {

/// Returns a candidate whose rates are `rate` times what chance made of each repeat.
inline Candidate candidate(const std::string& label, double rate,
                           const std::vector<double>& chance = {1.0, 1.1, 0.9, 1.0}) {
  Candidate one;
  one.label = label;
  one.family = "gossip";
  for (const double factor : chance) one.rates.push_back(rate * factor);
  one.errors = {-0.01, 0, 0.01};
  one.gap_bound = 3;
  one.changes = 1;
  return one;
}

inline const Ranked& of_label(const Advice& advice, const std::string& label) {
  for (const Ranked& one : advice.ranking) {
    if (one.of.label == label) return one;
  }
  return advice.ranking.front();
}

}  // namespace hopbench
