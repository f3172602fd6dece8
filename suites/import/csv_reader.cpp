// CSV files with a row for each rank and step.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "backends/base/error.h"
#include "backends/base/files/csv.h"
#include "backends/base/printable.h"
#include "suites/import/input.h"
#include "suites/import/readers.h"

namespace hopbench {
namespace {

using Cells = std::vector<std::string_view>;

// Words in names of times that may be those since the start.
constexpr std::string_view kSums[] = {"elapsed", "cumul", "total", "since", "sum", "running", "wall", "timestamp"};

/// A column's name without its unit, in lower case with underscores: "Step Time (ms)" is step_time and ms.
struct ColumnName {
  std::string base, unit;
};

ColumnName column_name(std::string_view text) {
  static const std::map<std::string, const char*> kUnits{{"s", "s"},   {"sec", "s"},           {"seconds", "s"},
                                                         {"ms", "ms"}, {"milliseconds", "ms"}, {"us", "us"},
                                                         {"ns", "ns"}, {"microseconds", "us"}, {"nanoseconds", "ns"}};
  std::string name;
  for (const char c : text) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_word) name += char(std::tolower(static_cast<unsigned char>(c)));
    if (!is_word && !name.empty() && name.back() != '_') name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  const std::size_t last = name.rfind('_');
  const auto unit = kUnits.find(last == std::string::npos ? name : name.substr(last + 1));
  if (unit == kUnits.end()) return {name, ""};
  return {last == std::string::npos ? "" : name.substr(0, last), unit->second};
}

bool is_named_like_sum(std::string_view text) {
  const std::string name = column_name(text).base;
  return std::any_of(std::begin(kSums), std::end(kSums), [&](auto word) { return name.find(word) != name.npos; });
}

/// One of the columns that are read.
struct CsvColumn {
  std::size_t at = 0;
  double factor = 1;  // from its unit to seconds
};

double seconds_of_unit(const std::string& unit) {
  static const std::map<std::string, double> kFactors{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  return kFactors.at(unit);
}

/// The header of a file.
class CsvHeader {
 public:
  CsvHeader(const std::string& path, std::int64_t line, const Cells& cells, const CsvColumns& wanted)
      : path_(path), line_(line), cells_(cells), wanted_(wanted) {
    rank =
        number("rank", wanted.rank, {"rank", "global_rank", "worker", "worker_id", "replica", "gpu", "device", "node"});
    step = number("step", wanted.step, {"step", "global_step", "iteration", "iter", "step_id"});
    const bool spans = !wanted.begin.empty() || !wanted.end.empty();
    if (!spans)
      seconds = time("seconds", wanted.seconds,
                     {"", "step", "iteration", "iter", "duration", "dur", "step_time", "iteration_time", "iter_time",
                      "elapsed", "compute", "compute_time", "step_duration"});
    if (seconds) return;
    begin = time("begin", wanted.begin, {"begin", "start", "begin_time", "start_time"});
    end = time("end", wanted.end, {"end", "stop", "finish", "end_time", "stop_time"});
    if (!begin || !end)
      throw wrong("no column is the duration of a step (or its begin and end): name it with --seconds-column");
  }

  std::size_t columns() const { return cells_.size(); }
  std::size_t rank = 0, step = 0;  // places in a row
  std::optional<CsvColumn> seconds, begin, end;

 private:
  Error wrong(const std::string& why) const {
    std::vector<std::string> names(cells_.begin(), cells_.end());
    return usage_error(fmt::format("{}:{}: {}. The header has {}", printable(path_), line_, why, listed(names, 12)));
  }

  /// Returns the place of the column with this name, or with the first of the usual names that the header has. A
  /// number's name has no unit. The names of a time that could be a number's, as "step", have one.
  std::optional<std::size_t> place(const char* what, const std::string& name, bool is_time,
                                   std::span<const std::string_view> usual) const {
    static constexpr std::string_view kNeedUnit[] = {"", "step", "iteration", "iter"};
    std::vector<std::size_t> found;
    for (const std::string_view word : usual) {
      const bool needs_unit = std::find(std::begin(kNeedUnit), std::end(kNeedUnit), word) != std::end(kNeedUnit);
      for (std::size_t at = 0; at < cells_.size() && name.empty(); ++at) {
        const auto [base, unit] = column_name(cells_[at]);
        if (base == word && (is_time ? !needs_unit || !unit.empty() : unit.empty())) found.push_back(at);
      }
      if (!is_time && !found.empty()) break;  // of names for a number, the first one counts
    }
    for (std::size_t at = 0; at < cells_.size() && !name.empty(); ++at) {
      if (cells_[at] == name) found.push_back(at);
    }
    if (!name.empty() && found.empty())
      throw wrong(fmt::format("no column is called '{}' (--{}-column)", quotable(name), what));
    if (found.size() > 1)
      throw wrong(fmt::format("columns {} ('{}') and {} ('{}') could both be the {}: {}", found[0] + 1,
                              quotable(cells_[found[0]]), found[1] + 1, quotable(cells_[found[1]]), what,
                              cells_[found[0]] == cells_[found[1]] ? "rename one of them"
                                                                   : fmt::format("name one with --{}-column", what)));
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  std::size_t number(const char* what, const std::string& name, std::initializer_list<std::string_view> usual) const {
    const auto at = place(what, name, false, std::span(usual.begin(), usual.size()));
    if (!at) throw wrong(fmt::format("no column is the {0}: name it with --{0}-column", what));
    return *at;
  }
  std::optional<CsvColumn> time(const char* what, const std::string& name,
                                std::initializer_list<std::string_view> usual) const {
    const auto at = place(what, name, true, std::span(usual.begin(), usual.size()));
    if (!at) return std::nullopt;
    const std::string own = column_name(cells_[*at]).unit, unit = own.empty() ? wanted_.unit : own;
    if (!wanted_.unit.empty() && unit != wanted_.unit)
      throw wrong(fmt::format("column '{}' says {}, and --unit says {}: leave --unit out, or rename the column",
                              quotable(cells_[*at]), own, wanted_.unit));
    if (unit.empty())
      throw wrong(fmt::format("column '{}' does not say its unit: give --unit s, ms, us or ns", quotable(cells_[*at])));
    return CsvColumn{*at, seconds_of_unit(unit)};
  }

  const std::string& path_;
  std::int64_t line_;
  const Cells& cells_;
  const CsvColumns& wanted_;
};

/// The places of a row, and how to complain about it.
struct CsvPlace {
  const std::string& path;
  std::int64_t line;
  Error wrong(const std::string& why) const {
    return usage_error(fmt::format("{}:{}: {}", printable(path), line, why));
  }
};

/// Returns the seconds that a cell says, or nothing if it is empty.
std::optional<double> seconds_in(const Cells& cells, const CsvColumn& column, const CsvPlace& place) {
  const std::string_view cell = cells[column.at];
  if (cell.empty()) return std::nullopt;
  const auto number = number_in<double>(cell);
  if (!number) {
    std::string dotted(cell);
    std::replace(dotted.begin(), dotted.end(), ',', '.');
    throw place.wrong(fmt::format("'{}' in column {} {}", quotable(cell), column.at + 1,
                                  number_in<double>(dotted) ? "has a decimal comma: write decimal points"
                                                            : "is not a number: correct the cell, or remove the line"));
  }
  return *number * column.factor;
}

void add_row(const CsvHeader& header, const Cells& cells, const CsvPlace& place, Imported& to) {
  if (cells.size() != header.columns())
    throw place.wrong(
        fmt::format("{} cells, not {}{}", cells.size(), header.columns(),
                    cells.size() > header.columns() ? ": if numbers have a decimal comma, write decimal points" : ""));
  const auto rank = integer_in(cells[header.rank]);
  if (!rank || *rank < 0 || *rank >= kMostRanksOfTrace)
    throw place.wrong(fmt::format("the rank is '{}', not an integer from 0 to {}", quotable(cells[header.rank]),
                                  kMostRanksOfTrace - 1));
  const auto step = integer_in(cells[header.step]);
  if (!step || *step < 0 || *step > kMostStepOfTrace)
    throw place.wrong(
        fmt::format("the step is '{}', not an integer from 0 to {}", quotable(cells[header.step]), kMostStepOfTrace));
  std::optional<double> seconds;
  if (header.seconds) {
    seconds = seconds_in(cells, *header.seconds, place);
  } else if (const auto begin = seconds_in(cells, *header.begin, place), end = seconds_in(cells, *header.end, place);
             begin && end) {
    seconds = *end - *begin;
  }
  if (seconds) {
    to.add(int(*rank), *step, *seconds);
  } else {
    to.remarks.step(*rank, *step, "no time: left out", fmt::format("{}:{}", printable(place.path), place.line));
  }
}

char separator_of(const std::string& header) {
  for (const char separator : {',', ';', '\t'}) {
    if (header.find(separator) != std::string::npos) return separator;
  }
  return ',';
}

}  // namespace

void read_csv_recording(const std::vector<std::string>& paths, const CsvColumns& columns, Imported& to) {
  for (const std::string& path : paths) {
    Input input(path);
    std::string line, header_line;
    Cells cells, names;
    std::optional<CsvHeader> header;
    char separator = ',';
    for (std::int64_t number = 1; input.next_line(line); ++number) {
      if (line.empty() || line.starts_with('#')) continue;
      if (header) {
        if (line == header_line) continue;  // as a program that was started again writes it
        if (input.ends_in_line()) {
          to.remarks.cause(
              fmt::format("{}:{}: the last line has no end and may be cut, so it is left out: add a newline if "
                          "it is whole",
                          printable(path), number));
          break;
        }
        split_row(line, separator, cells);
        add_row(*header, cells, {path, number}, to);
        continue;
      }
      header_line = line;
      separator = separator_of(header_line);
      split_row(header_line, separator, names);
      header.emplace(path, number, names, columns);
      to.named_like_sums = to.named_like_sums || (header->seconds && is_named_like_sum(names[header->seconds->at]));
    }
    if (!header) throw usage_error(printable(path) + " has no header: it is empty");
  }
}

}  // namespace hopbench
