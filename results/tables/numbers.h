// Numbers as people read them. An interval becomes text in text_of() alone.
#pragma once

#include <string>

#include "results/arithmetic/statistics.h"

namespace hopbench {

/// Returns a number with `digits` significant digits: 1235, 12.35, 0.01235; "-" for NaN.
std::string number_text(double value, int digits = 4);
std::string percent_text(double share);
/// Returns a count: 512; as number_text() does if it is not a whole number.
std::string whole_text(double value);

/// The form of a column's numbers. The unit stands behind the number itself and not behind the ends of its interval.
struct Format {
  std::string (*text)(double);
  const char* unit = "";
};
inline constexpr Format kPlainNumber{[](double value) { return number_text(value); }};
inline constexpr Format kShareNumber{percent_text}, kCountNumber{whole_text};
inline constexpr Format kRatioNumber{[](double ratio) { return number_text(ratio, 3); }, "x"};

/// Returns "812", "812 [800, 820]" with an interval, "812 (790 .. 830)" with a range alone if its ends are not the same
/// text; "-" for NaN.
std::string text_of(const Number& number, const Format& format = kPlainNumber);

}  // namespace hopbench
