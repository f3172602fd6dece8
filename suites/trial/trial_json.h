// A trial as JSON.
#pragma once

#include <span>
#include <vector>

#include "backends/base/json_fields.h"
#include "suites/trial/trial.h"

namespace hopbench {

OrderedJson encode(const TrialSpec& spec);
void decode(const OrderedJson& j, TrialSpec& spec);
std::span<const JsonField<ComputeRule>> json_fields_of(const ComputeRule*);
std::span<const JsonField<NetworkSpec::Link>> json_fields_of(const NetworkSpec::Link*);
std::span<const JsonField<Fault>> json_fields_of(const Fault*);
std::span<const JsonField<OtherBackend>> json_fields_of(const OtherBackend*);

/// Returns the fields that keys of a suite set, as the list of all keys names them (suites/language/keys.cpp): those
/// that are not part of the hash if `limits` is true, else the others.
std::vector<JsonField<TrialSpec>> fields_of_keys(bool limits);

}  // namespace hopbench
