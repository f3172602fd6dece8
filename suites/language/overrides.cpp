// Changes of a suite from outside its sections: the matrix, profiles, and the command line.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backends/base/printable.h"
#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

// Limits measures x points. The user's patience limits a run, not this constant. It keeps a slip in [matrix] from
// filling the memory, of which each takes some 50 kB.
constexpr double kMostConfigurations = 2000;

using Parts = std::vector<std::string>;
using T = Value::Type;

void set_scenario(ScenarioDraft& scenario, const Parts& rest, const Entry& entry, Mistakes& mistakes) {
  const std::string name = join(rest, ".");
  const auto list = std::find_if(scenario_lists().begin(), scenario_lists().end(),
                                 [&](const ScenarioList& known) { return known.name == name; });
  if (list == scenario_lists().end())
    return mistakes.add(entry.place, unknown("key", name, {"compute", "links", "faults"}, "of a scenario"));
  Layer layer;
  std::set<std::string> bad;
  read_key(entry, list->path(), "", layer, bad, mistakes);
  if (layer.empty()) return;
  scenario.*list->items = layer.begin()->second.items;
  list->check(scenario.*list->items, mistakes);
}

/// Returns the draft with that name. Adds a mistake and returns nullptr if there is none.
template <class Drafts>
auto* find_named(Drafts& drafts, std::string Drafts::value_type::*member, const char* what, const std::string& name,
                 const Entry& entry, Mistakes& mistakes) {
  auto* const found = named(drafts, name, member);
  if (found == nullptr) mistakes.add(entry.place, unknown(what, name, names_in(drafts, member)));
  return found;
}

// Sets protocol.LABEL.KNOB, scenario.NAME.compute, .links or .faults, or measure.NAME.KEY.
void override_block(Draft& draft, const Parts& parts, const Entry& entry, Mistakes& mistakes) {
  const Parts rest(parts.begin() + 2, parts.end());
  if (parts[0] == "protocol") {
    if (VariantDraft* variant = find_named(draft.variants, &VariantDraft::label, "label", parts[1], entry, mistakes))
      set_variant(*variant, rest, entry, mistakes);
  } else if (parts[0] == "scenario") {
    ScenarioDraft* scenario = find_named(draft.scenarios, &ScenarioDraft::name, "scenario", parts[1], entry, mistakes);
    if (scenario != nullptr) set_scenario(*scenario, rest, entry, mistakes);
  } else if (MeasureDraft* measure =
                 find_named(draft.measures, &MeasureDraft::name, "measure", parts[1], entry, mistakes)) {
    MeasureDraft fresh;
    read_measure_key(fresh, rest, entry, draft.bad, mistakes);
    if (!fresh.scenarios.empty()) measure->scenarios = fresh.scenarios;
    if (!fresh.protocols.empty()) measure->protocols = fresh.protocols;
    for (const auto& [path, value] : fresh.overrides) draft.forced.push_back({measure->name, path, value});
  }
}

// Removes the axis of a section's key that is given one value from outside.
void drop_axis(Draft& draft, const std::string& path) {
  std::erase_if(draft.axes, [&](const Axis& axis) { return axis.path == path; });
}

void drop_axis(Draft& draft, const std::string& variant, const Parts& parts) {
  std::erase_if(draft.axes, [&](const Axis& axis) { return axis.variant == variant && axis.parts == parts; });
}

bool check_axis_values(const Draft& draft, const Axis& axis, const std::string& name, const Entry& entry,
                       Mistakes& mistakes) {
  bool good = true;
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    const Value& value = axis.values[i];
    if (!axis.path.empty()) {
      good = check_value(*find_key(axis.path), value, mistakes) && good;
    } else {
      VariantDraft copy = *named(draft.variants, axis.variant, &VariantDraft::label);
      set_variant(copy, axis.parts, {axis.parts.back(), entry.place, value}, mistakes);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (value.type != axis.values[j].type || value.is(T::kOther) || to_toml(value) != to_toml(axis.values[j]))
        continue;
      mistakes.add(value.place, "{} is twice in the matrix at '{}'", to_toml(value), name);
      good = false;
    }
  }
  return good;
}

void add_axis(Draft& draft, const Parts& parts, const Entry& entry, Mistakes& mistakes) {
  const std::string name = join(parts, ".");
  Axis axis;
  axis.place = entry.place;
  if (!entry.value.is(T::kArray) || entry.value.items.empty())
    return mistakes.add(entry.value.place, "'{}' in [matrix] must be a list of values", name);
  axis.values = entry.value.items;
  if (parts[0] == "protocol" && parts.size() > 2) {
    axis.variant = parts[1];
    axis.parts = Parts(parts.begin() + 2, parts.end());
    if (find_named(draft.variants, &VariantDraft::label, "label", axis.variant, entry, mistakes) == nullptr) return;
  } else {
    axis.path = resolve_key(parts);
    if (axis.path.empty()) return mistakes.add(entry.place, unknown("key", name, override_names(), "in [matrix]"));
    if (is_of_whole_suite(axis.path))
      return mistakes.add(entry.place, "'{}' is the same for the whole suite: it can't be in [matrix]", name);
  }
  axis.path.empty() ? drop_axis(draft, axis.variant, axis.parts) : drop_axis(draft, axis.path);
  for (Value& value : axis.values)
    if (!axis.path.empty()) each_file(*find_key(axis.path), value, [](Value& file) { file.locate(); });
  if (check_axis_values(draft, axis, name, entry, mistakes)) draft.axes.push_back(std::move(axis));
}

void override_key(Draft& draft, const Parts& parts, const Entry& entry, Mistakes& mistakes) {
  if (mistakes.enough()) return;
  static const Parts kBlocks = {"protocol", "scenario", "measure"};
  if (parts[0] == "matrix" && parts.size() > 1)
    return add_axis(draft, Parts(parts.begin() + 1, parts.end()), entry, mistakes);
  if (std::find(kBlocks.begin(), kBlocks.end(), parts[0]) != kBlocks.end()) {
    if (parts.size() < 3)
      return mistakes.add(entry.place, "'{}' says too little: write {}.NAME.KEY", join(parts, "."), parts[0]);
    if (parts[0] == "protocol") drop_axis(draft, parts[1], Parts(parts.begin() + 2, parts.end()));
    return override_block(draft, parts, entry, mistakes);
  }
  const std::string path = resolve_key(parts);
  if (path.empty()) return mistakes.add(entry.place, unknown("key", join(parts, "."), override_names()));
  Layer layer;
  read_key(entry, path, "", layer, draft.bad, mistakes);
  for (const auto& [found, value] : layer) {
    drop_axis(draft, found);
    draft.forced.push_back({"", found, value});
  }
}

// Flattens overrides, which may be nested or dotted, quoted or not: [profile.quick.run] world_size, "run.world_size".
template <class Apply>
void flatten(const Entry& entry, Parts parts, Mistakes& mistakes, const Apply& apply) {
  const bool name = parts.size() == 1 && (parts[0] == "protocol" || parts[0] == "scenario" || parts[0] == "measure");
  if (name) {
    parts.push_back(entry.key);
  } else {
    const std::optional<Parts> more = split_key(entry.key);
    if (!more) return mistakes.add(entry.place, "'{}' is not a dotted key", entry.key);
    parts.insert(parts.end(), more->begin(), more->end());
  }
  if (!entry.value.is(T::kTable)) return apply(parts, entry);
  for (const Entry& inner : entry.value.entries) flatten(inner, parts, mistakes, apply);
}

void apply_profile(Draft& draft, const Value& profile, Mistakes& mistakes) {
  // A value for one measure wins over a value for all measures, so it is applied later.
  for (const bool of_measures : {false, true}) {
    for (const Entry& entry : profile.entries) {
      flatten(entry, {}, mistakes, [&](const Parts& parts, const Entry& leaf) {
        if ((parts[0] == "measure") == of_measures) override_key(draft, parts, leaf, mistakes);
      });
    }
  }
}

void apply_profiles(Draft& draft, const Value& root, const std::string& chosen, Mistakes& mistakes) {
  std::vector<std::string> names;
  if (const Entry* profiles = root.find("profile")) {
    for (const Entry& profile : profiles->value.entries) {
      names.push_back(profile.key);
      if (!profile.value.is(T::kTable)) {
        mistakes.add(profile.place, "'profile.{}' must be a table", profile.key);
      } else if (profile.key != chosen) {
        Draft unused = draft;
        apply_profile(unused, profile.value, mistakes);
      } else {
        apply_profile(draft, profile.value, mistakes);
      }
    }
    if (!profiles->value.is(T::kTable)) mistakes.add(profiles->place, "'profile' must be a table: [profile.NAME]");
  }
  if (!chosen.empty() && std::find(names.begin(), names.end(), chosen) == names.end())
    mistakes.add({"--profile " + quotable(chosen), 0, 0}, unknown("profile", chosen, names));
}

// Returns the position of the first '=' outside of quotes.
std::size_t equals_sign(const std::string& set) {
  char quote = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (quote != 0) {
      if (set[i] == quote) quote = 0;
    } else if (set[i] == '"' || set[i] == '\'') {
      quote = set[i];
    } else if (set[i] == '=') {
      return i;
    }
  }
  return std::string::npos;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

void apply_set(Draft& draft, const std::string& set, Mistakes& mistakes) {
  const SourceLocation place{"--set " + quotable(set), 0, 0};
  const std::size_t equals = equals_sign(set);
  if (equals == std::string::npos) return mistakes.add(place, "there is no '=': write --set key=VALUE");
  const std::string key = trimmed(set.substr(0, equals));
  const std::optional<Parts> parts = split_key(key);
  if (!parts) return mistakes.add(place, "'{}' is not a dotted key such as model.batch", quotable(key));
  const std::optional<Value> value = parse_value(trimmed(set.substr(equals + 1)), place, mistakes);
  if (!value) return;
  const Entry entry{parts->back(), place, *value};
  if (!value->is(T::kTable)) return override_key(draft, *parts, entry, mistakes);
  for (const Entry& inner : value->entries)
    flatten(inner, *parts, mistakes,
            [&](const Parts& p, const Entry& leaf) { override_key(draft, p, leaf, mistakes); });
}

}  // namespace

void apply_overrides(Draft& draft, const Value& root, const SuiteOptions& options, Mistakes& mistakes) {
  if (const Entry* matrix = root.find("matrix")) {
    if (!matrix->value.is(T::kTable)) mistakes.add(matrix->place, "'matrix' must be a table: [matrix]");
    for (const Entry& entry : matrix->value.entries)
      flatten(entry, {}, mistakes,
              [&](const Parts& parts, const Entry& leaf) { add_axis(draft, parts, leaf, mistakes); });
  }
  apply_profiles(draft, root, options.profile, mistakes);
  for (const std::string& set : options.sets) apply_set(draft, set, mistakes);
  if (options.seed) apply_set(draft, fmt::format("run.seed={}", *options.seed), mistakes);
  if (options.repeats) apply_set(draft, fmt::format("run.repeats={}", *options.repeats), mistakes);
  double points = 1;
  for (const Axis& axis : draft.axes) points *= double(axis.values.size());
  if (points * double(std::max<std::size_t>(1, draft.measures.size())) <= kMostConfigurations) return;
  mistakes.add(draft.axes.empty() ? draft.place : draft.axes.front().place,
               "{} measures at {} points of the matrix are more than {} settings: fewer values in "
               "[matrix], or several suites",
               draft.measures.size(), points, kMostConfigurations);
  draft.axes.clear();
  draft.measures.resize(1);
}

}  // namespace hopbench
