// A member of TrialSpec: its name in a trial's JSON, and how the value of a suite's key gets there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/base/json_fields.h"
#include "suites/document.h"
#include "suites/trial.h"

namespace hopbench {

struct SuiteKey;

// trial.cpp
OrderedJson encode(const TrialSpec& spec);
void decode(const OrderedJson& j, TrialSpec& spec);
std::span<const JsonField<ComputeRule>> json_fields_of(const ComputeRule*);
std::span<const JsonField<NetworkSpec::Link>> json_fields_of(const NetworkSpec::Link*);
std::span<const JsonField<Fault>> json_fields_of(const Fault*);
std::span<const JsonField<OtherBackend>> json_fields_of(const OtherBackend*);

struct TrialField : JsonField<TrialSpec> {
  /// Whether a trial is the same without it: it is no part of the hash.
  bool limit = false;
  /// Takes over the value of a key that was checked; nullptr: what the member is follows from several keys
  /// (expand.cpp).
  void (*take)(TrialSpec&, const SuiteKey&, const Value&) = nullptr;

  constexpr TrialField as_limit() const {
    TrialField field = *this;
    field.limit = true;
    return field;
  }
};

// What a key's value is in a TrialSpec, of values that were checked.
double real_value(const SuiteKey& key, const Value& value);  // of a rate: bytes/s
std::int64_t time_value(const Value& value);                 // ns
int choice_value(const SuiteKey& key, const Value& value);   // which of the key's names it is, from 0

/// The plain copy.
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
    constexpr std::int64_t kMost = sizeof(T) < sizeof(std::int64_t) ? 1 << 30 : INT64_MAX;  // leaves room to count on
    to = static_cast<T>(std::min(value.integer, kMost));
  }
}

/// A key's member of TrialSpec: to<&TrialSpec::workload, &WorkloadSpec::batch>("batch").
template <auto kFirst, auto... kRest>
constexpr TrialField to(const char* name) {
  TrialField field{json_field<kFirst, kRest...>(name)};
  field.take = [](TrialSpec& spec, const SuiteKey& key, const Value& value) {
    copy_value(member<kFirst, kRest...>(spec), key, value);
  };
  return field;
}
/// The same of a value that is no plain copy.
template <auto kFirst, auto... kRest>
constexpr TrialField to(const char* name, void (*take)(TrialSpec&, const SuiteKey&, const Value&)) {
  TrialField field{json_field<kFirst, kRest...>(name)};
  field.take = take;
  return field;
}

/// A key that several members of TrialSpec follow from, which are listed in trial.cpp.
constexpr TrialField taken(void (*take)(TrialSpec&, const SuiteKey&, const Value&)) {
  TrialField field;
  field.take = take;
  return field;
}

// Keys whose value is no plain copy.
void take_seed(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_step_rule(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_lr_steps(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_others(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_vector_rate(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_links(TrialSpec& spec, const SuiteKey& key, const Value& value);
void take_edges(TrialSpec& spec, const SuiteKey& key, const Value& value);

/// NetworkSpec::Link of an item of network.links or scenario.links.
NetworkSpec::Link link_of(const Value& table);

}  // namespace hopbench
