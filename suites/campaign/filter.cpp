#include "suites/campaign/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

// The library goes down a level of its stack for each bracket and each state. Each repetition becomes a state.
constexpr std::size_t kMost = 500;      // bytes
constexpr double kMostRepeated = 1000;  // all counts in braces together

// With another syntax (a*)*b takes a time that doubles with each a. This one has no back-references.
constexpr auto kSyntax = std::regex::ECMAScript | std::regex_constants::__polynomial;

/// Returns the product of all numbers in braces. If braces stand in each other, the innermost is repeated that often.
double repeated(const std::string& text) {
  double all = 1;
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    double low = 0, high = 0;
    std::sscanf(text.c_str() + at, "{%lf,%lf", &low, &high);
    all *= std::max({1.0, low, high});
  }
  return all;
}

/// Returns true if the text refers to a group, such as \1. With this syntax the library supports no such references,
/// but it reads the number, and a long number overflows.
bool refers_back(const std::string& text) {
  for (std::size_t at = text.find('\\'); at != std::string::npos && at + 1 < text.size();
       at = text.find('\\', at + 2)) {
    if (text[at + 1] >= '1' && text[at + 1] <= '9') return true;
  }
  return false;
}

}  // namespace

std::regex regular_expression(const std::string& text, const char* flag) {
  if (text.size() > kMost || repeated(text) > kMostRepeated)
    throw usage_error(fmt::format("{}: a regular expression that is too large: at most {} bytes and {} repetitions",
                                  flag, kMost, kMostRepeated));
  if (refers_back(text))
    throw usage_error(
        fmt::format("{}: '{}' refers to a group of its own (\\1), which filters cannot", flag, quotable(text)));
  try {
    return std::regex(text, kSyntax);
  } catch (const std::regex_error& error) {
    throw usage_error(fmt::format("{}: '{}' is not a regular expression: {}", flag, quotable(text), error.what()));
  }
}

}  // namespace hopbench
