// A TOML text as plain values that know where they stand. The TOML library stays behind parse_document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/mistake.h"

namespace hopbench {

struct Entry;

/// A value of a TOML text: of its members only the one that its type names means anything.
struct Value {
  enum class Type { kBool, kInteger, kReal, kText, kArray, kTable, kOther };  // other: dates and times
  Type type = Type::kTable;
  bool flag = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Value> items;
  std::vector<Entry> entries;  // in the order of the text
  Place place;

  bool is(Type t) const { return type == t; }
  bool number() const { return is(Type::kInteger) || is(Type::kReal); }
  double as_real() const { return is(Type::kInteger) ? double(integer) : real; }
  const Entry* find(const std::string& key) const;  // of a table; nullptr if it is not there
};

struct Entry {
  std::string key;
  Place place;  // of the key
  Value value;
};

Value text_value(const std::string& text, const Place& place);

/// "an integer", "a text", ...: for messages.
const char* type_name(Value::Type type);

/// The root table, or nothing and a mistake with line and column. Throws nothing.
std::optional<Value> parse_document(const std::string& text, const std::string& file, Mistakes& mistakes);
/// What stands to the right of `key = `. A bare word that is no TOML is a text: --set compute.pace=40ms.
std::optional<Value> parse_value(const std::string& text, const Place& place, Mistakes& mistakes);
/// The parts of a dotted key: topology.name, protocol."hop backup".max_ig. Nothing where it is malformed.
std::optional<std::vector<std::string>> split_key(const std::string& key);

/// On one line, as it may stand to the right of `key = `; reals in the fewest digits that give the same bits.
std::string to_toml(const Value& value);
std::string toml_text(const std::string& text);  // quoted and escaped
std::string toml_real(double value);
std::string toml_key(const std::string& key);  // quoted where it has to be

}  // namespace hopbench
