// A record's values as JSON and back: times are whole nanoseconds, and numbers that are not finite the strings "nan",
// "inf" and "-inf". decode() throws Error(kUsage), or the library's exception, for what is no such value.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "results/record.h"

namespace hopbench {

using Json = nlohmann::ordered_json;  // fields stand in the order of their list (fields.h)

const char* to_string(TrialStatus status);
TrialStatus status_of(const std::string& text);  // unknown ones are failures

Json encode(const RankRecord& record);  // json.cpp
Json encode(const CurvePoint& point);
void decode(const Json& j, RankRecord& record);
void decode(const Json& j, CurvePoint& point);

template <class T>
inline constexpr bool kIsMap = false;
template <class V>
inline constexpr bool kIsMap<std::map<std::string, V>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class V>
inline constexpr bool kIsList<std::vector<V>> = true;

template <class T>
Json encode(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) return static_cast<double>(value);
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (std::is_same_v<T, Duration>) {
    return value.count();
  } else if constexpr (std::is_same_v<T, Time>) {
    return value.time_since_epoch().count();
  } else if constexpr (std::is_same_v<T, TrialStatus>) {
    return to_string(value);
  } else if constexpr (std::is_same_v<T, IterationMark>) {  // as an array: a trial has many
    return Json::array({encode(value.end), value.iter, value.samples, encode(value.compute), encode(value.loss)});
  } else if constexpr (kIsMap<T>) {
    Json j = Json::object();
    for (const auto& [key, item] : value) j[key] = encode(item);
    return j;
  } else if constexpr (kIsList<T>) {
    Json j = Json::array();
    for (const auto& item : value) j.push_back(encode(item));
    return j;
  } else {
    return value;
  }
}

inline double real_of(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  if (j == "inf" || j == "-inf") return j == "inf" ? infinity : -infinity;
  constexpr std::size_t kShown = 30;
  const std::string found = j.is_string() ? j.get<std::string>() : j.type_name();
  throw usage_error(found.substr(0, kShown) + " stands where a number belongs");
}

template <class T>
void decode(const Json& j, T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(real_of(j));
  } else if constexpr (std::is_same_v<T, Duration>) {
    value = Duration(integer_of<Duration::rep>(j));
  } else if constexpr (std::is_same_v<T, Time>) {
    value = Time(Duration(integer_of<Duration::rep>(j)));
  } else if constexpr (std::is_same_v<T, TrialStatus>) {
    value = status_of(j.get<std::string>());
  } else if constexpr (std::is_same_v<T, IterationMark>) {
    decode(j.at(0), value.end);
    decode(j.at(1), value.iter);
    decode(j.at(2), value.samples);
    decode(j.at(3), value.compute);
    decode(j.at(4), value.loss);
  } else if constexpr (kIsMap<T>) {
    value.clear();
    for (const auto& [key, item] : j.items()) decode(item, value[key]);
  } else if constexpr (kIsList<T>) {
    value.clear();
    for (const Json& item : j) decode(item, value.emplace_back());
  } else {
    read_value(j, value);
  }
}

}  // namespace hopbench
