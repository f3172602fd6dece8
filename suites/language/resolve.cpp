// Writes the suite as it will run, with every default and override, as TOML that gives the same trials again.
#include <algorithm>

#include <fmt/format.h>

#include "backends/base/text.h"
#include "suites/language/draft.h"
#include "suites/language/network_presets.h"

namespace hopbench {
namespace {

std::string line(const std::string& key, const std::string& value) { return fmt::format("{} = {}\n", key, value); }

std::string sections_text(const Layer& layer) {
  std::string text, open;
  for (const SuiteKey& key : suite_keys()) {
    const auto found = layer.find(key.path);
    if (found == layer.end() || !is_section_key(key)) continue;
    const std::string path = key.path;
    const std::string section = path.substr(0, path.find('.'));
    if (section != open) text += fmt::format("\n[{}]\n", section);
    open = section;
    text += line(path.substr(section.size() + 1), to_toml(found->second));
  }
  return text;
}

bool names_preset(const Draft& draft) {
  const auto has = [](const Layer& layer) { return layer.contains("network.preset"); };
  return has(own_keys(draft, nullptr, {})) ||
         std::any_of(draft.measures.begin(), draft.measures.end(),
                     [&](const MeasureDraft& measure) { return has(own_keys(draft, &measure, {})); }) ||
         std::any_of(draft.axes.begin(), draft.axes.end(),
                     [](const Axis& axis) { return axis.path == "network.preset"; });
}

/// Returns effective(), for a suite that is read again. If presets are named anywhere, it leaves out their keys unless
/// they are the suite's own. Written out, one preset's keys would outlast it where a measure or a point names another.
Layer to_be_written(const Draft& draft, const MeasureDraft* measure) {
  Layer layer = effective(draft, measure, {});
  if (!names_preset(draft)) return layer;
  const Layer own = own_keys(draft, measure, {});
  for (const NetworkPreset& preset : network_presets())
    for (const PresetValue& is : preset.values)
      if (!own.contains(is.path)) layer.erase(is.path);
  return layer;
}

// Returns how the suite was tuned; "" if it was not.
std::string tuning_text(const Layer& tuning) {
  std::string text;
  for (const auto& [path, value] : tuning) text += line(last_part(path), to_toml(value));
  return text.empty() ? text : "\n[tuning]\n" + text;
}

std::string variant_text(const Draft& draft, const VariantDraft& variant) {
  std::string text = "\n[[protocol]]\n" + line("name", toml_text(std::string(variant.protocol->name))) +
                     line("label", toml_text(variant.label));
  if (!variant.without.empty()) text += line("without", fmt::format("[{}]", fmt::join(variant.left_out(), ", ")));
  for (const auto& [name, value] : variant.knobs.all()) text += line(toml_key(name), knob_toml(value));
  for (const auto& [path, value] : variant.optimizer) {
    if (!optimizer_key_is_forced(draft, path)) text += line(path, to_toml(value));
  }
  return text;
}

// Returns a rule of the list at `path` with the defaults of what it leaves out, and the digest of its trace.
std::string rule_text(const Value& rule, const std::string& path) {
  Value whole = rule;
  const Entry* per = rule.find("per");
  const bool by_time = per != nullptr && per->value.text == "time";
  Mistakes none;
  for (const std::string& name : children(path)) {
    const SuiteKey* key = find_key(path + "." + name);
    const bool has_default = key->fallback != nullptr && *key->fallback != '\0';
    if (!has_default || rule.find(name) != nullptr || (name == "slot" && !by_time)) continue;
    whole.entries.push_back({name, rule.place, *parse_value(key->fallback, rule.place, none)});
  }
  const std::string digest = trace_digest(rule);
  if (!digest.empty() && rule.find("digest") == nullptr)
    whole.entries.push_back({"digest", rule.place, text_value(digest, rule.place)});
  return to_toml(whole);
}

std::string scenario_text(const ScenarioDraft& scenario) {
  const auto list = [](const std::vector<Value>& rules, const std::string& path) {
    std::vector<std::string> texts;
    for (const Value& rule : rules) texts.push_back(rule_text(rule, path));
    return "[" + join(texts, ", ") + "]";
  };
  return "\n[[scenario]]\n" + line("name", toml_text(scenario.name)) +
         line("compute", list(scenario.rules, "scenario.compute")) +
         line("links", list(scenario.links, "scenario.links")) +
         (scenario.faults.empty() ? "" : line("faults", list(scenario.faults, "scenario.faults")));
}

std::string measure_text(const Draft& draft, const MeasureDraft& measure, const Layer& sections) {
  const bool convergence = measure.what == MeasureKind::kConvergence;
  std::vector<std::string> scenarios, protocols;
  for (const ScenarioDraft* scenario : scenarios_of(draft, measure)) scenarios.push_back(toml_text(scenario->name));
  for (const VariantDraft* variant : variants_of(draft, measure)) protocols.push_back(toml_text(variant->label));
  std::string text = "\n[[measure]]\n" + line("what", convergence ? "\"convergence\"" : "\"rate\"") +
                     line("name", toml_text(measure.name)) + line("scenarios", "[" + join(scenarios, ", ") + "]");
  if (!measure.protocols.empty()) text += line("protocols", "[" + join(protocols, ", ") + "]");
  Layer layer = to_be_written(draft, &measure);
  if (Value& points = layer.at("run.evaluations"); points.is(Value::Type::kText))  // "auto" depends on the measure
    points = integer_value(default_evaluations(measure.what), points.place);
  for (const SuiteKey& key : suite_keys()) {
    const auto own = layer.find(key.path);
    const auto common = sections.find(key.path);
    if (own == layer.end()) continue;
    const std::string value = to_toml(own->second);
    if (common == sections.end() || value != to_toml(common->second)) text += line(key.path, value);
  }
  return text;
}

}  // namespace

std::string knob_toml(const KnobValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  if (const double* real = std::get_if<double>(&value)) return toml_real(*real);
  return toml_text(std::get<std::string>(value));
}

std::string resolved_toml(const Draft& draft) {
  Layer sections = to_be_written(draft, nullptr);
  if (sections.count("run.reference") == 0)
    sections["run.reference"] = text_value(draft.variants.front().label, draft.place);
  std::string text = line("schema", "1") + line("name", toml_text(draft.name)) +
                     line("summary", toml_text(draft.summary)) + line("tuned", draft.tuned ? "true" : "false") +
                     sections_text(sections) + tuning_text(draft.tuning);
  for (const VariantDraft& variant : draft.variants) text += variant_text(draft, variant);
  for (const ScenarioDraft& scenario : draft.scenarios) text += scenario_text(scenario);
  for (const MeasureDraft& measure : draft.measures) text += measure_text(draft, measure, sections);
  std::string matrix;
  for (const Axis& axis : draft.axes) {
    if (axis.path.empty()) continue;
    Value values;
    values.type = Value::Type::kArray;
    values.items = axis.values;
    matrix += line(toml_key(axis.path), to_toml(values));
  }
  return matrix.empty() ? text : text + "\n[matrix]\n" + matrix;
}

}  // namespace hopbench
