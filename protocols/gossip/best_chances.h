// The chances of a graph's matchings with which the mean graph is best connected, for MATCHA's plan.
#pragma once

#include <vector>

#include "protocols/node/topology.h"

namespace hopbench::gossip {

using Matching = std::vector<Edge>;
using Numbers = std::vector<double>;
using Matrix = std::vector<Numbers>;

double dot(const Numbers& x, const Numbers& y);

/// Returns the sum of the matchings' Laplacians times `weights`, among n workers.
Matrix laplacian_of(const std::vector<Matching>& matchings, const Numbers& weights, std::size_t n);

/// Returns the chances, with the sum `budget` (in (0, 1]) times the number of matchings, that maximise the second
/// smallest eigenvalue of the mean Laplacian, up to 0.4 %. The matchings connect all workers. If the budget is not 1,
/// every chance is above 0 and below 1. Where many chances are equally good, these are farthest from 0 and 1. A change
/// of the input in the last digits hardly changes them.
Numbers find_best_chances(const std::vector<Matching>& matchings, std::size_t n, double budget);

}  // namespace hopbench::gossip
