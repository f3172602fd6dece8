// Turns the values of a document into a Draft: sections, variants, scenarios and measures, each checked by itself.
#include <algorithm>

#include <fmt/format.h>

#include "backends/base/record/kinds.h"
#include "backends/base/text.h"
#include "suites/language/draft.h"

namespace hopbench {
namespace {

using T = Value::Type;

const std::vector<std::string> kNamedBlocks = {"protocol", "scenario", "measure"};

std::optional<KnobValue> knob_value(const Value& value, const KnobValue& fallback) {
  switch (value.type) {
    case T::kBool:
      return value.flag;
    case T::kInteger:
      if (std::holds_alternative<double>(fallback)) return double(value.integer);
      return value.integer;
    case T::kReal:
      return value.real;
    case T::kText:
      return value.text;
    default:
      return std::nullopt;
  }
}

void set_knob(VariantDraft& variant, const std::string& name, const Entry& entry, Mistakes& mistakes) {
  if (mistakes.enough()) return;
  const std::vector<Knob>& knobs = variant.protocol->knobs;
  const auto knob = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& k) { return k.name == name; });
  if (knob == knobs.end()) {
    std::vector<std::string> known = {"label", "optimizer", "without"};
    for (const Knob& k : knobs) known.emplace_back(k.name);
    mistakes.add(entry.place, unknown("key", name, known, fmt::format("of protocol '{}'", variant.protocol->name)));
    return;
  }
  const std::optional<KnobValue> value = knob_value(entry.value, knob->fallback);
  if (!value) {
    mistakes.add(entry.value.place, "'{}' of protocol '{}' can't be {}", name, variant.protocol->name,
                 type_name(entry.value.type));
    return;
  }
  try {
    variant.knobs.set(knobs, name, *value);
  } catch (const Error& error) {
    mistakes.add(entry.value.place, "protocol '{}': {}", variant.protocol->name, error.what());
  }
}

// Calls `read` for each table of a list of them: [[protocol]].
template <class Read>
void for_each_block(const Value& root, const std::string& name, Mistakes& mistakes, const Read& read) {
  const Entry* list = root.find(name);
  if (list == nullptr) return;
  const auto refuse = [&](const SourceLocation& place) {
    mistakes.add(place, "'{}' must be a list of tables: [[{}]]", name, name);
  };
  if (!list->value.is(T::kArray)) return refuse(list->place);
  for (const Value& block : list->value.items) block.is(T::kTable) ? read(block) : refuse(block.place);
}

// Returns the name of the block as written, right or not, so that a wrong name is one mistake and not two.
std::string raw_text(const Value& block, const std::string& name) {
  const Entry* entry = block.find(name);
  return entry == nullptr ? "" : entry->value.text;
}

// Returns the text of a block's key if it has a right one, otherwise "".
std::string text_of(const Value& block, const std::string& list, const std::string& name, Mistakes& mistakes) {
  const Entry* entry = block.find(name);
  const SuiteKey* key = find_key(list + "." + name);
  if (entry == nullptr) {
    if (key->fallback == nullptr)
      mistakes.add(block.place, "'{}' is missing in [[{}]]: {}", name, list, type_text(*key));
    return "";
  }
  return check_value(*key, entry->value, mistakes) ? entry->value.text : "";
}

/// Refuses a name that another block has.
template <class Drafts>
void refuse_duplicate(const Drafts& drafts, std::string Drafts::value_type::*member, const std::string& name,
                      const char* what, const SourceLocation& place, Mistakes& mistakes) {
  const auto* other = name.empty() ? nullptr : named(drafts, name, member);
  if (other != nullptr)
    mistakes.add(place, "{} '{}' is there twice, first in line {}: give each a {} of its own", what, name,
                 other->place.line, std::string_view(what) == "label" ? what : "name");
}

/// Returns where the block's key is, or the block if it has none.
const SourceLocation& place_in(const Value& block, const char* key) {
  const Entry* entry = block.find(key);
  return entry != nullptr ? entry->place : block.place;
}

void read_variant(Draft& draft, const Value& block, Mistakes& mistakes) {
  VariantDraft variant;
  variant.place = block.place;
  const std::string name = text_of(block, "protocol", "name", mistakes);
  text_of(block, "protocol", "label", mistakes);
  variant.label = raw_text(block, block.find("label") != nullptr ? "label" : "name");
  variant.written_label = variant.label;
  if (!name.empty()) {
    variant.protocol = &find_protocol(name);
    variant.knobs = KnobValues(variant.protocol->knobs);
    for (const Entry& entry : block.entries) {
      if (entry.key != "name" && entry.key != "label") set_variant(variant, {entry.key}, entry, mistakes);
    }
  }
  const SourceLocation& place = place_in(block, block.find("label") != nullptr ? "label" : "name");
  refuse_duplicate(draft.variants, &VariantDraft::label, variant.label, "label", place, mistakes);
  if (variant.label == kIdealRow || variant.label == kSlowestRow || variant.label == kWithoutSlowestRow)
    mistakes.add(place, "'{}' is a row of bounds in every table: take another label", variant.label);
  draft.variants.push_back(std::move(variant));
}

void read_scenario(Draft& draft, const Value& block, Mistakes& mistakes) {
  ScenarioDraft scenario;
  scenario.place = block.place;
  if (block.find("name") == nullptr) text_of(block, "scenario", "name", mistakes);
  scenario.name = raw_text(block, "name");
  Layer layer;
  read_keys(block, "scenario", layer, draft.bad, mistakes);
  for (const ScenarioList& list : scenario_lists()) {
    const auto items = layer.find(list.path());
    if (items == layer.end()) continue;
    list.check(items->second.items, mistakes);
    scenario.*list.items = items->second.items;
  }
  refuse_duplicate(draft.scenarios, &ScenarioDraft::name, scenario.name, "scenario", place_in(block, "name"), mistakes);
  draft.scenarios.push_back(std::move(scenario));
}

void descend(MeasureDraft& measure, std::vector<std::string>& parts, const Entry& entry, std::set<std::string>& bad,
             Mistakes& mistakes) {
  parts.push_back(entry.key);
  if (entry.value.is(T::kTable)) {
    for (const Entry& inner : entry.value.entries) descend(measure, parts, inner, bad, mistakes);
  } else {
    read_measure_key(measure, parts, entry, bad, mistakes);
  }
  parts.pop_back();
}

void read_measure(Draft& draft, const Value& block, Mistakes& mistakes) {
  MeasureDraft measure;
  measure.place = block.place;
  const std::string what = text_of(block, "measure", "what", mistakes);
  measure.what = what == "convergence" ? MeasureKind::kConvergence : MeasureKind::kRate;
  text_of(block, "measure", "name", mistakes);
  measure.name = raw_text(block, block.find("name") != nullptr ? "name" : "what");
  if (measure.name.empty()) measure.name = "rate";
  std::vector<std::string> parts;
  for (const Entry& entry : block.entries) {
    if (entry.key != "what" && entry.key != "name") descend(measure, parts, entry, draft.bad, mistakes);
  }
  refuse_duplicate(draft.measures, &MeasureDraft::name, measure.name, "measure", place_in(block, "name"), mistakes);
  draft.measures.push_back(std::move(measure));
}

void read_top(Draft& draft, const Value& root, Mistakes& mistakes) {
  Layer top;
  for (const Entry& entry : root.entries) {
    const bool elsewhere = entry.key == "matrix" || entry.key == "profile" ||
                           std::find(kNamedBlocks.begin(), kNamedBlocks.end(), entry.key) != kNamedBlocks.end();
    if (elsewhere || mistakes.enough()) continue;
    if (find_key(entry.key) == nullptr && !is_group(entry.key)) {
      std::vector<std::string> known = children("");
      known.insert(known.end(), {"matrix", "profile"});
      mistakes.add(entry.place, unknown(entry.value.is(T::kTable) ? "section" : "key", entry.key, known, "at the top"));
      continue;
    }
    const bool section = find_key(entry.key) == nullptr && entry.key != "tuning";
    Layer& layer = section ? draft.sections : entry.key == "tuning" ? draft.tuning : top;
    read_key(entry, entry.key, "at the top", layer, draft.bad, mistakes);
  }
  if (root.find("schema") == nullptr)
    mistakes.add({draft.file, 1, 1}, "'schema' is missing: write schema = 1 on the first line");
  if (const auto name = top.find("name"); name != top.end()) {
    draft.name = name->second.text;
  } else if (const std::string why = why_no_label(draft.name); !why.empty() && root.find("name") == nullptr) {
    mistakes.add({draft.file, 1, 1},
                 "the suite has no 'name' and its file's name can't stand for it: {}: "
                 "write name = \"...\" at the top",
                 why);
  }
  if (const auto summary = top.find("summary"); summary != top.end()) draft.summary = summary->second.text;
  if (const auto tuned = top.find("tuned"); tuned != top.end()) draft.tuned = tuned->second.flag;
}

std::string stem(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::string bare = name.substr(0, name.rfind('.'));
  return bare.empty() || bare == "-" ? "suite" : bare;
}

constexpr ScenarioList kLists[] = {{"compute", &ScenarioDraft::rules, check_rules},
                                   {"links", &ScenarioDraft::links, check_links},
                                   {"faults", &ScenarioDraft::faults, check_faults}};

}  // namespace

std::span<const ScenarioList> scenario_lists() { return kLists; }

std::vector<int> VariantDraft::left_out() const {
  std::vector<int> ranks;
  for (const Value& rank : without) ranks.push_back(int(rank.integer));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void set_variant(VariantDraft& variant, const std::vector<std::string>& parts, const Entry& entry, Mistakes& mistakes) {
  if (variant.protocol == nullptr) return;
  std::set<std::string> bad;
  if (parts[0] == "optimizer") {
    constexpr const char* kWhere = "in [protocol.optimizer]";
    if (parts.size() > 1 || !entry.value.is(T::kTable))
      return read_key(entry, join(parts, "."), kWhere, variant.optimizer, bad, mistakes);
    for (const Entry& inner : entry.value.entries)
      read_key(inner, "optimizer." + inner.key, kWhere, variant.optimizer, bad, mistakes);
  } else if (parts.size() > 1) {
    mistakes.add(entry.place, "a protocol has no key '{}'", join(parts, "."));
  } else if (parts[0] == "without") {
    if (check_value(*find_key("protocol.without"), entry.value, mistakes)) variant.without = entry.value.items;
  } else {
    set_knob(variant, parts[0], entry, mistakes);
  }
}

void read_measure_key(MeasureDraft& measure, const std::vector<std::string>& parts, const Entry& entry,
                      std::set<std::string>& bad, Mistakes& mistakes) {
  if (mistakes.enough()) return;
  if (parts == std::vector<std::string>{"scenarios"}) {
    if (check_value(*find_key("measure.scenarios"), entry.value, mistakes)) measure.scenarios = entry.value.items;
    return;
  }
  if (parts == std::vector<std::string>{"protocols"}) {
    if (check_value(*find_key("measure.protocols"), entry.value, mistakes)) measure.protocols = entry.value.items;
    return;
  }
  const std::string path = resolve_key(parts);
  if (path.empty()) {
    std::vector<std::string> known = override_names();
    for (const std::string& name : children("measure")) known.push_back(name);
    std::string message = unknown("key", join(parts, "."), known, "in [[measure]]");
    if (join(parts, ".") == "what" || join(parts, ".") == "name")
      message = fmt::format("'{}' of a measure cannot be set from outside: change it in the suite", parts[0]);
    else if (nearest(join(parts, "."), known).empty())
      message = fmt::format(
          "unknown key '{}' in [[measure]]: it takes what, name, scenarios, protocols and any key of the sections",
          join(parts, "."));
    mistakes.add(entry.place, message);
  } else if (is_of_whole_suite(path)) {
    mistakes.add(entry.place, "'{}' is only allowed in [{}]: it is the same for the whole suite", last_part(path),
                 path.substr(0, path.find('.')));
  } else {
    read_key(entry, path, "in [[measure]]", measure.overrides, bad, mistakes);
  }
}

Draft read_draft(const Value& root, const std::string& file, Mistakes& mistakes) {
  Draft draft;
  draft.file = file;
  draft.name = stem(file);
  draft.place = root.find("run") != nullptr ? root.find("run")->place : SourceLocation{file, 1, 1};
  read_top(draft, root, mistakes);
  for_each_block(root, "protocol", mistakes, [&](const Value& block) { read_variant(draft, block, mistakes); });
  for_each_block(root, "scenario", mistakes, [&](const Value& block) { read_scenario(draft, block, mistakes); });
  for_each_block(root, "measure", mistakes, [&](const Value& block) { read_measure(draft, block, mistakes); });
  const Entry* list = root.find("protocol");
  if (list == nullptr || (list->value.is(T::kArray) && list->value.items.empty()))
    mistakes.add(list != nullptr ? list->place : draft.place, "there is no protocol: add a [[protocol]] with a name");
  if (draft.scenarios.empty() && root.find("scenario") == nullptr) draft.scenarios.emplace_back().name = "homogeneous";
  if (draft.measures.empty() && root.find("measure") == nullptr) draft.measures.emplace_back().name = "rate";
  return draft;
}

}  // namespace hopbench
