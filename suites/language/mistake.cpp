#include "suites/language/mistake.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "backends/base/printable.h"
#include "backends/base/text.h"

namespace hopbench {
namespace {

std::string lines_of(const std::vector<Mistake>& mistakes) {
  constexpr std::size_t kMostLines = 100;
  constexpr int kMostAlike = 5;
  std::vector<std::string> lines;
  std::map<std::string_view, int> alike;
  for (const Mistake& mistake : mistakes) {
    if (lines.size() < kMostLines && ++alike[mistake.message] <= kMostAlike) lines.push_back(mistake.text());
  }
  if (const std::size_t left_out = mistakes.size() - lines.size(); left_out > 0)
    lines.push_back(fmt::format("{}: and {}{} more mistakes like these", printable(mistakes.front().file),
                                mistakes.size() < Mistakes::kEnough ? "" : "at least ", left_out));
  return join(lines, "\n");
}

}  // namespace

std::string Mistake::text() const {
  if (line == 0) return fmt::format("{}: {}", printable(file), message);
  return fmt::format("{}:{}:{}: {}", printable(file), line, column, message);
}

SuiteError::SuiteError(std::vector<Mistake> mistakes)
    : Error(ExitCode::kUsage, lines_of(mistakes)), mistakes_(std::move(mistakes)) {}

void Mistakes::add(const SourceLocation& place, const std::string& message) {
  constexpr std::size_t kMostBytes = 2000;
  const std::string said = printable(shortened(message, kMostBytes));
  if (known_.emplace(place.file, place.line, place.column, said).second)
    list_.push_back({place.file, place.line, place.column, said});
}

void Mistakes::throw_if_any() const {
  if (list_.empty()) return;
  std::vector<Mistake> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Mistake& a, const Mistake& b) {
    return std::tuple(a.line == 0, a.line, a.column) < std::tuple(b.line == 0, b.line, b.column);
  });
  throw SuiteError(std::move(sorted));
}

std::string unknown(const std::string& what, const std::string& name, const std::vector<std::string>& known,
                    const std::string& where) {
  const std::string subject = fmt::format("unknown {} '{}'{}{}", what, quotable(name), where.empty() ? "" : " ", where);
  const std::string near = nearest(name, known);
  if (!near.empty()) return fmt::format("{}: did you mean '{}'?", subject, quotable(near));
  if (known.empty()) return subject + ": there are none";
  constexpr std::size_t kListed = 24;  // longer lists in an error are not read
  if (known.size() > kListed)
    return fmt::format("{}: none of the {} known ones is near: see docs/suites.md", subject, known.size());
  return subject + ": known are " + listed(known);
}

}  // namespace hopbench
