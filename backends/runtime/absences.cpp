#include "backends/runtime/absences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/printable.h"

namespace hopbench {
namespace {

constexpr int kMostAbsentRanks = 100'000;
constexpr double kLatestReturn = 1e9;

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    cells.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return cells;
    begin = end + 1;
  }
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Reads a row into `absence`. Returns why it is none, or "".
std::string read_row(const std::vector<std::string_view>& cells, Absence& absence) {
  if (cells.size() != 3) return fmt::format("{} cells, not 3", cells.size());
  const auto rank = parsed<int>(cells[0]);
  if (!rank || *rank < 0 || *rank >= kMostAbsentRanks)
    return fmt::format("the rank is '{}', not an integer from 0 to {}", cells[0], kMostAbsentRanks - 1);
  const auto from = parsed<double>(cells[1]), until = parsed<double>(cells[2]);
  if (!from || !until || !(*from >= 0) || !(*until > *from) || *until > kLatestReturn)
    return fmt::format("'{}' to '{}' is no span of seconds from 0: 'until' must be later than 'from'", cells[1],
                       cells[2]);
  absence = {*rank, Time(seconds_to_duration(*from)), Time(seconds_to_duration(*until))};
  return "";
}

}  // namespace

std::vector<Absence> read_absences(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw usage_error(fmt::format("the absences {} cannot be read: it is not a file", printable(path)));
  std::ifstream file(path);
  if (!file)
    throw usage_error(fmt::format("the absences {} cannot be read: {}", printable(path), std::strerror(errno)));
  const auto wrong = [&](int line, const std::string& why) {
    return usage_error(printable(fmt::format("{}:{}: {}", path, line, why)));
  };
  std::vector<Absence> absences;
  std::map<int, Time> ends;  // by rank
  int number = 0;
  bool header = false;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (!header) {
      header = true;
      if (line != "rank,from,until") throw wrong(number, "the header must be rank,from,until");
      continue;
    }
    Absence absence;
    if (const std::string why = read_row(split(line), absence); !why.empty()) throw wrong(number, why);
    Time& end = ends[absence.rank];
    if (absence.from < end)
      throw wrong(number,
                  fmt::format("rank {} is away already: its rows must follow each other in time and not overlap",
                              absence.rank));
    end = absence.until;
    absences.push_back(absence);
  }
  if (!header) throw wrong(std::max(number, 1), "the file is empty: its header must be rank,from,until");
  std::stable_sort(absences.begin(), absences.end(),
                   [](const Absence& a, const Absence& b) { return a.from < b.from; });
  return absences;
}

}  // namespace hopbench
