#include "results/tables/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopbench {

std::string number_text(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  // By way of the rounded number: 99.999 is 100.0, not 100.00.
  std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  constexpr int kLeastPlain = -4, kMostPlain = 14;  // more digits than these tell nothing
  if (exponent < kLeastPlain || exponent > kMostPlain) return scientific;
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string whole_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : number_text(value);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  return fmt::format("{:.{}f} %", percent, percent < 9.95 && percent > 0 ? 1 : 0);
}

std::string text_of(const Number& number, const Format& format) {
  if (std::isnan(number.value)) return "-";
  std::string middle = (number.beyond ? "> " : "") + format.text(number.value) + format.unit;
  if (!number.spread()) return middle;
  const std::string low = format.text(number.spread()->low), high = format.text(number.spread()->high);
  if (number.interval) return fmt::format("{} [{}, {}]", middle, low, high);
  return low == high ? middle : fmt::format("{} ({} .. {})", middle, low, high);
}

}  // namespace hopbench
