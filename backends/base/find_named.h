// A registry's entry by its name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hopbench {

/// Throws Error(kUsage) "unknown KIND 'NAME': known are ...", with the nearest of the known names.
[[noreturn]] void throw_unknown(const char* kind, std::string_view name, std::span<const std::string> known);

/// Returns the entry of that name, or throws as above.
template <class Entry>
const Entry& find_named(const std::vector<Entry>& entries, std::string_view name, const char* kind) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (name == entry.name) return entry;
    known.emplace_back(entry.name);
  }
  throw_unknown(kind, name, known);
}

}  // namespace hopbench
