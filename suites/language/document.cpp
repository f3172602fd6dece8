#include "suites/language/document.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <tuple>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "backends/base/printable.h"

namespace hopbench {
namespace {

// The library limits the depth of values in each other, but not that of dotted keys, where code that goes down them
// runs out of stack. The dots of numbers do not count: lists have many.
constexpr int kMostDots = 2000;
constexpr int kMostLevels = 100;  // of values in values, so that the library can print what was read and read it again

bool too_many_dots(const std::string& text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  const auto part_of_key = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; };
  int dots = 0;
  for (std::size_t at = text.find('.'); at != std::string::npos; at = text.find('.', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && part_of_key(text[begin - 1])) --begin;
    const bool second = begin > 0 && text[begin - 1] == '.';
    if ((second || at == 0 || !digit(at - 1) || !digit(at + 1)) && ++dots > kMostDots) return true;
  }
  return false;
}

bool deeper_than(int levels, const toml::node& node) {
  const auto too_deep = [levels](const auto& inner) { return deeper_than(levels - 1, inner); };
  if (levels < 0) return true;
  if (const auto* array = node.as_array()) return std::any_of(array->begin(), array->end(), too_deep);
  const auto* table = node.as_table();
  return table != nullptr &&
         std::any_of(table->begin(), table->end(), [&](const auto& e) { return too_deep(e.second); });
}

SourceLocation place_of(const toml::source_region& region, const std::string& file) {
  return {file, int(region.begin.line), int(region.begin.column)};
}

Value value_of(const toml::node& node, const std::string& file);

std::vector<Entry> entries_of(const toml::table& table, const std::string& file) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) {
    entries.push_back({std::string(key.str()), place_of(key.source(), file), value_of(node, file)});
  }
  // The library sorts by key; people write in an order that means something to them.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
  });
  return entries;
}

Value value_of(const toml::node& node, const std::string& file) {
  Value value;
  value.place = place_of(node.source(), file);
  if (const auto* table = node.as_table()) {
    value.type = Value::Type::kTable;
    value.entries = entries_of(*table, file);
  } else if (const auto* array = node.as_array()) {
    value.type = Value::Type::kArray;
    for (const toml::node& item : *array) value.items.push_back(value_of(item, file));
  } else if (const auto* flag = node.as_boolean()) {
    value.type = Value::Type::kBool;
    value.flag = flag->get();
  } else if (const auto* integer = node.as_integer()) {
    value.type = Value::Type::kInteger;
    value.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    value.type = Value::Type::kReal;
    value.real = real->get();
  } else if (const auto* text = node.as_string()) {
    value.type = Value::Type::kText;
    value.text = text->get();
  } else {
    value.type = Value::Type::kOther;
  }
  return value;
}

void move_to(Value& value, const SourceLocation& place) {
  value.place = place;
  for (Value& item : value.items) move_to(item, place);
  for (Entry& entry : value.entries) {
    entry.place = place;
    move_to(entry.value, place);
  }
}

bool bare(const std::string& key) {
  return !key.empty() &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string::npos;
}

std::string list_of(const Value& value) {
  std::string text;
  for (const Value& item : value.items) text += (text.empty() ? "" : ", ") + to_toml(item);
  return "[" + text + "]";
}

std::string inline_table(const Value& value) {
  std::string text;
  for (const Entry& entry : value.entries)
    text += (text.empty() ? " " : ", ") + toml_key(entry.key) + " = " + to_toml(entry.value);
  return "{" + text + " }";
}

/// Returns the parser's words, and what they mean for a number such as 1e400.
std::string no_toml(std::string_view said) {
  const bool number = said.find("floating-point") != std::string_view::npos &&
                      said.find("could not be interpreted") != std::string_view::npos;
  return fmt::format("not TOML: {}{}", said, number ? ": it is too large, or too close to 0, for a number" : "");
}

}  // namespace

const Entry* Value::find(const std::string& key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

const char* type_name(Value::Type type) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a real number", "a text",
                                    "a list",    "a table",    "a date or time"};
  return kNames[int(type)];
}

std::optional<Value> parse_document(const std::string& text, const std::string& file, Mistakes& mistakes) {
  if (too_many_dots(text)) {
    mistakes.add({file, 1, 1}, "more than {} dots: no suite has such keys", kMostDots);
    return std::nullopt;
  }
  try {
    const toml::table table = toml::parse(text);
    if (!deeper_than(kMostLevels, table)) return value_of(table, file);
    mistakes.add({file, 1, 1}, "values stand more than {} levels deep in each other", kMostLevels);
  } catch (const toml::parse_error& error) {
    mistakes.add(place_of(error.source(), file), no_toml(error.description()));
  } catch (const std::exception& error) {
    mistakes.add({file, 1, 1}, "not TOML: {}", error.what());
  }
  return std::nullopt;
}

std::optional<Value> parse_value(const std::string& text, const SourceLocation& place, Mistakes& mistakes) {
  Mistakes own;
  const std::optional<Value> document = parse_document("v = " + text + "\n", place.file, own);
  // An injected line break could bring further keys: the text must be one value and nothing else.
  if (document && document->entries.size() == 1) {
    Value value = document->entries[0].value;
    move_to(value, place);
    return value;
  }
  const bool meant_as_toml = text.empty() || std::string("[{\"'").find(text[0]) != std::string::npos;
  // A text that is not UTF-8 could not be written out again.
  const bool one_line = text.find('\n') == std::string::npos;
  if (!meant_as_toml && one_line && parse_document("v = " + toml_text(text), place.file, own))
    return text_value(text, place);
  mistakes.add(place, "'{}' is not a TOML value", quotable(text));
  return std::nullopt;
}

std::optional<std::vector<std::string>> split_key(const std::string& key) {
  std::vector<std::string> parts;
  std::size_t i = 0;
  while (true) {
    std::string part;
    if (i < key.size() && (key[i] == '"' || key[i] == '\'')) {
      const std::size_t end = key.find(key[i], i + 1);
      if (end == std::string::npos) return std::nullopt;
      part = key.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      const std::size_t end = std::min(key.find('.', i), key.size());
      part = key.substr(i, end - i);
      i = end;
    }
    if (part.empty()) return std::nullopt;
    parts.push_back(part);
    if (i == key.size()) return parts;
    if (key[i] != '.') return std::nullopt;
    ++i;
  }
}

std::string toml_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", int(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string toml_real(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;  // n: inf, nan
}

std::string toml_key(const std::string& key) { return bare(key) ? key : toml_text(key); }

std::string to_toml(const Value& value) {
  switch (value.type) {
    case Value::Type::kBool:
      return value.flag ? "true" : "false";
    case Value::Type::kInteger:
      return fmt::format("{}", value.integer);
    case Value::Type::kReal:
      return toml_real(value.real);
    case Value::Type::kText:
      return toml_text(value.text);
    case Value::Type::kArray:
      return list_of(value);
    case Value::Type::kTable:
      return inline_table(value);
    case Value::Type::kOther:
      break;
  }
  HB_ASSERT_MSG(false, "dates are refused before anything is written");
}

void Value::locate() {
  namespace fs = std::filesystem;
  if (text.empty()) return;
  for (const fs::path& path : {fs::path(place.file).parent_path() / text, fs::path(text)}) {
    std::error_code none;
    if (!fs::exists(path, none)) continue;
    text = fs::absolute(path, none).lexically_normal().string();
    return;
  }
}

}  // namespace hopbench
