// Keys that are only allowed under a condition. Checks that compute something are where their keys are checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/runtime/scenario.h"
#include "suites/language/draft.h"

namespace hopbench {

/// The values that decide if a key is allowed: those of a table in a list, or those of a configuration.
struct Circumstances {
  const Value* item = nullptr;   // a table of scenario.compute, scenario.links or scenario.faults
  SlowdownKind rule{};           // of the table, if it is a compute rule
  const Trace* trace = nullptr;  // that the table replays, if it can be read
  const Draft* draft = nullptr;
  const Configuration* c = nullptr;
  const VariantDraft* variant = nullptr;  // for keys of [optimizer]

  /// Returns the value of the table's key, or nullptr.
  const Value* in_item(const std::string& key) const;
  /// Returns the value if it is given: it is in the table, or differs from the default.
  const Value* given(const std::string& path) const;
};

/// Refuses the keys at `path`, or below it if it ends with a dot, that are not allowed.
void check_allowed(std::string_view path, const Circumstances& here, Mistakes& mistakes);

/// A kind of the tables in a list, with the keys that only some kinds have.
struct ItemKind {
  std::string name;
  std::vector<std::string> needs, may{};
};
/// Returns the kind of a table; nullptr if it has none.
const ItemKind* kind_among(const std::vector<ItemKind>& kinds, const Value& item);
/// Checks that a table has the keys that its kind needs, and none that only other kinds have. `thing`: " rule", or "".
void check_kind(const Value& item, const std::vector<ItemKind>& kinds, const char* thing, Mistakes& mistakes);

}  // namespace hopbench
