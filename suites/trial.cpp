#include "suites/trial.h"

#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>

#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "protocols/protocol.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hopbench {
namespace {

using nlohmann::json;

// One list of fields serves both ways: `Out` reads them into JSON, `In` sets them from it.
class Out {
 public:
  explicit Out(json& to) : to_(to) {}
  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      to_[name] = static_cast<int>(value);
    } else {
      to_[name] = value;
    }
  }
  void operator()(const char* name, const Duration& value) { to_[name] = value.count(); }
  void operator()(const char* name, const Time& value) { to_[name] = value.time_since_epoch().count(); }
  /// Not there where it is the fallback: so a trial without it is the trial that it was before there was such a thing.
  template <class T>
  void unless(const T& fallback, const char* name, const T& value) {
    if (value != fallback) (*this)(name, value);
  }
  template <class T, class Fields>
  void list(const char* name, T& items, const Fields& fields) {
    to_[name] = json::array();
    for (auto& item : items) {
      json j = json::object();
      Out out(j);
      fields(out, item);
      to_[name].push_back(std::move(j));
    }
  }

 private:
  json& to_;
};

class In {
 public:
  explicit In(const json& from) : from_(from) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(read<int>(name));
    } else {
      value = read<T>(name);
    }
  }
  void operator()(const char* name, Duration& value) { value = Duration(read<Duration::rep>(name)); }
  void operator()(const char* name, Time& value) { value = Time(Duration(read<Duration::rep>(name))); }
  template <class T>
  void unless(const T& fallback, const char* name, T& value) {
    value = fallback;
    if (from_.contains(name)) (*this)(name, value);
  }
  template <class T, class Fields>
  void list(const char* name, std::vector<T>& items, const Fields& fields) {
    items.clear();
    if (!from_.contains(name)) return;
    for (const json& j : from_.at(name)) {
      In in(j);
      fields(in, items.emplace_back());
    }
  }

 private:
  template <class T>
  T read(const char* name) const {
    T value{};
    try {
      read_value(from_.at(name), value);
    } catch (const Error& error) {
      throw usage_error(fmt::format("a trial whose '{}' is none: {}", name, error.what()));
    }
    return value;
  }
  const json& from_;
};

// T is TrialSpec or const TrialSpec.
template <class Visit, class T>
void names(Visit& visit, T& spec) {
  visit("suite", spec.suite);
  visit("measure", spec.measure);
  visit("scenario_name", spec.scenario_name);
  visit("protocol", spec.protocol);
  visit("label", spec.label);
  visit("what", spec.what);
}

template <class Visit, class T>
void workload(Visit& visit, T& spec) {
  visit("model", spec.model);
  visit("dataset", spec.dataset);
  visit("dataset_path", spec.dataset_path);
  visit("batch", spec.batch);
  visit("split", spec.split.what);
  visit("split_alpha", spec.split.alpha);
  visit("split_shards_per_worker", spec.split.shards_per_worker);
  visit("split_feature", spec.split.feature);
  visit("augment", spec.augment);
  visit("backend", spec.backend);
  if (std::is_same_v<Visit, In> || !spec.others.empty()) {
    visit.list("others", spec.others, [](auto& inner, auto& other) {
      inner("backend", other.backend);
      inner("ranks", other.ranks);
    });
  }
  visit("precision", spec.precision);
  visit("deterministic", spec.deterministic);
  visit("lend", spec.lend);
  visit("threads", spec.threads);
  visit("workers", spec.workers);
  visit("workload_seed", spec.seed);
  visit("workload_repeat", spec.repeat);
  visit("size", spec.size);
  visit("statistics", spec.statistics);
  visit("evaluation_samples", spec.evaluation_samples);
}

template <class Visit, class T>
void optimizer(Visit& visit, T& spec) {
  visit("lr", spec.lr);
  visit("momentum", spec.momentum);
  visit("weight_decay", spec.weight_decay);
  visit("nesterov", spec.nesterov);
  visit("lr_steps", spec.steps);
  visit("lr_warmup", spec.warmup);
  visit("lr_cosine", spec.cosine);
  visit("lr_batch", spec.lr_batch);
  visit("clip", spec.clip);
  visit("per_sample", spec.per_sample);
}

template <class Visit, class T>
void link_fields(Visit& visit, T& link) {
  visit("a", link.a);
  visit("b", link.b);
  visit("bandwidth", link.bandwidth);
  visit("latency", link.latency);
  visit.unless(Time{}, "from", link.from);
  visit.unless(kNever, "until", link.until);
  visit.unless(false, "one_way", link.one_way);
  visit.unless(false, "cut", link.cut);
}

template <class Visit, class T>
void scenario(Visit& visit, T& spec) {
  visit("scenario", spec.name);
  visit.list("compute", spec.compute, [](auto& inner, auto& rule) {
    inner("what", rule.what);
    inner("ranks", rule.ranks);
    inner("factor", rule.factor);
    inner("probability", rule.probability);
    inner("scale", rule.scale);
    inner("shape", rule.shape);
    inner("per", rule.per);
    inner("slot", rule.slot);
    inner("correlated", rule.correlated);
    inner("from", rule.from);
    inner("until", rule.until);
  });
  if (std::is_same_v<Visit, In> || !spec.links.empty())
    visit.list("scenario_links", spec.links, [](auto& inner, auto& link) { link_fields(inner, link); });
  if (std::is_same_v<Visit, In> || !spec.faults.empty()) {
    visit.list("scenario_faults", spec.faults, [](auto& inner, auto& fault) {
      inner("what", fault.what);
      inner("ranks", fault.ranks);
      inner("at", fault.at);
      inner("iteration", fault.iteration);
      inner("lasts", fault.lasts);
      inner("a", fault.a);
      inner("b", fault.b);
    });
  }
}

template <class Visit, class T>
void network(Visit& visit, T& spec) {
  visit("latency", spec.latency);
  visit("bandwidth", spec.bandwidth);
  visit("packet_bytes", spec.packet_bytes);
  visit("local_latency", spec.local_latency);
  visit("local_bandwidth", spec.local_bandwidth);
  visit("overhead", spec.overhead);
  visit("overhead_rate", spec.overhead_rate);
  visit("processors", spec.processors);
  visit("jitter", spec.jitter);
  visit("host_of", spec.host_of);
  visit.list("links", spec.links, [](auto& inner, auto& link) { link_fields(inner, link); });
}

template <class Visit, class T>
void settings(Visit& visit, T& spec) {
  workload(visit, spec.workload);
  optimizer(visit, spec.optimizer);
  visit("topology", spec.topology);
  visit("edges", spec.edges);
  scenario(visit, spec.scenario);
  visit("transport", spec.transport);
  network(visit, spec.network);
  visit("instant_network", spec.instant_network);
  visit.unless(false, "emulate", spec.emulate);
  visit("stop", spec.stop.kind);
  visit("amount", spec.stop.amount);
  visit("pace", spec.pace);
  visit("cost", spec.costs.gradient);
  visit("vector_bytes_per_s", spec.costs.vector_bytes_per_s);
  visit("saturation", spec.costs.saturation);
  visit("seed", spec.seed);
  visit("repeat", spec.repeat);
  visit("warmup", spec.warmup);
  visit("warmup_time", spec.warmup_time);
  visit("evaluations", spec.evaluations);
  visit("target_loss", spec.target_loss);
  visit("target_hold", spec.target_hold);
  visit("interface", spec.interface);
  visit("shuffle", spec.shuffle);
}

// What does not say which trial it is: limits, how the simulation is run, its place in the run, measured figures.
template <class Visit, class T>
void limits(Visit& visit, T& spec) {
  visit("order", spec.order);
  visit("place", spec.place);
  visit("step_p99", spec.step_p99);
  visit("rendezvous_timeout", spec.rendezvous_timeout);
  visit("stall_timeout", spec.stall_timeout);
  visit("trial_timeout", spec.trial_timeout);
  visit("remeasure", spec.remeasure);
  visit("strands", spec.strands);
  visit("sim_threads", spec.sim_threads);
  visit("events", spec.events);
}

json knobs_json(const KnobValues& knobs) {
  json j = json::object();
  for (const auto& [name, value] : knobs.all()) {
    json& to = j[name];
    std::visit([&to](const auto& v) { to = v; }, value);
  }
  return j;
}

KnobValue knob_from(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  return j.get<std::string>();
}

// Everything that makes the trial what it is.
json identity(const TrialSpec& spec) {
  json j = json::object();
  Out out(j);
  names(out, spec);
  settings(out, spec);
  j["knobs"] = knobs_json(spec.knobs);
  return j;
}

}  // namespace

std::string TrialSpec::id() const {
  return fmt::format("{}/{}/{}/{}/{}/{}", suite, measure, scenario_name, label, seed, repeat);
}

std::string TrialSpec::hash() const {
  const std::string text = identity(*this).dump();  // keys sorted, reals in the fewest digits: one text a trial
  return fmt::format("{:016x}", XXH64(text.data(), text.size(), 0));
}

std::string to_json(const TrialSpec& spec) {
  json j = identity(spec);
  Out out(j["limits"]);
  limits(out, spec);
  return j.dump();
}

TrialSpec trial_from_json(const std::string& text) {
  try {
    const json j = json::parse(text);
    TrialSpec spec;
    In in(j);
    names(in, spec);
    settings(in, spec);
    In in_limits(j.at("limits"));
    limits(in_limits, spec);
    const std::vector<Knob>& knobs = find_protocol(spec.protocol).knobs;
    spec.knobs = KnobValues(knobs);
    for (const auto& [name, value] : j.at("knobs").items()) spec.knobs.set(knobs, name, knob_from(value));
    return spec;
  } catch (const json::exception& error) {
    throw usage_error(fmt::format("a trial's description cannot be read: {}: was it written by another version?",
                                  json_mistake(error)));
  }
}

}  // namespace hopbench
