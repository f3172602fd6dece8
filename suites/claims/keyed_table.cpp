#include "suites/claims/keyed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopbench {

KeyedTable::KeyedTable(const Value& value, std::string where, Mistakes& mistakes)
    : value_(value), where_(std::move(where)), mistakes_(mistakes) {}

KeyedTable::~KeyedTable() {
  for (const Entry& entry : value_.entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) == asked_.end())
      mistakes_.add(entry.place, unknown("key", entry.key, asked_, "in " + where_));
  }
}

const Value* KeyedTable::find(const std::string& key) {
  asked_.push_back(key);
  const Entry* entry = value_.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Value* KeyedTable::find(const std::string& key, Value::Type type) {
  const Value* value = find(key);
  if (value == nullptr || value->is(type)) return value;
  wrong(*value, key, type_name(type));
  return nullptr;
}

const Value* KeyedTable::need(const std::string& key, Value::Type type) {
  if (value_.find(key) == nullptr) mistakes_.add(value_.place, fmt::format("{} needs '{}'", where_, key));
  return find(key, type);
}

std::string KeyedTable::text(const std::string& key) {
  const Value* value = need(key, Value::Type::kText);
  if (value != nullptr && value->text.empty()) mistakes_.add(value->place, fmt::format("'{}' is empty", key));
  return value == nullptr ? "" : value->text;
}

std::optional<double> KeyedTable::number(const std::string& key) {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->number() && std::isfinite(value->as_real())) return value->as_real();
  wrong(*value, key, "a number");
  return std::nullopt;
}

std::string KeyedTable::one_of(const std::string& key, const std::vector<std::string>& names) {
  std::string name = text(key);
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    mistakes_.add(value_.find(key)->value.place, unknown(key, name, names));
  return name;
}

std::vector<std::string> KeyedTable::texts(const std::string& key) {
  std::vector<std::string> all;
  const Value* list = need(key, Value::Type::kArray);
  if (list == nullptr) return all;
  for (const Value& item : list->items) {
    if (item.is(Value::Type::kText))
      all.push_back(item.text);
    else
      wrong(item, key, "a list of texts");
  }
  return all;
}

const std::vector<Value>& KeyedTable::tables(const std::string& key) {
  static const std::vector<Value> kNone;
  const Value* list = need(key, Value::Type::kArray);
  return list == nullptr ? kNone : list->items;
}

void KeyedTable::wrong(const Value& value, const std::string& key, const std::string& wanted) {
  mistakes_.add(value.place, fmt::format("'{}' in {} is {}, not {}", key, where_, wanted, type_name(value.type)));
}

}  // namespace hopbench
