// The trial's clock: int64 nanoseconds since the trial's start, in virtual and in real time alike.
#pragma once

#include <chrono>
#include <cstdint>

namespace hopbench {

/// Names the trial's clock for the type system only: it cannot be read here. A protocol asks its Node, a runtime keeps
/// it.
struct TrialClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TrialClock>;
  static constexpr bool is_steady = true;
};

using Duration = TrialClock::duration;
using Time = TrialClock::time_point;  // Time{} is the trial's start

inline constexpr Time kNever = Time::max();

constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr double to_seconds(Time t) { return to_seconds(t.time_since_epoch()); }

/// Rounds to the nearest nanosecond, halves away from zero.
constexpr Duration seconds_to_duration(double s) {
  return Duration{static_cast<std::int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5))};
}

/// d * factor, rounded to the nearest nanosecond.
constexpr Duration scaled(Duration d, double factor) { return seconds_to_duration(to_seconds(d) * factor); }

}  // namespace hopbench
