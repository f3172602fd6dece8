// The types of keys: how people read them, which values they have, and how these are converted.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "suites/language/to_trial.h"

namespace hopbench {
namespace {

using T = Value::Type;

std::string number_text(double value) { return fmt::format("{}", value); }

/// Returns true if the text is a number, in a unit of the key, that is larger than the key allows. Such a number may be
/// too large for TOML, which makes it a text.
bool exceeds(const SuiteKey& key, const std::string& text) {
  double number = 0, rate = 0;
  long long ns = 0;
  std::string_view unit;
  if (!split_number(text, number, unit)) return false;
  const std::string one = "1" + std::string(unit);
  if (key.type == KeyType::kDuration || key.type == KeyType::kPace)
    return parse_duration(one, ns) && number > key.high / (double(ns) * 1e-9);
  if (key.type == KeyType::kRate) return parse_rate(one, rate) && number > key.high / rate;
  return unit.empty() && key.high > key.low && number > key.high;
}

std::string days_text(double seconds) { return number_text(std::floor(seconds / 86400)) + " days"; }

bool wrong(const SuiteKey& key, const Value& value, const std::string& wanted, Mistakes& mistakes) {
  if (value.is(T::kText) && exceeds(key, value.text)) {
    const bool time = key.type == KeyType::kDuration || key.type == KeyType::kPace;
    mistakes.add(value.place, "'{}' is {}, too large: it must be at most {}", last_part(key.path), quotable(value.text),
                 time ? days_text(key.high) : number_text(key.high));
    return false;
  }
  const std::string given = value.is(T::kText) ? fmt::format("\"{}\"", quotable(value.text)) : type_name(value.type);
  mistakes.add(value.place, "'{}' must be {}, not {}", last_part(key.path), wanted, given);
  return false;
}

bool in_range(const SuiteKey& key, double number, const Value& value, Mistakes& mistakes) {
  if (number >= key.low && number <= key.high) return true;
  const std::string given = value.is(T::kInteger) ? fmt::format("{}", value.integer) : number_text(number);
  mistakes.add(value.place, "'{}' is {}, out of range: it must be {}", last_part(key.path), given,
               range_text(key, number));
  return false;
}

// Refuses control characters, since texts reach tables, logs and terminals.
bool check_printable(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (is_printable(value.text)) return true;
  mistakes.add(value.place,
               "'{}' holds control characters: \"{}\": leave them out (line breaks, terminal "
               "escapes and marks of the writing direction)",
               last_part(key.path), quotable(value.text));
  return false;
}

bool check_bool(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  return value.is(T::kBool) || wrong(key, value, "true or false", mistakes);
}

bool check_integer(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kInteger)) return wrong(key, value, "an integer", mistakes);
  return in_range(key, double(value.integer), value, mistakes);
}

bool check_real(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.number()) return wrong(key, value, "a number", mistakes);
  return in_range(key, value.as_real(), value, mistakes);
}

bool check_name(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kText)) return wrong(key, value, "a name in quotes", mistakes);
  const std::vector<std::string> known = key.choices();
  if (std::find(known.begin(), known.end(), value.text) != known.end()) return true;
  const std::string path = key.path;
  const std::string last = last_part(path);
  const std::string group = path.size() > last.size() ? path.substr(0, path.size() - last.size() - 1) : "";
  std::string message = unknown(last == "name" ? last_part(group) : last, value.text, known);
  // This may not be a slip, but a protocol that another build of this program has.
  if (path == "protocol.name" && synonym_of(value.text, known).empty())
    message +=
        " (`hopbench list protocols` shows all; one of your own has to be built in: ci/hopbench --protocols DIR)";
  if (value.text.find(',') != std::string::npos) message += " (a comma list is not a sweep: see [matrix])";
  mistakes.add(value.place, message);
  return false;
}

bool check_time(const SuiteKey& key, const Value& value, const char* wanted, Mistakes& mistakes) {
  long long ns = 0;
  if (!value.is(T::kText) || !parse_duration(value.text, ns)) return wrong(key, value, wanted, mistakes);
  if (double(ns) >= key.low * 1e9 - 0.5 && double(ns) <= key.high * 1e9) return true;
  double number = 0;
  std::string_view unit;
  split_number(value.text, number, unit);
  const std::string least = key.low == 0 ? "0 or more"
                            : number > 0 ? "at least " + duration_text(std::llround(key.low * 1e9))
                                         : "above 0";
  mistakes.add(value.place, "'{}' is {}, out of range: it must be {} and at most {}", last_part(key.path), value.text,
               least, days_text(key.high));
  return false;
}

bool check_duration(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  return check_time(key, value, "a time such as \"40ms\", \"1.5s\" or \"2min\"", mistakes);
}

bool check_pace(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (value.is(T::kText) && (value.text == "auto" || value.text == "off")) return true;
  return check_time(key, value, "\"auto\", \"off\" or a time such as \"40ms\"", mistakes);
}

// Bytes/s read and written by averages and optimizer steps. The CPU's is that of a core (docs/performance.md); a GPU's
// is three quarters of its published memory bandwidth.
struct DeviceRate {
  const char* name;
  double bytes_per_s;
};
constexpr DeviceRate kVectorRates[] = {{"cpu", 10e9}, {"a100", 1.5e12}, {"h100", 2.5e12}};

std::optional<double> rate_by_name(const std::string& name) {
  for (const DeviceRate& device : kVectorRates) {
    if (device.name == name) return device.bytes_per_s;
  }
  return std::nullopt;
}

bool check_rate(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (key.choices != nullptr && value.is(T::kText) && rate_by_name(value.text)) return true;
  double rate = value.number() ? value.as_real() : 0;
  if (!value.number() && !(value.is(T::kText) && parse_rate(value.text, rate)))
    return wrong(key, value,
                 std::string("a rate such as \"1Gbit/s\" or \"100MB/s\"") +
                     (key.choices != nullptr ? ", or one of " + join(key.choices(), ", ") : ""),
                 mistakes);
  return in_range(key, rate, value, mistakes);
}

// Returns the value of "1/n" or "3/16"; nothing if the text is not of that form. n stands for the number of workers.
std::optional<double> fraction(const std::string& text, int workers) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const auto part = [workers](const std::string& digits) -> std::optional<double> {
    if (digits == "n") return workers;
    double number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(number)) return std::nullopt;
    return number;
  };
  const auto above = part(text.substr(0, slash)), below = part(text.substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

bool check_probability(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (value.number()) return in_range(key, value.as_real(), value, mistakes);
  // The range of 3/n depends on n, which is known later. If it is within 0 to 1 for any n, it is for n = 1000.
  const std::optional<double> p = value.is(T::kText) ? fraction(value.text, 1000) : std::nullopt;
  if (!p) return wrong(key, value, "a number from 0 to 1, or a fraction such as \"1/n\"", mistakes);
  return in_range(key, *p, value, mistakes);
}

bool check_reals(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kArray) || value.items.empty()) return wrong(key, value, "a list of numbers", mistakes);
  std::set<double> seen;
  return std::all_of(value.items.begin(), value.items.end(), [&](const Value& item) {
    if (!item.number()) return wrong(key, item, "a list of numbers", mistakes);
    if (!in_range(key, item.as_real(), item, mistakes)) return false;
    if (seen.insert(item.as_real()).second) return true;
    mistakes.add(item.place, "'{}' lists {} twice: once is enough", last_part(key.path), item.as_real());
    return false;
  });
}

bool check_ranks(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kArray)) return wrong(key, value, "a list of integers", mistakes);
  if (value.items.empty()) {
    mistakes.add(value.place, "'{}' is empty: leave it out where no worker is meant", last_part(key.path));
    return false;
  }
  return std::all_of(value.items.begin(), value.items.end(), [&](const Value& item) {
    if (!item.is(T::kInteger)) return wrong(key, item, "a list of integers", mistakes);
    SuiteKey element = key;
    element.low = 0;
    return in_range(element, double(item.integer), item, mistakes);
  });
}

bool check_ranks_or_drawn(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kText)) return check_ranks(key, value, mistakes);
  return value.text == "drawn" || wrong(key, value, "a list of integers or \"drawn\"", mistakes);
}

bool check_hosts(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  return (value.is(T::kInteger) ? check_integer : check_ranks)(key, value, mistakes);
}

bool check_edges(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  constexpr const char* kWanted = "a list of pairs of ranks such as [[0, 1], [1, 0]]";
  if (!value.is(T::kArray)) return wrong(key, value, kWanted, mistakes);
  for (const Value& edge : value.items) {
    const auto no_rank = std::find_if(edge.items.begin(), edge.items.end(), [](const Value& rank) {
      return !rank.is(T::kInteger) || rank.integer < 0 || rank.integer >= 100000;
    });
    const bool all_ranks = no_rank == edge.items.end();
    if (edge.items.size() == 2 && all_ranks) continue;
    if (all_ranks || !no_rank->is(T::kInteger)) {
      mistakes.add(edge.place, "'{}' must be {}", last_part(key.path), kWanted);
    } else {
      mistakes.add(no_rank->place, "'{}': {} is not a rank; it must be {}", last_part(key.path), no_rank->integer,
                   kWanted);
    }
    return false;
  }
  return true;
}

bool check_names(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  const bool texts = value.is(T::kArray) && !value.items.empty() &&
                     std::all_of(value.items.begin(), value.items.end(), [](const Value& v) { return v.is(T::kText); });
  if (!texts) return wrong(key, value, "a list of names", mistakes);
  return std::all_of(value.items.begin(), value.items.end(),
                     [&](const Value& name) { return check_printable(key, name, mistakes); });
}

bool check_range(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  const bool pair =
      value.is(T::kArray) && value.items.size() == 2 && value.items[0].number() && value.items[1].number();
  if (!pair) return wrong(key, value, "two numbers such as [0.001, 1.0]", mistakes);
  for (const Value& end : value.items) {
    if (!in_range(key, end.as_real(), end, mistakes)) return false;
  }
  if (value.items[0].as_real() < value.items[1].as_real()) return true;
  mistakes.add(value.place, "'{}' must be [low, high]: the first number below the second", last_part(key.path));
  return false;
}

bool check_values(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  const auto plain = [](const Value& v) { return v.is(T::kBool) || v.number() || v.is(T::kText); };
  const bool list = value.is(T::kArray) && !value.items.empty();
  if (list && std::all_of(value.items.begin(), value.items.end(), plain)) return true;
  return wrong(key, value, "a list of numbers, texts or booleans", mistakes);
}

bool check_tables(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  const std::string path = key.path;
  if (!value.is(T::kArray)) return wrong(key, value, "a list of tables", mistakes);
  std::set<std::string> bad;
  for (const Value& item : value.items) {
    if (!item.is(T::kTable)) {
      wrong(key, item, "a list of tables", mistakes);
      bad.insert(path);
      continue;
    }
    Layer layer;
    read_keys(item, path, layer, bad, mistakes);
    for (const std::string& child : children(path)) {
      const SuiteKey* inner = find_key(path + "." + child);
      if (inner->fallback != nullptr || item.find(child) != nullptr) continue;
      mistakes.add(item.place, "'{}' is missing in {}: {}", child, path, type_text(*inner));
      bad.insert(inner->path);
    }
  }
  return bad.empty();
}

bool check_text(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (!value.is(T::kText)) return wrong(key, value, "a text in quotes", mistakes);
  const std::string last = last_part(key.path);
  const std::string why = last == "name" || last == "label" ? why_no_label(value.text) : "";
  if (why.empty()) return check_printable(key, value, mistakes);
  mistakes.add(value.place, "'{}' can't be \"{}\": {}", last, quotable(value.text), why);
  return false;
}

bool check_count(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  if (value.is(T::kText) && value.text == "auto") return true;
  if (!value.is(T::kInteger)) return wrong(key, value, "an integer or \"auto\"", mistakes);
  return in_range(key, double(value.integer), value, mistakes);
}

/// A type as people read it, and its check.
struct TypeOfKey {
  KeyType type;
  const char* text;  // "": its names only
  bool (*check)(const SuiteKey& key, const Value& value, Mistakes& mistakes);
  bool with_range = false;  // the text ends with the range
};
constexpr TypeOfKey kTypes[] = {
    {KeyType::kBool, "true or false", check_bool},
    {KeyType::kInteger, "integer", check_integer, true},
    {KeyType::kReal, "number", check_real, true},
    {KeyType::kText, "text", check_text},
    {KeyType::kFile, "file", check_text},
    {KeyType::kFolder, "folder", check_text},
    {KeyType::kName, "", check_name},
    {KeyType::kDuration, "time", check_duration},
    {KeyType::kRate, "rate", check_rate},
    {KeyType::kProbability, "0 to 1, or \"1/n\"", check_probability},
    {KeyType::kPace, "\"auto\", \"off\" or a time", check_pace},
    {KeyType::kCount, "\"auto\" or integer", check_count, true},
    {KeyType::kRanks, "list of ranks", check_ranks},
    {KeyType::kRanksOrDrawn, "list of ranks or \"drawn\"", check_ranks_or_drawn},
    {KeyType::kHosts, "integer, or a list of integers", check_hosts},
    {KeyType::kEdges, "list of pairs", check_edges},
    {KeyType::kNames, "list of names", check_names},
    {KeyType::kRange, "list of two numbers", check_range},
    {KeyType::kReals, "list of numbers", check_reals, true},
    {KeyType::kValues, "list of values", check_values},
    {KeyType::kTables, "list of tables", check_tables},
};

const TypeOfKey& type_of(const SuiteKey& key) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeOfKey& t) { return t.type == key.type; });
}

OrderedJson array_of(const Value& value) {
  OrderedJson list = OrderedJson::array();
  for (const Value& item : value.items) list.push_back(item.is(T::kArray) ? array_of(item) : OrderedJson(item.integer));
  return list;
}

}  // namespace

std::string why_no_label(const std::string& text) {
  constexpr std::size_t kLongest = 200;  // bytes; a name is in the id of every trial
  if (text.size() > kLongest) return fmt::format("a name has at most {} bytes, and this one {}", kLongest, text.size());
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.find('/') != std::string::npos)
    return "a name is not empty and has no '/' and no outer blanks";
  if (!is_printable(text))
    return "a name has no control characters (line breaks, terminal escapes, marks of the writing direction)";
  if (std::string_view("=+-@").find(text.front()) != std::string_view::npos)
    return "spreadsheets evaluate cells that begin with =, +, - or @ when they open a table: begin with another "
           "character";
  return "";
}

bool check_value(const SuiteKey& key, const Value& value, Mistakes& mistakes) {
  return type_of(key).check(key, value, mistakes);
}

std::string range_text(const SuiteKey& key, double given) {
  if (key.low == key.high) return number_text(key.low);
  const bool open = key.high >= 1e6;
  if (open && given > key.high) return "at most " + number_text(key.high);
  if (open && given > 0 && given < key.low) return "at least " + number_text(key.low);
  if (open && key.low > 0 && key.low < 1e-3) return "above 0";
  return number_text(key.low) + (open ? " or more" : " to " + number_text(key.high));
}

std::string type_text(const SuiteKey& key) {
  const TypeOfKey& type = type_of(key);
  std::string text = type.text;
  if (key.choices != nullptr) text += (text.empty() ? "one of " : ", or one of ") + join(key.choices(), ", ");
  return type.with_range ? text + ", " + range_text(key) : text;
}

std::string markdown_row(const SuiteKey& key) {
  const std::string fallback = key.fallback == nullptr                  ? "**required**"
                               : std::string_view(key.fallback).empty() ? "not set"
                                                                        : fmt::format("`{}`", key.fallback);
  // The names depend on the build, so the program lists them, and this row does not.
  const bool listed =
      key.type == KeyType::kName && std::string_view(key.meaning).find("hopbench list") != std::string_view::npos;
  return fmt::format("| `{}` | {} | {} | {} |", key.path, listed ? "a name" : type_text(key), fallback, key.meaning);
}

std::int64_t duration_of(const Value& value) {
  long long ns = 0;
  HB_ASSERT(parse_duration(value.text, ns));
  return ns;
}

std::vector<std::string> vector_rate_names() {
  std::vector<std::string> names;
  for (const DeviceRate& device : kVectorRates) names.emplace_back(device.name);
  return names;
}

double rate_of(const Value& value) {
  if (const std::optional<double> named = value.is(T::kText) ? rate_by_name(value.text) : std::nullopt) return *named;
  double rate = value.number() ? value.as_real() : 0;
  if (!value.number()) HB_ASSERT(parse_rate(value.text, rate));
  return rate;
}

double probability_of(const Value& value, int workers) {
  if (value.number()) return value.as_real();
  const std::optional<double> p = fraction(value.text, workers);
  HB_ASSERT(p.has_value());
  return *p;
}

OrderedJson json_of(const SuiteKey& key, const Value& value, const OrderedJson& now, int workers) {
  switch (key.type) {
    case KeyType::kBool:
      return value.flag;
    case KeyType::kInteger:
      return value.integer;
    case KeyType::kReal:
      return value.as_real();
    case KeyType::kProbability:
      return probability_of(value, workers);
    case KeyType::kRate:
      return rate_of(value);
    case KeyType::kDuration:
      return duration_of(value);
    case KeyType::kRanks:
    case KeyType::kRanksOrDrawn:
    case KeyType::kEdges:
      return array_of(value);
    default:
      break;
  }
  if (key.type != KeyType::kName || now.is_string()) return value.text;
  const std::vector<std::string> names = key.choices();
  const auto index = std::find(names.begin(), names.end(), value.text) - names.begin();
  return now.is_boolean() ? OrderedJson(index == 0) : OrderedJson(index);
}

}  // namespace hopbench
