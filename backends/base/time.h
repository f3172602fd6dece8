// The trial's clock: int64 nanoseconds since the trial's start, in virtual and in real time alike.
#pragma once

#include <chrono>
#include <cstdint>

namespace hopbench {

/// Names the trial's clock for the type system only: it cannot be read here. A protocol asks its Node for the time. A
/// runtime keeps the clock.
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

/// The last instant of the trial's clock: 30 years. A trial in virtual time that would go further fails.
inline constexpr Time kClockEnd{std::chrono::hours(24 * 365 * 30)};

/// The longest duration that arithmetic returns (73 years). Longer ones, and those that are not a number, count as this
/// one. It lies past kClockEnd, so it never passes for a valid time, and a sum with an instant of the clock fits.
inline constexpr Duration kLongestDuration{std::int64_t{1} << 61};

constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }
constexpr double to_seconds(Time t) { return to_seconds(t.time_since_epoch()); }

/// Rounds to the nearest nanosecond, halves away from zero. Stays within +-kLongestDuration.
constexpr Duration seconds_to_duration(double s) {
  constexpr auto kMost = static_cast<double>(kLongestDuration.count());
  const double ns = s * 1e9 + (s < 0 ? -0.5 : 0.5);
  if (ns <= -kMost) return -kLongestDuration;
  return ns < kMost ? Duration{static_cast<std::int64_t>(ns)} : kLongestDuration;  // not a number: kLongestDuration
}

/// Returns d * factor, rounded to the nearest nanosecond. Stays within +-kLongestDuration.
constexpr Duration scaled(Duration d, double factor) { return seconds_to_duration(to_seconds(d) * factor); }

/// Returns t + d for a duration d >= 0, at most Time(kLongestDuration), so that sums of many durations stay in range.
constexpr Time after(Time t, Duration d) {
  constexpr Time kLast{kLongestDuration};
  return t >= kLast || d >= kLast - t ? kLast : t + d;
}

}  // namespace hopbench
