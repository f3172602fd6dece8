#include "suites/trial/trial.h"

#include <map>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "protocols/node/protocol.h"
#include "suites/trial/trial_json.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hopbench {
namespace {

// Fields of a trial's JSON. Keys of a suite name the fields that they set. Hashes depend on the names and values.

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
constexpr auto kOptimizer = &TrialSpec::optimizer;
constexpr auto kNetwork = &TrialSpec::network;
constexpr auto kCosts = &TrialSpec::costs;

constexpr JsonField<TrialSpec> kSettings[] = {
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
    json_field<kNetwork, &NetworkSpec::host_of>("host_of"),
    optional_field<kNetwork, &NetworkSpec::rack_of>("rack_of"),
    json_field<&TrialSpec::instant_network>("instant_network"),
    optional_field<&TrialSpec::emulate>("emulate"),
    json_field<&TrialSpec::stop, &StopSpec::kind>("stop"),
    json_field<&TrialSpec::stop, &StopSpec::amount>("amount"),
    json_field<&TrialSpec::pace>("pace"),
    json_field<kCosts, &Costs::gradient>("cost"),
    json_field<&TrialSpec::repeat>("repeat"),
    json_field<&TrialSpec::warmup>("warmup"),
    json_field<&TrialSpec::evaluations>("evaluations"),
    json_field<&TrialSpec::shuffle>("shuffle"),
    json_field<&TrialSpec::seed>("seed"),
    json_field<&TrialSpec::warmup_time>("warmup_time"),
    optional_field<&TrialSpec::shuffles>("shuffles"),
    json_field<kWork, &WorkloadSpec::evaluation_samples>("evaluation_samples"),
    json_field<&TrialSpec::target_loss>("target_loss"),
    json_field<&TrialSpec::target_hold>("target_hold"),
    optional_field<&TrialSpec::target_model>("target_model"),
    json_field<kWork, &WorkloadSpec::model>("model"),
    json_field<kWork, &WorkloadSpec::dataset_path>("dataset_path"),
    json_field<kWork, &WorkloadSpec::batch>("batch"),
    json_field<kWork, &WorkloadSpec::split, &SplitSpec::what>("split"),
    json_field<kWork, &WorkloadSpec::split, &SplitSpec::alpha>("split_alpha"),
    json_field<kWork, &WorkloadSpec::split, &SplitSpec::shards_per_worker>("split_shards_per_worker"),
    json_field<kWork, &WorkloadSpec::split, &SplitSpec::feature>("split_feature"),
    json_field<kWork, &WorkloadSpec::augment>("augment"),
    json_field<kWork, &WorkloadSpec::size>("size"),
    optional_field<kCosts, &Costs::wire_bytes>("wire_bytes"),
    json_field<kWork, &WorkloadSpec::statistics>("statistics"),
    optional_field<kOptimizer, &OptimizerSpec::kind>("optimizer"),
    json_field<kOptimizer, &OptimizerSpec::lr>("lr"),
    json_field<kOptimizer, &OptimizerSpec::momentum>("momentum"),
    json_field<kOptimizer, &OptimizerSpec::weight_decay>("weight_decay"),
    json_field<kOptimizer, &OptimizerSpec::nesterov>("nesterov"),
    optional_field<kOptimizer, &OptimizerSpec::beta1>("beta1"),
    optional_field<kOptimizer, &OptimizerSpec::beta2>("beta2"),
    optional_field<kOptimizer, &OptimizerSpec::epsilon>("epsilon"),
    json_field<kOptimizer, &OptimizerSpec::per_sample>("per_sample"),
    json_field<kOptimizer, &OptimizerSpec::steps>("lr_steps"),
    json_field<kOptimizer, &OptimizerSpec::warmup>("lr_warmup"),
    json_field<kOptimizer, &OptimizerSpec::cosine>("lr_cosine"),
    json_field<kOptimizer, &OptimizerSpec::lr_batch>("lr_batch"),
    json_field<kOptimizer, &OptimizerSpec::clip>("clip"),
    json_field<kWork, &WorkloadSpec::backend>("backend"),
    json_field<kWork, &WorkloadSpec::precision>("precision"),
    json_field<kWork, &WorkloadSpec::deterministic>("deterministic"),
    json_field<kWork, &WorkloadSpec::ipc>("lend"),
    json_field<kWork, &WorkloadSpec::threads>("threads"),
    json_field<kCosts, &Costs::vector_bytes_per_s>("vector_bytes_per_s"),
    json_field<kCosts, &Costs::saturation>("saturation"),
    optional_field<&TrialSpec::noise>("noise"),
    optional_field<&TrialSpec::monitor, &LoadMonitor::noise>("load_noise"),
    optional_field<&TrialSpec::monitor, &LoadMonitor::delay>("load_delay"),
    json_field<&TrialSpec::transport>("transport"),
    json_field<&TrialSpec::interface>("interface"),
    optional_field<&TrialSpec::eager_bytes>("eager_bytes"),
    json_field<kNetwork, &NetworkSpec::latency>("latency"),
    json_field<kNetwork, &NetworkSpec::bandwidth>("bandwidth"),
    json_field<kNetwork, &NetworkSpec::overhead>("overhead"),
    json_field<kNetwork, &NetworkSpec::overhead_rate>("overhead_rate"),
    json_field<kNetwork, &NetworkSpec::processors>("processors"),
    json_field<kNetwork, &NetworkSpec::jitter>("jitter"),
    optional_field<&TrialSpec::loss>("message_loss"),
    optional_field<kNetwork, &NetworkSpec::goodput>("goodput"),
    optional_field<kNetwork, &NetworkSpec::queue>("queue"),
    optional_field<kNetwork, &NetworkSpec::burst>("burst"),
    optional_field<kNetwork, &NetworkSpec::rendezvous_bytes>("rendezvous_bytes"),
    json_field<kNetwork, &NetworkSpec::packet_bytes>("packet_bytes"),
    optional_field<kNetwork, &NetworkSpec::servers_apart>("servers_apart"),
    optional_field<kNetwork, &NetworkSpec::uplink>("uplink"),
    json_field<kNetwork, &NetworkSpec::local_latency>("local_latency"),
    json_field<kNetwork, &NetworkSpec::local_bandwidth>("local_bandwidth"),
    json_field<kNetwork, &NetworkSpec::links>("links"),
    json_field<&TrialSpec::topology>("topology"),
    json_field<&TrialSpec::edges>("edges"),
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
    json_field<&TrialSpec::remeasure>("remeasure"),
    json_field<&TrialSpec::rendezvous_timeout>("rendezvous_timeout"),
    json_field<&TrialSpec::stall_timeout>("stall_timeout"),
    json_field<&TrialSpec::trial_timeout>("trial_timeout"),
};

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
  write_fields(kSettings, spec, j);
  j["knobs"] = knobs_json(spec.knobs);
  return j;
}

}  // namespace

std::span<const JsonField<ComputeRule>> json_fields_of(const ComputeRule*) { return kRule; }
std::span<const JsonField<Link>> json_fields_of(const Link*) { return kLink; }
std::span<const JsonField<Fault>> json_fields_of(const Fault*) { return kFault; }
std::span<const JsonField<Bucket>> json_fields_of(const Bucket*) { return kBucket; }
std::span<const JsonField<OtherBackend>> json_fields_of(const OtherBackend*) { return kOther; }

const JsonField<TrialSpec>& trial_field(const std::string& name) {
  static const std::map<std::string, const JsonField<TrialSpec>*> fields = [] {
    std::map<std::string, const JsonField<TrialSpec>*> all;
    for (const auto& field : kSettings) all[field.name] = &field;
    for (const auto& field : kLimits) all[field.name] = &field;
    return all;
  }();
  return *fields.at(name);
}

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
  return j;
}

void decode(const OrderedJson& j, TrialSpec& spec) {
  read_fields(kSettings, j, spec);
  read_fields(kLimits, field_of(j, "limits"), spec);
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
