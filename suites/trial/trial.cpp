#include "suites/trial/trial.h"

#include <fmt/format.h>

#include "backends/base/error.h"
#include "protocols/node/protocol.h"
#include "suites/trial/trial_json.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hopbench {
namespace {

// Fields of a trial's JSON. Those that one key of a suite sets are in keys.cpp. Hashes depend on the names and values.

constexpr JsonField<ComputeRule> kRule[] = {
    json_field<&ComputeRule::what>("what"),
    json_field<&ComputeRule::ranks>("ranks"),
    json_field<&ComputeRule::factor>("factor"),
    json_field<&ComputeRule::probability>("probability"),
    json_field<&ComputeRule::scale>("scale"),
    json_field<&ComputeRule::shape>("shape"),
    json_field<&ComputeRule::per>("per"),
    json_field<&ComputeRule::slot>("slot"),
    json_field<&ComputeRule::correlated>("correlated"),
    optional_field<&ComputeRule::of>("of"),
    optional_field<&ComputeRule::slow>("slow"),
    optional_field<&ComputeRule::normal>("normal"),
    optional_field<&ComputeRule::digest>("trace"),
    optional_field<&ComputeRule::replay, &TraceReplay::map>("map"),
    optional_field<&ComputeRule::replay, &TraceReplay::end>("end"),
    optional_field<&ComputeRule::replay, &TraceReplay::block>("block"),
    optional_field<&ComputeRule::replay, &TraceReplay::slot>("trace_slot"),
    json_field<&ComputeRule::from>("from"),
    json_field<&ComputeRule::until>("until"),
};

using Link = NetworkSpec::Link;
constexpr JsonField<Link> kLink[] = {
    json_field<&Link::a>("a"),
    json_field<&Link::b>("b"),
    json_field<&Link::bandwidth>("bandwidth"),
    json_field<&Link::latency>("latency"),
    optional_field<&Link::from>("from"),
    optional_field<&Link::until>("until"),
    optional_field<&Link::one_way>("one_way"),
    optional_field<&Link::cut>("cut"),
    optional_field<&Link::rule, &LinkRule::what>("kind"),
    optional_field<&Link::rule, &LinkRule::factor>("factor"),
    optional_field<&Link::rule, &LinkRule::latency_factor>("latency_factor"),
    optional_field<&Link::rule, &LinkRule::slow>("slow"),
    optional_field<&Link::rule, &LinkRule::normal>("normal"),
    optional_field<&Link::rule, &LinkRule::digest>("trace"),
    optional_field<&Link::rule, &LinkRule::replay, &TraceReplay::map>("map"),
    optional_field<&Link::rule, &LinkRule::replay, &TraceReplay::end>("end"),
    optional_field<&Link::rule, &LinkRule::replay, &TraceReplay::slot>("slot"),
};

constexpr JsonField<Fault> kFault[] = {
    json_field<&Fault::what>("what"),   json_field<&Fault::ranks>("ranks"),
    json_field<&Fault::at>("at"),       json_field<&Fault::iteration>("iteration"),
    json_field<&Fault::lasts>("lasts"), json_field<&Fault::a>("a"),
    json_field<&Fault::b>("b"),
};

constexpr JsonField<Bucket> kBucket[] = {
    json_field<&Bucket::offset>("offset"),
    json_field<&Bucket::size>("size"),
    json_field<&Bucket::done_at>("done_at"),
};

constexpr JsonField<OtherBackend> kOther[] = {
    json_field<&OtherBackend::backend>("backend"),
    json_field<&OtherBackend::ranks>("ranks"),
};

constexpr auto kWork = &TrialSpec::workload;
constexpr auto kScenario = &TrialSpec::scenario;

constexpr JsonField<TrialSpec> kRest[] = {
    json_field<&TrialSpec::suite>("suite"),
    json_field<&TrialSpec::measure>("measure"),
    json_field<&TrialSpec::scenario_name>("scenario_name"),
    json_field<&TrialSpec::protocol>("protocol"),
    json_field<&TrialSpec::label>("label"),
    json_field<&TrialSpec::what>("what"),
    json_field<kWork, &WorkloadSpec::dataset>("dataset"),
    optional_field<kWork, &WorkloadSpec::others>("others"),
    optional_field<kWork, &WorkloadSpec::profile>("profile"),
    json_field<kWork, &WorkloadSpec::workers>("workers"),
    optional_field<kWork, &WorkloadSpec::without>("without"),
    optional_field<kWork, &WorkloadSpec::numbers>("numbers"),
    json_field<kWork, &WorkloadSpec::seed>("workload_seed"),
    json_field<kWork, &WorkloadSpec::repeat>("workload_repeat"),
    json_field<kScenario, &Scenario::name>("scenario"),
    json_field<kScenario, &Scenario::compute>("compute"),
    optional_field<kScenario, &Scenario::links>("scenario_links"),
    optional_field<kScenario, &Scenario::faults>("scenario_faults"),
    json_field<&TrialSpec::network, &NetworkSpec::host_of>("host_of"),
    optional_field<&TrialSpec::network, &NetworkSpec::rack_of>("rack_of"),
    json_field<&TrialSpec::instant_network>("instant_network"),
    optional_field<&TrialSpec::emulate>("emulate"),
    json_field<&TrialSpec::stop, &StopSpec::kind>("stop"),
    json_field<&TrialSpec::stop, &StopSpec::amount>("amount"),
    json_field<&TrialSpec::pace>("pace"),
    json_field<&TrialSpec::costs, &Costs::gradient>("cost"),
    json_field<&TrialSpec::repeat>("repeat"),
    json_field<&TrialSpec::warmup>("warmup"),
    json_field<&TrialSpec::evaluations>("evaluations"),
    json_field<&TrialSpec::shuffle>("shuffle"),
};

// Fields that are not part of the hash.
constexpr JsonField<TrialSpec> kLimits[] = {
    json_field<&TrialSpec::order>("order"),
    json_field<&TrialSpec::row_order>("place"),
    json_field<&TrialSpec::step_p99>("step_p99"),
    json_field<&TrialSpec::strands>("strands"),
    json_field<&TrialSpec::events>("events"),
    json_field<&TrialSpec::sim_threads>("sim_threads"),
    optional_field<kScenario, &Scenario::traces>("traces"),
};

const std::vector<JsonField<TrialSpec>>& settings_of_keys() {
  static const std::vector<JsonField<TrialSpec>> fields = fields_of_keys(false);
  return fields;
}
const std::vector<JsonField<TrialSpec>>& limits_of_keys() {
  static const std::vector<JsonField<TrialSpec>> fields = fields_of_keys(true);
  return fields;
}

OrderedJson knobs_json(const KnobValues& knobs) {
  OrderedJson j = OrderedJson::object();
  for (const auto& [name, value] : knobs.all()) {
    OrderedJson& to = j[name];
    std::visit([&to](const auto& v) { to = v; }, value);
  }
  return j;
}

KnobValue knob_from(const OrderedJson& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  return j.get<std::string>();
}

// Returns everything that makes the trial what it is, for its hash.
OrderedJson identity(const TrialSpec& spec) {
  OrderedJson j = OrderedJson::object();
  write_fields(kRest, spec, j);
  write_fields(settings_of_keys(), spec, j);
  j["knobs"] = knobs_json(spec.knobs);
  return j;
}

}  // namespace

std::span<const JsonField<ComputeRule>> json_fields_of(const ComputeRule*) { return kRule; }
std::span<const JsonField<Link>> json_fields_of(const Link*) { return kLink; }
std::span<const JsonField<Fault>> json_fields_of(const Fault*) { return kFault; }
std::span<const JsonField<Bucket>> json_fields_of(const Bucket*) { return kBucket; }
std::span<const JsonField<OtherBackend>> json_fields_of(const OtherBackend*) { return kOther; }

TrialSpec TrialSpec::of_everybody() const {
  TrialSpec spec = *this;
  spec.workload.workers = workload.everybody();
  spec.workload.without.clear();
  return spec;
}

std::string TrialSpec::id() const {
  return fmt::format("{}/{}/{}/{}/{}/{}", suite, measure, scenario_name, label, seed, repeat);
}

std::string TrialSpec::hash() const {
  const std::string text = nlohmann::json(identity(*this)).dump();  // keys sorted, reals in the fewest digits
  return fmt::format("{:016x}", XXH64(text.data(), text.size(), 0));
}

OrderedJson encode(const TrialSpec& spec) {
  OrderedJson j = identity(spec);
  write_fields(kLimits, spec, j["limits"]);
  write_fields(limits_of_keys(), spec, j["limits"]);
  return j;
}

void decode(const OrderedJson& j, TrialSpec& spec) {
  read_fields(kRest, j, spec);
  read_fields(settings_of_keys(), j, spec);
  read_fields(kLimits, field_of(j, "limits"), spec);
  read_fields(limits_of_keys(), field_of(j, "limits"), spec);
  spec.scenario.open_traces();
  const std::vector<Knob>& knobs = find_protocol(spec.protocol).knobs;
  spec.knobs = KnobValues(knobs);
  for (const auto& [name, value] : field_of(j, "knobs").items()) spec.knobs.set(knobs, name, knob_from(value));
}

std::string to_json(const TrialSpec& spec) { return encode(spec).dump(); }

TrialSpec trial_from_json(const std::string& text) {
  const auto none = [](const std::string& why) {
    return usage_error(
        fmt::format("a trial's description cannot be read: {}: was it written by another version?", why));
  };
  try {
    TrialSpec spec;
    decode(OrderedJson::parse(text), spec);
    return spec;
  } catch (const OrderedJson::exception& error) {
    throw none(json_mistake(error));
  } catch (const Error& error) {
    throw none(error.what());
  }
}

}  // namespace hopbench
