#include "suites/mistake.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "backends/base/text.h"

namespace hopbench {
namespace {

std::string lines_of(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> lines;
  for (const Mistake& mistake : mistakes) lines.push_back(mistake.text());
  return join(lines, "\n");
}

}  // namespace

std::string Mistake::text() const {
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

SuiteError::SuiteError(std::vector<Mistake> mistakes)
    : Error(ExitCode::kUsage, lines_of(mistakes)), mistakes_(std::move(mistakes)) {}

void Mistakes::add(const Place& place, const std::string& message) {
  const auto same = [&](const Mistake& other) {
    return std::tie(other.file, other.line, other.column, other.message) ==
           std::tie(place.file, place.line, place.column, message);
  };
  if (std::none_of(list_.begin(), list_.end(), same)) list_.push_back({place.file, place.line, place.column, message});
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
  const std::string subject = fmt::format("unknown {} '{}'{}{}", what, name, where.empty() ? "" : " ", where);
  const std::string near = nearest(name, known);
  if (!near.empty()) return fmt::format("{}: did you mean '{}'?", subject, near);
  if (known.empty()) return subject + ": there are none";
  constexpr std::size_t kListed = 24;  // more than that nobody reads in an error
  if (known.size() > kListed)
    return fmt::format("{}: none of the {} known ones is near: see docs/suites.md", subject, known.size());
  return subject + ": known are " + join(known, ", ");
}

}  // namespace hopbench
