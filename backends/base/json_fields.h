// Converts records to JSON and back, by a list of their fields. Times are whole nanoseconds, enumerations are numbers,
// and pairs are arrays of two. Numbers that are not finite are the strings "nan", "inf" and "-inf". Other types define
// their own encode() and decode(). Functions that read throw Error(kUsage) or the library's exception (json_mistake) if
// a value has the wrong type or range.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "backends/base/time.h"

namespace hopbench {

using OrderedJson = nlohmann::ordered_json;  // fields stand in the order of their list

template <class T>
inline constexpr bool kIsMap = false;
template <class V>
inline constexpr bool kIsMap<std::map<std::string, V>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class V>
inline constexpr bool kIsList<std::vector<V>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

/// A field that is a member of a record, with its name in JSON and its conversions.
template <class Record>
struct JsonField {
  const char* name = nullptr;
  OrderedJson (*get)(const Record&) = nullptr;
  void (*set)(Record&, const OrderedJson&) = nullptr;
  bool needed = false;                        // reading fails without it; otherwise the member keeps its value
  bool (*left_out)(const Record&) = nullptr;  // true: omitted from JSON; nullptr: never omitted
};

template <class Fields, class Record>
void write_fields(const Fields& fields, const Record& record, OrderedJson& j);
template <class Fields, class Record>
void read_fields(const Fields& fields, const OrderedJson& j, Record& record);

/// Types with a list: std::span<const JsonField<T>> json_fields_of(const T*), or of fields derived from it.
template <class T>
concept Listed = requires(const T* record) {
  json_fields_of(record);
};

template <class T>
OrderedJson encode(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) return static_cast<double>(value);
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_same_v<T, Duration>) {
    return value.count();
  } else if constexpr (std::is_same_v<T, Time>) {
    return value.time_since_epoch().count();
  } else if constexpr (kIsPair<T>) {
    return OrderedJson::array({encode(value.first), encode(value.second)});
  } else if constexpr (kIsMap<T>) {
    OrderedJson j = OrderedJson::object();
    for (const auto& [key, item] : value) j[key] = encode(item);
    return j;
  } else if constexpr (kIsList<T>) {
    OrderedJson j = OrderedJson::array();
    for (const auto& item : value) j.push_back(encode(item));
    return j;
  } else if constexpr (Listed<T>) {
    OrderedJson j = OrderedJson::object();
    write_fields(json_fields_of(&value), value, j);
    return j;
  } else {
    return value;
  }
}

inline double real_of(const OrderedJson& j) {
  if (j.is_number()) return j.get<double>();
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (j == "inf" || j == "-inf") return j == "inf" ? infinity : -infinity;
  constexpr std::size_t kShown = 30;
  const std::string found = j.is_string() ? j.get<std::string>() : j.type_name();
  throw usage_error(found.substr(0, kShown) + " stands where a number belongs");
}

inline void must_be(bool is, const OrderedJson& j, const char* what) {
  if (!is) throw usage_error(std::string(j.type_name()) + " stands where " + what + " belongs");
}

template <class T>
void decode(const OrderedJson& j, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(real_of(j));
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(integer_of<int>(j));
  } else if constexpr (std::is_same_v<T, Duration>) {
    value = Duration(integer_of<Duration::rep>(j));
  } else if constexpr (std::is_same_v<T, Time>) {
    value = Time(Duration(integer_of<Duration::rep>(j)));
  } else if constexpr (kIsPair<T>) {
    decode(j.at(0), value.first);
    decode(j.at(1), value.second);
  } else if constexpr (kIsMap<T>) {
    must_be(j.is_object(), j, "an object");
    value.clear();
    for (const auto& [key, item] : j.items()) decode(item, value[key]);
  } else if constexpr (kIsList<T>) {
    must_be(j.is_array(), j, "a list");
    value.clear();
    for (const OrderedJson& item : j) decode(item, value.emplace_back());
  } else if constexpr (Listed<T>) {
    read_fields(json_fields_of(&value), j, value);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    value = integer_of<T>(j);
  } else {
    j.get_to(value);
  }
}

template <class Member>
struct RecordOf;
template <class Member, class Of>
struct RecordOf<Member Of::*> {
  using type = Of;
};

/// Returns the member at a path of members: member<&TrialSpec::workload, &WorkloadSpec::batch>(spec).
template <auto kFirst, auto... kRest, class Record>
auto& member(Record& record) {
  if constexpr (sizeof...(kRest) == 0) {
    return record.*kFirst;
  } else {
    return member<kRest...>(record.*kFirst);
  }
}

/// Returns a field that must be present.
template <auto kFirst, auto... kRest>
constexpr auto json_field(const char* name) {
  using Record = typename RecordOf<decltype(kFirst)>::type;
  return JsonField<Record>{
      .name = name,
      .get = [](const Record& record) { return encode(member<kFirst, kRest...>(record)); },
      .set = [](Record& record, const OrderedJson& j) { decode(j, member<kFirst, kRest...>(record)); },
      .needed = true};
}

/// Returns a field that JSON omits if it is an empty list or has its default value.
template <auto kFirst, auto... kRest>
constexpr auto optional_field(const char* name) {
  using Record = typename RecordOf<decltype(kFirst)>::type;
  JsonField<Record> field = json_field<kFirst, kRest...>(name);
  field.needed = false;
  field.left_out = [](const Record& record) {
    const auto& value = member<kFirst, kRest...>(record);
    if constexpr (kIsList<std::remove_cvref_t<decltype(value)>>) {
      return value.empty();
    } else {
      const Record fresh{};
      return value == member<kFirst, kRest...>(fresh);
    }
  };
  return field;
}

template <class Fields, class Record>
void write_fields(const Fields& fields, const Record& record, OrderedJson& j) {
  for (const auto& field : fields) {
    const bool there = field.get != nullptr && (field.left_out == nullptr || !field.left_out(record));
    if (there) j[field.name] = field.get(record);
  }
}

/// Reads the fields and ignores unknown ones. Errors name the field.
template <class Fields, class Record>
void read_fields(const Fields& fields, const OrderedJson& j, Record& record) {
  must_be(j.is_object(), j, "an object");
  for (const auto& field : fields) {
    if (field.set == nullptr) continue;
    const auto found = j.find(field.name);
    const std::string name = std::string("'") + field.name + "'";
    if (found == j.end() && field.needed) throw usage_error(name + " is missing");
    if (found == j.end()) continue;
    try {
      field.set(record, *found);
    } catch (const OrderedJson::exception& error) {
      throw usage_error(name + ": " + json_mistake(error));
    } catch (const Error& error) {
      throw error.in(name);
    }
  }
}

}  // namespace hopbench
