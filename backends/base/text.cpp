#include "backends/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/base/find_named.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

// Edit distance in which exchanging two neighbours counts once (optimal string alignment): "bacth" is one slip from
// "batch".
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// Returns the only candidate that begins with `word`; "" if there is none, or more than one.
std::string only_continuation(std::string_view word, std::span<const std::string> candidates) {
  std::string found;
  for (const std::string& candidate : candidates) {
    if (word.empty() || !candidate.starts_with(word)) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (std::find(candidates.begin(), candidates.end(), word) != candidates.end()) return std::string(word);
  if (std::string same = synonym_of(word, candidates); !same.empty() || is_synonym(word)) return same;
  if (std::string whole = only_continuation(word, candidates); !whole.empty()) return whole;
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    // The distance is at least the difference in length, so words of very different length are not compared.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= best) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string found = nearest(word, candidates);
  return found.empty() ? "" : " Did you mean '" + found + "'?";
}

void throw_unknown(const char* kind, std::string_view name, std::span<const std::string> known) {
  throw usage_error("unknown " + std::string(kind) + " '" + std::string(name) + "': known are " + join(known, ", ") +
                    "." + did_you_mean(name, known));
}

std::string join(std::span<const std::string> parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += between;
    text += part;
  }
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+-") ==
                                          std::string_view::npos;
  if (plain) return std::string(word);
  if (!is_printable(word)) {
    std::string octal = "$'";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      octal += byte < 0x20 || byte > 0x7e || c == '\'' || c == '\\' ? fmt::format("\\{:03o}", byte) : std::string(1, c);
    }
    return octal + "'";
  }
  std::string all = "'";
  for (const char c : word) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

bool split_number(std::string_view text, double& number, std::string_view& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string digits(text.data(), end);
  if (digits.find_first_of("0123456789") == std::string::npos) return false;  // "inf", "nan"
  if (error != std::errc()) {
    number = std::strtod(digits.c_str(), nullptr);  // infinite, or next to 0
    if (!std::isinf(number)) return false;
  }
  if (std::isnan(number)) return false;
  unit = text.substr(digits.size());
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return true;
}

bool parse_duration(std::string_view text, long long& nanoseconds) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},  {"us", 1e3},   {"ms", 1e6},
                                                                   {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
  double number = 0;
  std::string_view unit;
  if (!split_number(text, number, unit)) return false;
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) {
      if (std::abs(number * factor) > 9e18) return false;
      nanoseconds = std::llround(number * factor);
      return true;
    }
  }
  return false;
}

std::string duration_text(long long nanoseconds) {
  static constexpr std::pair<std::string_view, long long> kUnits[] = {
      {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};
  for (const auto& [name, factor] : kUnits) {
    // Takes the largest unit that is exact with at most three decimals: 1.5s, 1500.001us.
    if (nanoseconds != 0 && std::llabs(nanoseconds) >= factor &&
        (factor < 1000 || nanoseconds % (factor / 1000) == 0)) {
      char digits[32];
      const auto [end, error] = std::to_chars(digits, digits + sizeof digits, double(nanoseconds) / double(factor));
      std::string text = std::string(digits, error == std::errc() ? end : digits) + std::string(name);
      // Beyond 104 days a double does not hold every nanosecond.
      if (long long again = 0; parse_duration(text, again) && again == nanoseconds) return text;
    }
  }
  return std::to_string(nanoseconds) + "ns";
}

bool parse_rate(std::string_view text, double& bytes_per_s) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},       {"B/s", 1},        {"kB/s", 1e3},     {"MB/s", 1e6},
      {"GB/s", 1e9}, {"kbit/s", 125.0}, {"Mbit/s", 125e3}, {"Gbit/s", 125e6}};
  double number = 0;
  std::string_view unit;
  if (!split_number(text, number, unit) || number < 0) return false;
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) {
      if (!std::isfinite(number * factor)) return false;
      bytes_per_s = number * factor;
      return true;
    }
  }
  return false;
}

std::string without_password(const std::string& text) {
  const std::size_t scheme = text.find("://"), end = text.rfind('@');
  if (scheme == std::string::npos || end == std::string::npos || end < scheme + 3) return text;
  return text.substr(0, scheme + 3) + "***" + text.substr(end);
}

}  // namespace hopbench
