// A protocol's parameters as the suite gives them: names, defaults, ranges and meanings, checked in one place.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace hopbench {

using KnobValue = std::variant<bool, std::int64_t, double, std::string>;

struct Knob {
  const char* name = "";
  KnobValue fallback;                     // the default; its type is the knob's
  double low = 0, high = 0;               // of numbers, both included; equal: any
  std::vector<std::string> choices = {};  // of strings
  const char* meaning = "";               // one line
  const char* source = "";                // "paper", "memory H", "ours", ...
};

/// Returns a number with its default, from `low` to `high`, or a flag.
Knob knob(const char* name, KnobValue fallback, double low, double high, const char* meaning, const char* source);
Knob knob(const char* name, bool fallback, const char* meaning, const char* source);
/// Returns a knob that is one of several words. The first is the default.
Knob choice(const char* name, std::vector<std::string> choices, const char* meaning, const char* source);

/// Every knob of a protocol with its value. Asking for a name the protocol does not have is a bug (HB_ASSERT).
class KnobValues {
 public:
  KnobValues() = default;
  explicit KnobValues(std::span<const Knob> knobs);  // all defaults
  /// Sets a knob. Throws Error(kUsage) for an unknown name (with the nearest known one), a wrong type, a value out of
  /// range or not among the choices. A real knob also takes a whole number.
  void set(std::span<const Knob> knobs, const std::string& name, const KnobValue& value);

  bool flag(const std::string& name) const;
  int integer(const std::string& name) const;
  /// Returns the same; `otherwise` if it is 0.
  int integer(const std::string& name, int otherwise) const;
  double real(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  /// Returns true if set() was called for it: the value is not merely the default.
  bool given(const std::string& name) const;
  const std::map<std::string, KnobValue>& all() const { return values_; }

 private:
  const KnobValue& at(const std::string& name) const;
  std::map<std::string, KnobValue> values_;
  std::set<std::string> given_;
};

std::string to_string(const KnobValue& value);

}  // namespace hopbench
