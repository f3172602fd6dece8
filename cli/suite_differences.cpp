#include "cli/suite_differences.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <vector>

#include "backends/base/text.h"
#include "suites/language/document.h"

namespace hopbench {
namespace {

using Settings = std::map<std::string, std::string>;  // "compute.noise" -> "0.003"

/// Returns the name of an item in a list of tables: its label, its name or, if it has neither, its number.
std::string name_of(const Value& item, std::size_t number) {
  for (const char* key : {"label", "name"}) {
    const Entry* entry = item.find(key);
    if (entry != nullptr && entry->value.is(Value::Type::kText)) return fmt::format("'{}'", entry->value.text);
  }
  return fmt::format("{}", number + 1);
}

void collect(const Value& value, const std::string& place, Settings& settings) {
  const bool tables = value.is(Value::Type::kArray) && !value.items.empty() && value.items[0].is(Value::Type::kTable);
  if (value.is(Value::Type::kTable)) {
    const char* const between = place.empty() ? "" : place.back() == '\'' ? " " : ".";
    for (const Entry& entry : value.entries) collect(entry.value, place + between + entry.key, settings);
  } else if (tables) {
    for (std::size_t i = 0; i < value.items.size(); ++i)
      collect(value.items[i], fmt::format("{} {}", place, name_of(value.items[i], i)), settings);
  } else {
    settings[place] = to_toml(value);
  }
}

std::optional<Settings> settings_of(const std::string& toml) {
  Mistakes mistakes;
  const std::optional<Value> root = parse_document(toml, "suite.toml", mistakes);
  if (!root) return std::nullopt;
  Settings settings;
  collect(*root, "", settings);
  return settings;
}

}  // namespace

std::string suite_differences(const std::string& base_toml, const std::string& head_toml) {
  constexpr std::size_t kShown = 4;
  const std::optional<Settings> base = settings_of(base_toml), head = settings_of(head_toml);
  if (!base || !head) return "";
  Settings all = *base;
  all.insert(head->begin(), head->end());
  const auto in = [](const Settings& settings, const std::string& key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string("not there") : found->second;
  };
  std::vector<std::string> texts;
  for (const auto& [key, value] : all) {
    if (in(*base, key) != in(*head, key))
      texts.push_back(fmt::format("{}: {}; {}", key, in(*base, key), in(*head, key)));
  }
  const std::size_t more = texts.size() > kShown ? texts.size() - kShown : 0;
  texts.resize(texts.size() - more);
  return join(texts, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace hopbench
