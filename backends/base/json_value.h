// Reads integers from JSON. If an integer is asked for, nlohmann's library silently converts a fraction, which is
// undefined if no integer can hold it. If an integer is too large, the library keeps its lower bits.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/error.h"

namespace hopbench {

/// Returns j as an Integer. Throws Error(kUsage) if j is not an integer or does not fit into an Integer.
template <class Integer, class Json>
Integer integer_of(const Json& j) {
  const bool fits = j.is_number_unsigned()  ? std::in_range<Integer>(j.template get<std::uint64_t>())
                    : j.is_number_integer() ? std::in_range<Integer>(j.template get<std::int64_t>())
                                            : false;
  if (!fits) {
    const std::string found = j.is_number() ? j.dump() : j.type_name();
    if (j.is_number_integer()) throw usage_error(found + " is too large or too small for what it counts");
    throw usage_error(found + " stands where an integer belongs");
  }
  return j.template get<Integer>();
}

/// Returns in plain words what an exception of nlohmann's library complains about. Its own text is for programmers.
template <class JsonException>
std::string json_mistake(const JsonException& error) {
  constexpr int kFirstOfParser = 101, kLastOfParser = 199, kWrongType = 302, kMissingKey = 403, kTooLarge = 406;
  if (error.id >= kFirstOfParser && error.id <= kLastOfParser) return "it is not valid JSON";
  if (error.id == kWrongType) return "its value has the wrong type";
  if (error.id == kMissingKey) return "a field is missing";
  if (error.id == kTooLarge) return "a number is too large";
  return "its values are not those that belong there";
}

/// Returns a field of a JSON object. Throws Error(kUsage), which names the field, if it is missing.
template <class Json>
const Json& field_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) throw usage_error(std::string("'") + name + "' is missing");
  return object.at(name);
}

/// Does the same as j.get_to(value), but reads the integers in it with integer_of().
template <class T, class Json>
void read_value(const Json& j, T& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    value = integer_of<T>(j);
  } else {
    j.get_to(value);
  }
}
template <class A, class B, class Json>
void read_value(const Json& j, std::pair<A, B>& value) {
  read_value(j.at(0), value.first);
  read_value(j.at(1), value.second);
}
template <class T, class Json>
void read_value(const Json& j, std::vector<T>& value) {
  value.clear();
  for (const Json& item : j) read_value(item, value.emplace_back());
}

}  // namespace hopbench
