// Reads the entries of a table into values by key. Each entry without a key becomes a mistake.
#include <utility>

#include <fmt/format.h>

#include "suites/language/keys.h"

namespace hopbench {
namespace {

using T = Value::Type;

// Returns the valid tables of a list, so that they are checked further even if others are wrong.
Value right_tables(const SuiteKey& key, Value list) {
  const std::vector<Value> items = std::exchange(list.items, {});
  Value alone = list, right = list;
  for (const Value& item : items) {
    alone.items = {item};
    Mistakes told_before;
    if (check_value(key, alone, told_before)) right.items.push_back(item);
  }
  return right;
}

std::string where_text(const std::string& prefix) {
  if (prefix.empty()) return "at the top";
  return (prefix == "protocol" || prefix == "scenario" || prefix == "measure") ? "in [[" + prefix + "]]"
                                                                               : "in [" + prefix + "]";
}

}  // namespace

void each_file(const SuiteKey& key, Value& value, const std::function<void(Value&)>& take) {
  if (key.type == KeyType::kFile) take(value);
  for (Value& table : value.items) {
    for (Entry& entry : table.entries) {
      const SuiteKey* inner = find_key(std::string(key.path) + "." + entry.key);
      if (inner != nullptr) each_file(*inner, entry.value, take);
    }
  }
}

void read_key(const Entry& entry, const std::string& path, const std::string& where, Layer& layer,
              std::set<std::string>& bad, Mistakes& mistakes) {
  if (mistakes.enough()) return;
  if (const SuiteKey* key = find_key(path)) {
    if (check_value(*key, entry.value, mistakes)) {
      layer[path] = entry.value;
    } else {
      bad.insert(path);
      if (key->type == KeyType::kTables && entry.value.is(T::kArray)) layer[path] = right_tables(*key, entry.value);
    }
    if (layer.contains(path)) each_file(*key, layer[path], [](Value& file) { file.locate(); });
  } else if (is_group(path) && entry.value.is(T::kTable)) {
    read_keys(entry.value, path, layer, bad, mistakes);
  } else if (const std::string whole = shorthand(path); !whole.empty()) {
    read_key(entry, whole, where, layer, bad, mistakes);
  } else if (is_group(path)) {
    mistakes.add(entry.place, "'{}' must be a table: [{}]", path, path);
  } else {
    const std::size_t dot = path.rfind('.');
    const std::vector<std::string> known = children(dot == std::string::npos ? "" : path.substr(0, dot));
    mistakes.add(entry.place, unknown("key", last_part(path), known, where));
    bad.insert(path);
  }
}

void read_keys(const Value& table, const std::string& prefix, Layer& layer, std::set<std::string>& bad,
               Mistakes& mistakes) {
  for (const Entry& entry : table.entries)
    read_key(entry, prefix.empty() ? entry.key : prefix + "." + entry.key, where_text(prefix), layer, bad, mistakes);
}

}  // namespace hopbench
