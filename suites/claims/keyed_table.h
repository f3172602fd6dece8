// A TOML table as papers read it, key by key. Every key that nothing reads is a mistake.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/language/document.h"

namespace hopbench {

/// A view of a table. A value of another type than was asked for becomes a mistake at once. When the view is destroyed,
/// each key that nothing asked for becomes one too. `where` names the table in messages: "[[claim]]".
class KeyedTable {
 public:
  KeyedTable(const Value& value, std::string where, Mistakes& mistakes);
  ~KeyedTable();
  KeyedTable(const KeyedTable&) = delete;
  KeyedTable& operator=(const KeyedTable&) = delete;

  /// Returns nullptr if the key is missing or its value has another type.
  const Value* find(const std::string& key);
  const Value* find(const std::string& key, Value::Type type);
  /// Works as find, but a missing key is a mistake.
  const Value* need(const std::string& key, Value::Type type);
  /// Returns a text that must be there and must not be empty; "" after a mistake.
  std::string text(const std::string& key);
  /// Returns a finite number; nothing if it is missing.
  std::optional<double> number(const std::string& key);
  /// Returns a text that must be one of `names`.
  std::string one_of(const std::string& key, const std::vector<std::string>& names);
  /// Returns a list of texts that must be there.
  std::vector<std::string> texts(const std::string& key);
  /// Returns the tables of a list such as [[claim]], which must be there.
  const std::vector<Value>& tables(const std::string& key);

  void wrong(const Value& value, const std::string& key, const std::string& wanted);
  const SourceLocation& place() const { return value_.place; }

 private:
  const Value& value_;
  std::string where_;
  Mistakes& mistakes_;
  std::vector<std::string> asked_;
};

}  // namespace hopbench
