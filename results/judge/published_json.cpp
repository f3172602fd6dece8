// Values read from a command's JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/text.h"
#include "results/arithmetic/statistics.h"
#include "results/files/record_json.h"
#include "results/judge/published.h"

namespace hopbench {
namespace {

using nlohmann::json;

const std::vector<std::string> kStatistics{"median", "least", "most", "sum", "q1", "q3", "n"};

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(between, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string cell_text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Returns the member of an element, or of an object in it: "labels.variant". nullptr if it is not there.
const json* member_of(const json& element, const std::string& name) {
  if (!element.is_object()) return nullptr;
  if (const auto member = element.find(name); member != element.end()) return &*member;
  const std::size_t dot = name.find('.');
  const auto inner = dot == std::string::npos ? element.end() : element.find(name.substr(0, dot));
  return inner == element.end() ? nullptr : member_of(*inner, name.substr(dot + 1));
}

/// Returns true if an element has the members of "way=shm,bytes=8".
bool satisfies(const json& element, const std::string& conditions) {
  for (const std::string& condition : parts_of(conditions, ',')) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) return false;
    const json* member = member_of(element, condition.substr(0, equals));
    const std::vector<std::string> accepted = parts_of(condition.substr(equals + 1), '|');
    if (member == nullptr || std::find(accepted.begin(), accepted.end(), cell_text(*member)) == accepted.end())
      return false;
  }
  return true;
}

/// Returns the value at one step below `at`; nullptr if it is not there.
const json* step_of(const json& at, const std::string& part) {
  if (at.is_object()) {
    const auto member = at.find(part);
    return member == at.end() ? nullptr : &*member;
  }
  if (!at.is_array()) return nullptr;
  if (part.find('=') != std::string::npos) {
    const auto found = std::find_if(at.begin(), at.end(), [&](const json& item) { return satisfies(item, part); });
    return found == at.end() ? nullptr : &*found;
  }
  const bool digits = !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
  const std::size_t index = digits ? std::stoul(part) : at.size();
  return index < at.size() ? &at[index] : nullptr;
}

void collect(const json& at, std::span<const std::string> path, std::vector<const json*>& found) {
  if (path.empty()) {
    found.push_back(&at);
  } else if (path[0] == "*" && at.is_array()) {
    for (const json& item : at) collect(item, path.subspan(1), found);
  } else if (const json* next = step_of(at, replaced(replaced(path[0], "~1", "/"), "~0", "~"))) {
    collect(*next, path.subspan(1), found);
  }
}

/// Returns all values at a place, several if it has a "*".
std::vector<const json*> found_at(const json& root, const std::string& place) {
  std::vector<std::string> path = parts_of(place, '/');
  path.erase(path.begin());  // a place is "" or begins with a slash
  std::vector<const json*> found;
  collect(root, path, found);
  return found;
}

void add_numbers(const json& value, const std::string& place, std::vector<double>& numbers) {
  if (value.is_array()) {
    for (const json& item : value) add_numbers(item, place, numbers);
  } else if (value.is_number()) {
    numbers.push_back(value.get<double>());
  } else if (value.is_boolean()) {
    numbers.push_back(value.get<bool>() ? 1 : 0);
  } else {
    throw usage_error(fmt::format("{} holds {}, not a number", place, value.dump().substr(0, 60)));
  }
}

std::vector<double> numbers_at(const json& root, const std::string& place) {
  std::vector<double> numbers;
  for (const json* value : found_at(root, place)) add_numbers(*value, place, numbers);
  if (numbers.empty()) throw usage_error(fmt::format("nothing is at {}", place));
  return numbers;
}

/// Combines element by element; a single number is combined with every element.
template <class F>
void combine(std::vector<double>& values, const std::vector<double>& with, const std::string& place, const F& f) {
  if (with.size() != values.size() && with.size() != 1)
    throw usage_error(fmt::format("{} has {} values, not {}", place, with.size(), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(values[i], with.size() == 1 ? with[0] : with[i]);
}

std::vector<double> read_values(const json& root, const Reading& reading) {
  std::vector<double> values = numbers_at(root, reading.value);
  if (!reading.over.empty())
    combine(values, numbers_at(root, reading.over), reading.over, [](double a, double b) { return a / b; });
  if (!reading.times.empty())
    combine(values, numbers_at(root, reading.times), reading.times, [](double a, double b) { return a * b; });
  for (double& value : values) value /= reading.unit;
  return values;
}

/// Returns 1209000 as "1 209 000".
std::string grouped(double value) {
  std::string text = fmt::format("{:.0f}", value);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, " ");
  return text;
}

std::string number_text(double value, const std::string& format) {
  if (format == "n") return grouped(value);
  if (format == "s3") {
    const int before = value == 0 ? 1 : int(std::floor(std::log10(std::abs(value)))) + 1;
    return fmt::format("{:.{}f}", value, std::clamp(3 - before, 0, 9));
  }
  if (format.empty()) return fmt::format("{:.6g}", value);
  return fmt::format(fmt::runtime("{:" + format + "}"), value);
}

double one_statistic(const std::string& name, std::span<const double> values) {
  if (name == "q1") return quantile(values, 0.25);
  if (name == "q3") return quantile(values, 0.75);
  if (name == "n") return double(values.size());
  return statistic_of(name, values);
}

/// Returns the text of `show` with each {NAME:FORMAT} replaced.
std::string show_text(const Reading& reading, std::span<const double> values) {
  std::string text;
  const std::string& show = reading.show;
  for (std::size_t at = 0; at < show.size();) {
    const std::size_t open = show.find('{', at), close = show.find('}', at);
    if (open == std::string::npos) return text + show.substr(at);
    if (close == std::string::npos || close < open) throw usage_error(fmt::format("'{}' has a brace too many", show));
    text += show.substr(at, open - at);
    const std::string inside = show.substr(open + 1, close - open - 1);
    const std::size_t colon = std::min(inside.find(':'), inside.size());
    const std::string name = colon == 0 ? reading.statistic : inside.substr(0, colon);
    if (std::find(kStatistics.begin(), kStatistics.end(), name) == kStatistics.end())
      throw usage_error(fmt::format("'{{{}}}' is not one of {}", inside, join(kStatistics, ", ")));
    const std::string format = colon < inside.size() ? inside.substr(colon + 1) : name == "n" ? "n" : "";
    text += number_text(one_statistic(name, values), format);
    at = close + 1;
  }
  return text;
}

std::string read_text(const json& root, const Reading& reading) {
  const std::vector<const json*> found = found_at(root, reading.value);
  if (found.size() == 1 && found[0]->is_string()) return replaced(reading.show, "{}", found[0]->get<std::string>());
  return show_text(reading, read_values(root, reading));
}

/// Returns `show` with each {/PLACE} replaced by what is there in the row, "" if nothing is.
std::string with_places(const json& row, std::string show) {
  for (std::size_t open = 0; (open = show.find("{/", open)) != std::string::npos;) {
    const std::size_t close = std::min(show.find('}', open), show.size() - 1);
    const std::vector<const json*> found = found_at(row, show.substr(open + 1, close - open - 1));
    const std::string text = found.empty() ? "" : cell_text(*found[0]);
    show.replace(open, close + 1 - open, text);
    open += text.size();
  }
  return show;
}

/// Returns a cell; "" if one of its places is not in the row.
std::string read_cell(const json& row, Reading reading) {
  reading.show = with_places(row, std::move(reading.show));
  for (const std::string* place : {&reading.value, &reading.over, &reading.times}) {
    if (place != &reading.value && place->empty()) continue;
    const std::vector<const json*> found = found_at(row, *place);
    if (found.empty() || found[0]->is_null()) return "";
  }
  return read_text(row, reading);
}

/// Returns groups of the rows that agree in all members of `by`, in the order of their first rows.
std::vector<json> grouped_rows(const std::vector<json>& rows, const std::vector<std::string>& by) {
  if (by.empty()) return rows;
  std::vector<json> keys, groups;
  for (const json& row : rows) {
    json key = json::array();
    for (const std::string& name : by) {
      const json* member = member_of(row, name);
      key.push_back(member == nullptr ? json() : *member);
    }
    const auto known = std::find(keys.begin(), keys.end(), key);
    if (known == keys.end()) {
      keys.push_back(key);
      groups.push_back(json::array({row}));
    } else {
      groups[std::size_t(known - keys.begin())].push_back(row);
    }
  }
  return groups;
}

}  // namespace

void check_reading(const Reading& reading) {
  for (const std::string* place : {&reading.value, &reading.over, &reading.times}) {
    if (!place->empty() && !place->starts_with('/'))
      throw usage_error(fmt::format("the place '{}' does not begin with a slash", *place));
  }
  const auto judged = kStatistics.begin() + 4;  // quartiles and n are only shown
  if (std::find(kStatistics.begin(), judged, reading.statistic) == judged)
    throw usage_error(fmt::format("the statistic '{}' is not median, least, most or sum", reading.statistic));
  if (!(reading.unit > 0)) throw usage_error(fmt::format("the unit {} is not above 0", reading.unit));
  try {
    Reading plain = reading;
    plain.show = with_places({}, std::move(plain.show));
    show_text(plain, std::vector<double>{1.0, 2.0});
  } catch (const fmt::format_error& error) {
    throw usage_error(fmt::format("'{}' is not a format: {}", reading.show, error.what()));
  }
}

double statistic_of(const std::string& statistic, std::span<const double> values) {
  if (statistic == "least") return quantile(values, 0);
  if (statistic == "most") return quantile(values, 1);
  if (statistic == "sum") return mean_of(values) * double(values.size());
  return median(values);
}

struct MeasuredJson::Content {
  json root;
};

MeasuredJson::MeasuredJson(const std::string& text, const std::string& name) : content_(std::make_unique<Content>()) {
  content_->root = too_deep(text) ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
  if (content_->root.is_discarded())
    throw usage_error(fmt::format("{} printed no JSON, but: {}", name, text.empty() ? "nothing" : text.substr(0, 200)));
}
MeasuredJson::~MeasuredJson() = default;
MeasuredJson::MeasuredJson(MeasuredJson&&) noexcept = default;

std::vector<double> MeasuredJson::values(const Reading& reading) const { return read_values(content_->root, reading); }
std::string MeasuredJson::shown(const Reading& reading) const { return read_text(content_->root, reading); }

std::vector<std::vector<std::string>> MeasuredJson::rows(const PublishedTable& table) const {
  std::vector<json> chosen;
  for (const json* list : found_at(content_->root, table.rows)) {
    for (const json& row : *list) {
      if (table.where.empty() || satisfies(row, table.where)) chosen.push_back(row);
    }
  }
  if (chosen.empty()) throw usage_error(fmt::format("table '{}' has no rows at '{}'", table.id, table.rows));
  std::vector<std::vector<std::string>> cells;
  for (const json& row : grouped_rows(chosen, table.by)) {
    cells.emplace_back();
    for (const PublishedTable::Column& column : table.columns) cells.back().push_back(read_cell(row, column.reading));
  }
  return cells;
}

}  // namespace hopbench
