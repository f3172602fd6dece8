#include "suites/language/only_with.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "models/workload.h"

namespace hopbench {
namespace {

using Here = Circumstances;

bool is(const Value* value, const char* text) { return value != nullptr && value->text == text; }
bool is(const Here& here, const char* path, const char* text) { return is(&here.c->at(path), text); }

template <auto kOne>
bool no(const Here& here) {
  return !kOne(here);
}
template <auto... kSome>
bool any(const Here& here) {
  return (kSome(here) || ...);
}

// Conditions on tables of a scenario.
bool draws(const Here& here) { return here.rule != SlowdownKind::kTrace && here.rule != SlowdownKind::kMarkov; }
bool draws_at_times(const Here& here) {
  return here.rule == SlowdownKind::kConstant || is(here.in_item("per"), "time");
}
bool is_trace(const Here& here) { return here.rule == SlowdownKind::kTrace; }
bool per_time(const Here& here) { return is(here.in_item("per"), "time"); }
bool of_gradients(const Here& here) { return is(here.in_item("of"), "gradients"); }
bool by_rank(const Here& here) { return is(here.in_item("correlated"), "rank"); }
bool from_begin(const Here& here) { return duration_of(*here.in_item("from")) == 0; }
bool draws_blocks(const Here& here) {
  const Value* map = here.in_item("map");
  return map != nullptr && map->text != "fixed";
}
bool no_trace(const Here& here) { return here.trace == nullptr; }
bool of_seconds(const Here& here) { return here.trace != nullptr && here.trace->kind() == Trace::Kind::kSteps; }
bool has_file(const Here& here) { return is(here.in_item("kind"), "leave") && here.in_item("file") != nullptr; }
bool has_restart(const Here& here) { return here.in_item("restart") != nullptr; }

// Conditions on sections.
const ModelEntry& model_of(const Here& here) { return find_model(here.c->at("model.name").text); }
bool timing_only(const Here& here) { return is(here, "model.name", "timing_only"); }
bool quadratic(const Here& here) { return is(here, "model.name", "quadratic"); }
bool has_profile(const Here& here) { return here.c->has("model.profile"); }
bool reads_data(const Here& here) { return model_of(here).create != nullptr; }
bool is_sparse(const Here& here) { return model_of(here).sparse_rows; }
bool has_racks(const Here& here) { return here.c->has("network.racks"); }
bool has_uplink(const Here& here) { return rate_of(here.c->at("network.uplink")) > 0; }
bool is_fifo(const Here& here) { return is(here, "network.queue", "fifo"); }
bool is_virtual(const Here& here) { return is(here, "transport.name", "sim"); }
bool is_emulated(const Here& here) { return here.c->at("network.emulate").flag; }
bool varies_queue(const Here& here) {
  return std::any_of(here.draft->axes.begin(), here.draft->axes.end(),
                     [](const Axis& axis) { return axis.path == "network.queue"; });
}
bool is_adamw(const Here& here) {
  return optimizer_value(*here.draft, *here.c, *here.variant, "optimizer.name").text == "adamw";
}

struct OnlyWith {
  const char* path;
  bool (*allowed)(const Here& here);
  const char* with;  // ends "'slot' is only allowed ..."
};

constexpr const char* kFactors =
    "with a trace of factors (rank,time,factor): one of seconds replaces the pace in the whole trial";
constexpr const char* kNoFile = "without 'file', which has all absences";
constexpr const char* kBlocks = "with a map that draws blocks, which \"fixed\" does not";
constexpr const char* kFixed = "with map = \"fixed\": blocks are drawn without end";
constexpr const char* kAdamW = "with optimizer adamw: leave it out, or set name = \"adamw\"";

constexpr OnlyWith kKeys[] = {
    {"model.profile", timing_only, "with model timing_only"},
    {"model.size", any<timing_only, quadratic, has_profile>, "with models timing_only and quadratic"},
    {"model.augment", any<reads_data, has_profile>, "with a model that reads data"},
    {"model.wire_bytes", no<is_sparse>, "with a model whose gradients are dense"},
    {"run.epochs", any<reads_data, has_profile>,
     "with a model that reads data; for others use 'samples' or 'iterations'"},

    {"optimizer.momentum", no<is_adamw>, "with optimizer sgd; for adamw use 'beta1'. Leave it out, or set it to 0"},
    {"optimizer.nesterov", no<is_adamw>, "with optimizer sgd: leave it out, or set it to false"},
    {"optimizer.beta1", is_adamw, kAdamW},
    {"optimizer.beta2", is_adamw, kAdamW},
    {"optimizer.epsilon", is_adamw, kAdamW},

    {"network.racks", has_uplink, "with 'uplink': give its bandwidth"},
    {"network.uplink", has_racks, "with 'racks': say which host is in which rack"},
    {"network.burst", any<is_fifo, varies_queue>, "with queue = \"fifo\""},
    {"network.jitter", no<is_fifo>, "with queue = \"fair\": leave out one of them"},
    {"network.queue", any<is_virtual, no<is_emulated>>, "in virtual time: emulated links share fairly"},

    {"scenario.compute.per", any<draws, no<per_time>>,
     "with rules that draw for each iteration or slot, which trace and markov do not"},
    {"scenario.compute.slot", any<per_time, is_trace>, "with per = \"time\", or with a trace"},
    {"scenario.compute.slot", no<of_seconds>,
     "with a trace of factors (rank,time,factor); for a trace of seconds use 'block'"},
    {"scenario.compute.slot", any<no_trace, of_seconds, draws_blocks>, kBlocks},
    {"scenario.compute.block", any<no_trace, of_seconds>,
     "with a trace of seconds (rank,step,seconds); for a trace of factors use 'slot'"},
    {"scenario.compute.block", any<no<of_seconds>, draws_blocks>, kBlocks},
    {"scenario.compute.end", no<draws_blocks>, kFixed},
    {"scenario.compute.scale", any<no_trace, of_seconds>, "with a trace of seconds: this one has factors"},
    {"scenario.compute.of", any<of_gradients, no<draws>, draws_at_times>,
     "with a draw by time, since servers have no iterations: set per = \"time\""},
    {"scenario.compute.of", any<of_gradients, no<of_seconds>>,
     "with a trace of factors (rank,time,factor), since servers have no steps"},
    {"scenario.compute.correlated", any<by_rank, no<is_trace>>,
     "with rules that draw: the 'map' of a trace says which workers share a draw"},
    {"scenario.compute.from", any<no<of_seconds>, from_begin>, kFactors},
    {"scenario.compute.until", no<of_seconds>, kFactors},

    {"scenario.links.slot", any<no_trace, draws_blocks>, kBlocks},
    {"scenario.links.end", no<draws_blocks>, kFixed},

    {"scenario.faults.ranks", no<has_file>, kNoFile},
    {"scenario.faults.at", no<has_file>, kNoFile},
    {"scenario.faults.lasts", no<has_file>, kNoFile},
    {"scenario.faults.iteration", no<has_file>, kNoFile},
    {"scenario.faults.iteration", no<has_restart>, "without 'restart', which needs a time: give 'at' instead"},
    {"scenario.faults.checkpoint", has_restart, "with 'restart', the time that a restart takes"},
};

bool are_equal(const Value& a, const Value& b) {
  return a.number() && b.number() ? a.as_real() == b.as_real() : to_toml(a) == to_toml(b);
}

/// Returns "'slot'", or "of = \"all\"" for a key whose values are names.
std::string subject(const std::string& path, const Value& value) {
  const bool named = find_key(path)->type == KeyType::kName;
  return named ? last_part(path) + " = " + to_toml(value) : "'" + last_part(path) + "'";
}

}  // namespace

const Value* Circumstances::in_item(const std::string& key) const {
  const Entry* entry = item->find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Value* Circumstances::given(const std::string& path) const {
  if (item != nullptr) return in_item(last_part(path));
  const Value* value = c->find(path);
  if (variant != nullptr) {
    value = &optimizer_value(*draft, *c, *variant, path.c_str());
    // Values of [optimizer] are for all variants, so they are no mistake where a variant has an optimizer of its own.
    const bool common = value == &c->at(path);
    if (common && &optimizer_value(*draft, *c, *variant, "optimizer.name") != &c->at("optimizer.name")) return nullptr;
  }
  const auto usual = default_layer().find(path);
  const bool is_usual = value != nullptr && usual != default_layer().end() && are_equal(*value, usual->second);
  return is_usual ? nullptr : value;  // a resolved suite has every key
}

void check_allowed(std::string_view path, const Circumstances& here, Mistakes& mistakes) {
  for (const OnlyWith& key : kKeys) {
    const std::string_view own = key.path;
    if (path.ends_with('.') ? !own.starts_with(path) : own != path) continue;
    const Value* value = here.given(key.path);
    if (value == nullptr || key.allowed(here)) continue;
    const SourceLocation& place = here.item != nullptr ? here.item->find(last_part(key.path))->place : value->place;
    mistakes.add(place, "{} is only allowed {}", subject(key.path, *value), key.with);
  }
}

const ItemKind* kind_among(const std::vector<ItemKind>& kinds, const Value& item) {
  const Entry* name = item.find("kind");
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const ItemKind& k) { return name && name->value.text == k.name; });
  return found == kinds.end() ? nullptr : &*found;
}

void check_kind(const Value& item, const std::vector<ItemKind>& kinds, const char* thing, Mistakes& mistakes) {
  const ItemKind* const own = kind_among(kinds, item);
  std::vector<std::string> keys;
  if (own != nullptr) {
    for (const std::string& need : own->needs)
      if (item.find(need) == nullptr) mistakes.add(item.place, "a {}{} needs '{}'", own->name, thing, need);
    keys = own->needs;
    keys.insert(keys.end(), own->may.begin(), own->may.end());
  }
  for (const Entry& entry : item.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    std::vector<std::string> having;
    for (const ItemKind& kind : kinds) {
      const bool needs = std::find(kind.needs.begin(), kind.needs.end(), entry.key) != kind.needs.end();
      if (needs || std::find(kind.may.begin(), kind.may.end(), entry.key) != kind.may.end())
        having.push_back(kind.name);
    }
    if (having.empty()) continue;  // all kinds have it
    mistakes.add(entry.place, "'{}' is only allowed with kind {}{}", entry.key, listed(having),
                 own == nullptr ? "" : fmt::format("; a {}{} has {}", own->name, thing, join(keys, ", ")));
  }
}

}  // namespace hopbench
