#include "backends/runtime/absences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "backends/base/files/csv.h"

namespace hopbench {
namespace {

constexpr int kMostAbsentRanks = 100'000;
constexpr double kLatestReturn = 1e9;
constexpr double kShortest = 0.9e-9;  // seconds: 1 ns, but for the rounding of both ends

/// Reads a row into `absence`. Returns why it is none, or "".
std::string read_row(const std::vector<std::string_view>& cells, Absence& absence) {
  if (cells.size() != 3) return fmt::format("{} cells, not 3", cells.size());
  const auto rank = number_in<int>(cells[0]);
  if (!rank || *rank < 0 || *rank >= kMostAbsentRanks)
    return fmt::format("the rank is '{}', not an integer from 0 to {}", cells[0], kMostAbsentRanks - 1);
  const auto from = number_in<double>(cells[1]), until = number_in<double>(cells[2]);
  if (!from || !until || !(*from >= 0) || !(*until > *from) || *until > kLatestReturn)
    return fmt::format("'{}' to '{}' is no span of seconds from 0: 'until' must be later than 'from'", cells[1],
                       cells[2]);
  absence = {*rank, Time(seconds_to_duration(*from)), Time(seconds_to_duration(*until))};
  if (*until - *from < kShortest || absence.until <= absence.from)
    return fmt::format("'{}' to '{}' is less than 1 ns, the shortest absence", cells[1], cells[2]);
  return "";
}

}  // namespace

std::vector<Absence> read_absences(const std::string& path) {
  std::vector<Absence> absences;
  std::map<int, Time> ends;  // by rank
  bool header = false;
  const int last = read_csv_rows(path, "absences", [&](std::string_view, const auto& cells) -> std::string {
    if (!std::exchange(header, true)) {
      const bool right = cells == std::vector<std::string_view>{"rank", "from", "until"};
      return right ? "" : "the header must be rank,from,until";
    }
    Absence absence;
    if (std::string why = read_row(cells, absence); !why.empty()) return why;
    Time& end = ends[absence.rank];
    if (absence.from < end)
      return fmt::format("rank {} is away already: its rows must follow each other in time and not overlap",
                         absence.rank);
    end = absence.until;
    absences.push_back(absence);
    return "";
  });
  if (!header) throw csv_error(path, last, "the file is empty: its header must be rank,from,until");
  std::stable_sort(absences.begin(), absences.end(),
                   [](const Absence& a, const Absence& b) { return a.from < b.from; });
  return absences;
}

}  // namespace hopbench
