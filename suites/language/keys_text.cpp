// A key as people read it: its type, its range, its row in docs/suites.md.
#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/keys.h"

namespace hopbench {
namespace {

std::string digits_of(double value) { return fmt::format("{}", value); }

}  // namespace

std::string range_text(const SuiteKey& key, double given) {
  if (key.low == key.high) return digits_of(key.low);
  const bool open = key.high >= 1e6;
  if (open && given > key.high) return fmt::format("at most {}", digits_of(key.high));
  if (open && given > 0 && given < key.low) return fmt::format("at least {}", digits_of(key.low));
  if (open && key.low > 0 && key.low < 1e-3) return "above 0";
  return open ? fmt::format("{} or more", digits_of(key.low))
              : fmt::format("{} to {}", digits_of(key.low), digits_of(key.high));
}

std::string type_text(const SuiteKey& key) {
  switch (key.type) {
    case KeyType::kBool:
      return "true or false";
    case KeyType::kInteger:
      return "integer, " + range_text(key);
    case KeyType::kReal:
      return "number, " + range_text(key);
    case KeyType::kText:
      return "text";
    case KeyType::kFile:
      return "file";
    case KeyType::kFolder:
      return "folder";
    case KeyType::kName:
      return "one of " + join(key.choices(), ", ");
    case KeyType::kDuration:
      return "time";
    case KeyType::kRate:
      return key.choices != nullptr ? "rate, or one of " + join(key.choices(), ", ") : "rate";
    case KeyType::kProbability:
      return "0 to 1, or \"1/n\"";
    case KeyType::kPace:
      return "\"auto\", \"off\" or a time";
    case KeyType::kCount:
      return "\"auto\" or integer, " + range_text(key);
    case KeyType::kRanks:
      return "list of ranks";
    case KeyType::kRanksOrDrawn:
      return "list of ranks or \"drawn\"";
    case KeyType::kHosts:
      return "integer, or a list of integers";
    case KeyType::kEdges:
      return "list of pairs";
    case KeyType::kNames:
      return "list of names";
    case KeyType::kRange:
      return "list of two numbers";
    case KeyType::kReals:
      return "list of numbers, " + range_text(key);
    case KeyType::kValues:
      return "list of values";
    case KeyType::kTables:
      return "list of tables";
  }
  return "";
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

}  // namespace hopbench
