// The number of gradients that DBW's server waits for (protocols/server/dbw.cpp): plain arithmetic, without a node.
//
//   Gain(k) = (lr - L lr^2 / 2) |grad F|^2 - (L lr^2 / 2) V / k    how much an update with k gradients lowers the loss
//   k       = argmax of Gain(k) / T(k)
//
// |grad F|^2, the variance V of one gradient and the smoothness L are estimated from the gradients and losses received,
// T(k) from the arrival times of gradients. If one is missing or no k gains anything, the server waits for all.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backends/base/iter.h"
#include "backends/base/time.h"

namespace hopbench::server {

/// The observations of the objective that an update gives.
struct UpdateSeen {
  int gradients = 0;         // k
  double lr = 0;             // of the update
  double loss = 0;           // mean over the k gradients, before the update
  double mean_norm2 = 0;     // squared norm of their mean
  double sum_of_norms2 = 0;  // sum of their squared norms
};

struct Landscape {
  double slope2 = 0;      // |grad F|^2
  double variance = 0;    // V: the mean squared distance of one gradient from grad F
  double smoothness = 0;  // L
};

double gain(const Landscape& at, double lr, int k);

/// Returns the argmax over k = 1 .. times.size() of gain / times[k - 1], the largest k of several, or times.size() if
/// no gain is positive.
int best_count(const Landscape& at, double lr, std::span<const double> times);

/// An estimate of the Landscape from the updates so far. V and |grad F|^2 are of the last `window` updates. L is of
/// all, because it is a constant of the objective and losses are far noisier than what a step changes.
class LandscapeEstimate {
 public:
  explicit LandscapeEstimate(int window) : window_(static_cast<std::size_t>(window)) {}
  void add(const UpdateSeen& update);
  /// Returns nothing before `window` + 1 updates, while none of the last has two gradients, or if L comes out <= 0.
  std::optional<Landscape> now() const;

 private:
  std::optional<double> variance() const;

  struct Expected {
    double drop;  // of the loss if F were linear: lr |grad F|^2
    double bend;  // lr^2 / 2 |mean gradient|^2; L times this is what F's curvature takes off the drop
  };
  std::size_t window_, added_ = 0;  // added_: updates
  std::deque<UpdateSeen> recent_;
  std::optional<Expected> last_;  // of the last update, whose real drop is not known before the next one's loss
  double missed_ = 0, bend_ = 0;  // sums of the drop that did not happen, and of `bend`
};

/// The times until the i-th gradient of a version of the weights arrives, by the number of gradients in that version.
class ArrivalTimes {
 public:
  /// Records that version t is out, made by an update with `made_of` gradients.
  void published(Iter t, Time now, int made_of);
  /// Records that the next gradient of version t has arrived, in time or late.
  void arrived(Iter t, Time now);
  /// Returns T(1) .. T(n) after an update with `made_of` gradients: means, made monotone. Empty if one was never seen.
  std::vector<double> expected(int made_of, int n) const;

 private:
  struct Version {
    Time out{};
    int made_of = 0, arrived = 0;
  };
  struct Mean {
    double sum = 0;
    std::int64_t count = 0;
  };
  std::vector<Version> versions_;
  std::map<int, std::vector<Mean>> seen_;  // by made_of; the i-th arrival
};

/// Returns the nearest rising sequence, by least squares with these weights (pool adjacent violators).
std::vector<double> monotone(std::span<const double> values, std::span<const double> weights);

}  // namespace hopbench::server
