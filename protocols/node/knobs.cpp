#include "protocols/node/knobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/error.h"
#include "backends/base/printable.h"
#include "backends/base/text.h"

namespace hopbench {
namespace {

const char* type_name(const KnobValue& value) {
  static constexpr const char* kNames[] = {"true or false", "a whole number", "a number", "a text"};
  return kNames[value.index()];
}

std::string quoted(const KnobValue& value) {
  return std::holds_alternative<std::string>(value) ? "'" + quotable(to_string(value)) + "'" : to_string(value);
}

void check_range(const Knob& knob, const KnobValue& value) {
  if (knob.low == knob.high) return;
  const double number = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                              : static_cast<double>(std::get<std::int64_t>(value));
  if (number >= knob.low && number <= knob.high) return;  // false for NaN
  throw usage_error(fmt::format("knob '{}' = {} is out of range: it goes from {} to {}", knob.name, to_string(value),
                                knob.low, knob.high));
}

void check_choice(const Knob& knob, const std::string& value) {
  if (knob.choices.empty() || std::find(knob.choices.begin(), knob.choices.end(), value) != knob.choices.end()) return;
  throw usage_error(fmt::format("knob '{}' = '{}' is none of its choices: {}.{}", knob.name, quotable(value),
                                join(knob.choices, ", "), did_you_mean(value, knob.choices)));
}

}  // namespace

KnobValues::KnobValues(std::span<const Knob> knobs) {
  for (const Knob& knob : knobs) values_[knob.name] = knob.fallback;
}

void KnobValues::set(std::span<const Knob> knobs, const std::string& name, const KnobValue& value) {
  const auto knob = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& k) { return k.name == name; });
  if (knob == knobs.end()) {
    std::vector<std::string> known;
    for (const Knob& k : knobs) known.emplace_back(k.name);
    const std::string there_are = known.empty() ? "this protocol has none" : "there are " + join(known, ", ");
    throw usage_error("unknown knob '" + name + "': " + there_are + "." + did_you_mean(name, known));
  }
  KnobValue taken = value;
  if (std::holds_alternative<double>(knob->fallback) && std::holds_alternative<std::int64_t>(value))
    taken = static_cast<double>(std::get<std::int64_t>(value));
  if (std::holds_alternative<double>(taken) && std::holds_alternative<std::int64_t>(knob->fallback)) {
    throw usage_error(fmt::format(
        "knob '{}' = {} is written as a real number: it takes a whole one such as {}, without point and exponent", name,
        to_string(value), to_string(knob->fallback)));
  }
  if (taken.index() != knob->fallback.index()) {
    throw usage_error(fmt::format("knob '{}' = {} is of the wrong type: it takes {} such as {}", name, quoted(value),
                                  type_name(knob->fallback), quoted(knob->fallback)));
  }
  if (std::holds_alternative<std::string>(taken)) {
    check_choice(*knob, std::get<std::string>(taken));
  } else if (!std::holds_alternative<bool>(taken)) {
    check_range(*knob, taken);
  }
  values_[name] = taken;
  given_.insert(name);
}

const KnobValue& KnobValues::at(const std::string& name) const {
  const auto found = values_.find(name);
  HB_ASSERT_MSG(found != values_.end(), "no knob '" + name + "'");
  return found->second;
}

bool KnobValues::flag(const std::string& name) const { return std::get<bool>(at(name)); }
int KnobValues::integer(const std::string& name) const { return static_cast<int>(std::get<std::int64_t>(at(name))); }
int KnobValues::integer(const std::string& name, int otherwise) const {
  const int given = integer(name);
  return given != 0 ? given : otherwise;
}
double KnobValues::real(const std::string& name) const { return std::get<double>(at(name)); }
const std::string& KnobValues::text(const std::string& name) const { return std::get<std::string>(at(name)); }

bool KnobValues::given(const std::string& name) const { return given_.count(name) != 0; }

Knob knob(const char* name, KnobValue fallback, double low, double high, const char* meaning, const char* source) {
  return {name, std::move(fallback), low, high, {}, meaning, source};
}

Knob knob(const char* name, bool fallback, const char* meaning, const char* source) {
  return knob(name, fallback, 0, 0, meaning, source);
}

Knob choice(const char* name, std::vector<std::string> choices, const char* meaning, const char* source) {
  std::string first = choices.at(0);
  return {name, std::move(first), 0, 0, std::move(choices), meaning, source};
}

std::string to_string(const KnobValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

}  // namespace hopbench
