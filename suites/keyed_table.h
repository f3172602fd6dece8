// A TOML table as papers and published figures read it: key by key, with a mistake for every key that nothing reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/document.h"

namespace hopbench {

/// A view of a table. Each value of another type than was asked for becomes a mistake at once; when the view goes, each
/// key that nothing asked for becomes one too. `where` names the table in messages: "[[claim]]".
class KeyedTable {
 public:
  KeyedTable(const Value& value, std::string where, Mistakes& mistakes);
  ~KeyedTable();
  KeyedTable(const KeyedTable&) = delete;
  KeyedTable& operator=(const KeyedTable&) = delete;

  /// nullptr if the key is not there, or its value has another type.
  const Value* find(const std::string& key);
  const Value* find(const std::string& key, Value::Type type);
  /// As find; a missing key is a mistake.
  const Value* need(const std::string& key, Value::Type type);
  /// A text that must be there and not be empty; "" after a mistake.
  std::string text(const std::string& key);
  /// A text that may be missing: then `otherwise`.
  std::string text_or(const std::string& key, const std::string& otherwise);
  /// A finite number that may be missing.
  std::optional<double> number(const std::string& key);
  /// A text that must be one of these.
  std::string one_of(const std::string& key, const std::vector<std::string>& names);
  /// A list of texts that must be there.
  std::vector<std::string> texts(const std::string& key);
  /// The tables of a list such as [[claim]], which must be there.
  const std::vector<Value>& tables(const std::string& key);

  void wrong(const Value& value, const std::string& key, const std::string& wanted);
  const Place& place() const { return value_.place; }

 private:
  const Value& value_;
  std::string where_;
  Mistakes& mistakes_;
  std::vector<std::string> asked_;
};

}  // namespace hopbench
