// Finds keys by path, by the end of a path, or by a common prefix, and reads tables into values by key.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/keys.h"

namespace hopbench {
namespace {

using Names = std::vector<std::string>;

const Names kNoSections = {"protocol", "scenario", "measure", "tuning"};  // lists, and a record

bool below(const std::string& path, const std::string& prefix) {
  return prefix.empty() || (path.size() > prefix.size() && path.starts_with(prefix) && path[prefix.size()] == '.');
}

// Keys of the tables in a list (optimizer.steps.factor) are reached through the list only.
bool inside_list(const std::string& path) {
  return std::any_of(suite_keys().begin(), suite_keys().end(),
                     [&](const SuiteKey& key) { return key.type == KeyType::kTables && below(path, key.path); });
}

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

const SuiteKey* find_key(const std::string& path) {
  static const std::map<std::string, const SuiteKey*> keys = [] {
    std::map<std::string, const SuiteKey*> all;
    for (const SuiteKey& key : suite_keys()) all[key.path] = &key;
    return all;
  }();
  const auto found = keys.find(path);
  return found == keys.end() ? nullptr : found->second;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('.') + 1); }

bool is_section_key(const SuiteKey& key) {
  static const std::set<std::string> paths = [] {
    std::set<std::string> found;
    for (const SuiteKey& one : suite_keys()) {
      const std::string path = one.path;
      const std::string top = path.substr(0, path.find('.'));
      const bool listed = std::find(kNoSections.begin(), kNoSections.end(), top) != kNoSections.end();
      if (top != path && !listed && !inside_list(path)) found.insert(path);
    }
    return found;
  }();
  return paths.contains(key.path);
}

bool is_group(const std::string& prefix) {
  return std::any_of(suite_keys().begin(), suite_keys().end(),
                     [&](const SuiteKey& key) { return below(key.path, prefix); });
}

bool is_of_whole_suite(const std::string& path) {
  return path == "run.reference" || path == "run.order" || below(path, "tune");
}

std::vector<std::string> children(const std::string& prefix) {
  Names names;
  for (const SuiteKey& key : suite_keys()) {
    if (!below(key.path, prefix)) continue;
    const std::string rest = std::string(key.path).substr(prefix.empty() ? 0 : prefix.size() + 1);
    const std::string name = rest.substr(0, rest.find('.'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string shorthand(const std::string& group) {
  for (const char* name : {"name", "kind", "loss"}) {
    std::string path = group + "." + name;
    if (const SuiteKey* key = find_key(path); key != nullptr && is_section_key(*key)) return path;
  }
  return "";
}

std::string resolve_key(const std::vector<std::string>& parts) {
  std::string path = join(parts, ".");
  if (const SuiteKey* key = find_key(path)) return is_section_key(*key) ? path : "";
  if (std::string whole = shorthand(path); !whole.empty()) return whole;
  std::set<std::string> found;
  for (const SuiteKey& key : suite_keys()) {
    const std::string full = key.path;
    // Keys of [tune] have whole paths only, so that `lr` and `repeats` stay those of the sections that trials have.
    if (!is_section_key(key) || below(full, "tune")) continue;
    const std::string group = full.substr(0, full.rfind('.'));
    if (full.ends_with("." + path)) found.insert(full);
    if (group.ends_with("." + path) && shorthand(group) == full) found.insert(full);
  }
  return found.size() == 1 ? *found.begin() : "";
}

const std::vector<std::string>& override_names() {
  static const Names names = [] {
    Names found;
    for (const SuiteKey& key : suite_keys()) {
      if (!is_section_key(key)) continue;
      found.emplace_back(key.path);
      const std::string last = last_part(key.path);
      if (resolve_key({last}) == key.path) found.push_back(last);
      const std::string group = std::string(key.path).substr(0, std::string(key.path).rfind('.'));
      if (shorthand(group) == key.path) found.push_back(last_part(group));
    }
    return found;
  }();
  return names;
}

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
      if (key->type == KeyType::kTables && entry.value.is(Value::Type::kArray))
        layer[path] = right_tables(*key, entry.value);
    }
    if (layer.contains(path)) each_file(*key, layer[path], [](Value& file) { file.locate(); });
  } else if (is_group(path) && entry.value.is(Value::Type::kTable)) {
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
