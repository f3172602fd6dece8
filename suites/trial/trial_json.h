// The fields of a trial, as its JSON has them. A suite's key names the field that it sets.
#pragma once

#include <span>
#include <string>

#include "backends/base/json_fields.h"
#include "suites/trial/trial.h"

namespace hopbench {

OrderedJson encode(const TrialSpec& spec);
void decode(const OrderedJson& j, TrialSpec& spec);
std::span<const JsonField<ComputeRule>> json_fields_of(const ComputeRule*);
std::span<const JsonField<NetworkSpec::Link>> json_fields_of(const NetworkSpec::Link*);
std::span<const JsonField<Fault>> json_fields_of(const Fault*);
std::span<const JsonField<OtherBackend>> json_fields_of(const OtherBackend*);

/// Returns the field with this name, which must exist.
const JsonField<TrialSpec>& trial_field(const std::string& name);

}  // namespace hopbench
