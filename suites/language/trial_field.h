// Members of TrialSpec that a suite's key sets, with their name in a trial's JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "suites/language/document.h"
#include "suites/trial/trial_json.h"

namespace hopbench {

struct SuiteKey;

struct TrialField : JsonField<TrialSpec> {
  /// True if the field is not part of the hash.
  bool limit = false;
  /// Sets the member from a checked value. If nullptr, expand.cpp sets the member, from several keys.
  void (*take)(TrialSpec&, const SuiteKey&, const Value&) = nullptr;

  constexpr TrialField as_limit() const {
    TrialField field = *this;
    field.limit = true;
    return field;
  }
};

// Convert a checked value of a key.
double real_value(const SuiteKey& key, const Value& value);  // of a rate: bytes/s
std::int64_t time_value(const Value& value);                 // ns
int choice_value(const SuiteKey& key, const Value& value);   // index of the name in the key's names, from 0

/// Copies a value into a member.
template <class T>
void copy_value(T& to, const SuiteKey& key, const Value& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    to = value.text;
  } else if constexpr (std::is_same_v<T, bool>) {
    to = value.flag;
  } else if constexpr (std::is_same_v<T, Duration>) {
    to = Duration(time_value(value));
  } else if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(choice_value(key, value));
  } else if constexpr (std::is_floating_point_v<T>) {
    to = static_cast<T>(real_value(key, value));
  } else {
    constexpr std::int64_t kMost = sizeof(T) < sizeof(std::int64_t) ? 1 << 30 : INT64_MAX;  // allows counting on
    to = static_cast<T>(std::min(value.integer, kMost));
  }
}

/// Returns a key's member of TrialSpec: to<&TrialSpec::workload, &WorkloadSpec::batch>("batch").
template <auto kFirst, auto... kRest>
constexpr TrialField to(const char* name) {
  TrialField field{json_field<kFirst, kRest...>(name)};
  field.take = [](TrialSpec& spec, const SuiteKey& key, const Value& value) {
    copy_value(member<kFirst, kRest...>(spec), key, value);
  };
  return field;
}
/// Returns the same for a member that JSON omits if it has its default value, so that older hashes stay the same.
template <auto kFirst, auto... kRest>
constexpr TrialField to_optional(const char* name) {
  TrialField field = to<kFirst, kRest...>(name);
  const auto optional = optional_field<kFirst, kRest...>(name);
  field.needed = optional.needed;
  field.left_out = optional.left_out;
  return field;
}
/// Returns the same with a function that sets the member.
template <auto kFirst, auto... kRest>
constexpr TrialField to(const char* name, void (*take)(TrialSpec&, const SuiteKey&, const Value&)) {
  TrialField field{json_field<kFirst, kRest...>(name)};
  field.take = take;
  return field;
}

/// Returns a field that sets members which trial.cpp lists.
constexpr TrialField taken(void (*take)(TrialSpec&, const SuiteKey&, const Value&)) {
  TrialField field;
  field.take = take;
  return field;
}

// Set members from keys whose value is not copied as it is.
void take_seed(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_step_rule(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_lr_steps(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_others(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_vector_rate(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_links(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_edges(TrialSpec& spec, const SuiteKey& key, const Value& value);

/// Returns the link of an item of network.links or scenario.links, without a rule that changes it.
NetworkSpec::Link link_of(const Value& table);

}  // namespace hopbench
