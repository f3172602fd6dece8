#include <algorithm>

#include <fmt/format.h>

#include "suites/language/draft.h"
#include "suites/language/network_presets.h"

namespace hopbench {
namespace {

constexpr const char* kStops[] = {"run.samples", "run.epochs", "run.iterations", "run.seconds"};

const Value* find(const Layer& layer, const char* path) {
  const auto found = layer.find(path);
  return found == layer.end() ? nullptr : &found->second;
}

// Returns a matrix value as part of a measure's or a variant's name.
std::string name_of(const Value& value) {
  std::string name = value.type == Value::Type::kText ? value.text : to_toml(value);
  std::replace(name.begin(), name.end(), '/', '_');  // ids are divided by it
  return name;
}

}  // namespace

const Layer& default_layer() {
  static const Layer layer = [] {
    Layer defaults;
    Mistakes mistakes;
    for (const SuiteKey& key : suite_keys()) {
      if (!is_section_key(key) || key.fallback == nullptr || *key.fallback == '\0') continue;
      const std::optional<Value> value = parse_value(key.fallback, {}, mistakes);
      HB_ASSERT_MSG(value && check_value(key, *value, mistakes), key.path);
      (defaults[key.path] = *value).is_default = true;
    }
    return defaults;
  }();
  return layer;
}

void lay(Layer& base, const Layer& over) {
  if (std::any_of(std::begin(kStops), std::end(kStops), [&](const char* stop) { return find(over, stop) != nullptr; }))
    for (const char* stop : kStops) base.erase(stop);

  const Value* pace = find(over, "compute.pace");
  if (pace != nullptr && is_time(*pace)) base.erase("compute.cost");
  const Value* old_pace = find(base, "compute.pace");
  if (const Value* cost = find(over, "compute.cost"); cost != nullptr && old_pace != nullptr && is_time(*old_pace))
    base["compute.pace"] = text_value("auto", cost->place);

  const Value* name = find(over, "topology.name");
  const Value* edges = find(over, "topology.edges");
  if (name != nullptr && name->text != "edges") base.erase("topology.edges");
  if (edges != nullptr) base["topology.name"] = text_value("edges", edges->place);

  for (const auto& [path, value] : over) base[path] = value;
}

Layer own_keys(const Draft& draft, const MeasureDraft* measure, const Layer& point) {
  Layer own = draft.sections;
  if (measure != nullptr) lay(own, measure->overrides);
  for (const Override& forced : draft.forced) {
    const bool applies = forced.measure.empty() || (measure != nullptr && forced.measure == measure->name);
    if (applies) lay(own, {{forced.path, forced.value}});
  }
  lay(own, point);
  return own;
}

Layer effective(const Draft& draft, const MeasureDraft* measure, const Layer& point) {
  const Layer own = own_keys(draft, measure, point);
  Layer layer = default_layer();
  if (const Value* preset = find(own, "network.preset")) {
    for (auto [path, value] : preset_layer(preset->text)) {
      value.place = preset->place;  // a mistake that follows from it is the preset's
      layer[path] = value;
    }
  }
  lay(layer, own);
  return layer;
}

std::vector<Point> points_of(const Draft& draft) {
  std::vector<Point> points = {{}};
  for (const Axis& axis : draft.axes) {
    if (axis.path.empty()) continue;
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const Value& value : axis.values) {
        Point next = point;
        next.values[axis.path] = value;
        next.suffix += fmt::format(" {}={}", axis.path, name_of(value));
        longer.push_back(std::move(next));
      }
    }
    points = std::move(longer);
  }
  return points;
}

void multiply_variants(Draft& draft, Mistakes& mistakes) {
  for (const Axis& axis : draft.axes) {
    if (axis.variant.empty()) continue;
    const std::string end = axis.parts.back();
    std::vector<VariantDraft> all;
    for (const VariantDraft& variant : draft.variants) {
      if (variant.written_label != axis.variant) {
        all.push_back(variant);
        continue;
      }
      for (const Value& value : axis.values) {
        VariantDraft next = variant;
        set_variant(next, axis.parts, {end, axis.place, value}, mistakes);
        next.label += fmt::format(" {}={}", end, name_of(value));
        all.push_back(std::move(next));
      }
    }
    draft.variants = std::move(all);
  }
}

}  // namespace hopbench
