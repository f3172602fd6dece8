// A TOML text as plain values that know where they stand. The TOML library stays behind parse_document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/language/mistake.h"

namespace hopbench {

struct Entry;

/// A value of a TOML text. Only the member that its type names has a meaning.
struct Value {
  enum class Type { kBool, kInteger, kReal, kText, kArray, kTable, kOther };  // other: dates and times
  Type type = Type::kTable;
  bool flag = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text{};
  std::vector<Value> items{};
  std::vector<Entry> entries;  // in the order of the text; without an initializer here, since Entry is incomplete
  SourceLocation place{};
  bool is_default = false;  // of a key that the suite does not give; it has no place

  bool is(Type t) const { return type == t; }
  bool number() const { return is(Type::kInteger) || is(Type::kReal); }
  double as_real() const { return is(Type::kInteger) ? double(integer) : real; }
  const Entry* find(const std::string& key) const;  // of a table; nullptr if the key is missing
  /// Makes this text an absolute path: that of a file beside the one in which it is written, else in the current
  /// folder. Leaves it as it is if there is no such file.
  void locate();
};

struct Entry {
  std::string key;
  SourceLocation place;  // of the key
  Value value;
};

/// Returns where the value is, or `otherwise` if it is a default.
inline const SourceLocation& place_or(const Value& value, const SourceLocation& otherwise) {
  return value.is_default ? otherwise : value.place;
}

inline Value text_value(const std::string& text, const SourceLocation& place) {
  return {.type = Value::Type::kText, .text = text, .entries = {}, .place = place};
}
inline Value integer_value(std::int64_t integer, const SourceLocation& place) {
  return {.type = Value::Type::kInteger, .integer = integer, .entries = {}, .place = place};
}
inline Value real_value(double real, const SourceLocation& place) {
  return {.type = Value::Type::kReal, .real = real, .entries = {}, .place = place};
}

/// Returns "an integer", "a text" and so on, for messages.
const char* type_name(Value::Type type);

/// Returns the root table, or nothing after adding a mistake with line and column. Throws nothing.
std::optional<Value> parse_document(const std::string& text, const std::string& file, Mistakes& mistakes);
/// Parses the text to the right of `key = `. A bare word that is not TOML is a text: --set compute.pace=40ms.
std::optional<Value> parse_value(const std::string& text, const SourceLocation& place, Mistakes& mistakes);
/// Returns the parts of a dotted key: topology.name, protocol."hop backup".max_ig. Returns nothing if it is malformed.
std::optional<std::vector<std::string>> split_key(const std::string& key);

/// Returns one line, as it may stand to the right of `key = `. Reals have the fewest digits that give the same bits.
std::string to_toml(const Value& value);
std::string toml_text(const std::string& text);  // quoted and escaped
std::string toml_real(double value);
std::string toml_key(const std::string& key);  // quoted if necessary

}  // namespace hopbench
