#include "results/arithmetic/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/base/record/kinds.h"

namespace hopbench {
namespace {

using Trials = std::vector<const TrialRow*>;

Group make_group(Trials trials, const std::string& reference) {
  std::sort(trials.begin(), trials.end(), [](const TrialRow* a, const TrialRow* b) {
    const auto key = [](const TrialRow* r) {
      return std::tie(r->labels.row_order, r->labels.seed, r->labels.repeat, r->labels.order);
    };
    return key(a) < key(b);
  });
  const TrialLabels& labels = trials.front()->labels;
  Group group{labels.suite, labels.measure, labels.scenario, reference, {}};
  for (const TrialRow* row : trials) {
    auto place = std::find_if(group.variants.begin(), group.variants.end(),
                              [&](const Variant& v) { return v.name == row->labels.variant; });
    if (place == group.variants.end()) place = group.variants.insert(place, Variant{row->labels.variant, {}});
    place->trials.push_back(row);
  }
  return group;
}

Trials ok_of(const Trials& trials) {
  Trials list;
  for (const TrialRow* row : trials) {
    if (row->record.status == TrialStatus::kOk) list.push_back(row);
  }
  return list;
}

bool without_window(const TrialRow& row) { return has(row.record.warnings, WarningKind::kNoSteadyWindow); }

}  // namespace

Trials Variant::ok() const { return ok_of(trials); }

Trials Group::trials() const {
  Trials list;
  for (const Variant& variant : variants) list.insert(list.end(), variant.trials.begin(), variant.trials.end());
  return list;
}

const Variant* Group::find(const std::string& name) const {
  const auto hit = std::find_if(variants.begin(), variants.end(), [&](const Variant& v) { return v.name == name; });
  return hit == variants.end() ? nullptr : &*hit;
}

std::string Group::title() const { return fmt::format("{} / {} / {}", suite, measure, scenario); }

std::string Group::in_words() const {
  return fmt::format("suite {}, measure {}, scenario {}", suite, measure, scenario);
}

std::vector<Group> groups_of(std::span<const TrialRow> rows, const std::string& reference) {
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, Trials> by_key;
  std::map<Key, int> first;
  for (const TrialRow& row : rows) {
    const Key key{row.labels.suite, row.labels.measure, row.labels.what, row.labels.scenario};
    by_key[key].push_back(&row);
    const auto known = first.try_emplace(key, row.labels.order).first;
    known->second = std::min(known->second, row.labels.order);
  }
  std::vector<Key> keys;
  for (const auto& [key, trials] : by_key) keys.push_back(key);
  std::stable_sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) { return first.at(a) < first.at(b); });
  std::vector<Group> groups;
  for (const Key& key : keys) groups.push_back(make_group(by_key.at(key), reference));
  return groups;
}

Trials in_table_order(std::span<const TrialRow> rows) {
  Trials ordered;
  for (const Group& group : groups_of(rows, "")) {
    for (const TrialRow* row : group.trials()) ordered.push_back(row);
  }
  return ordered;
}

bool mostly_without_window(const Trials& trials) {
  const Trials ok = ok_of(trials);
  const auto without = std::count_if(ok.begin(), ok.end(), [](const TrialRow* row) { return without_window(*row); });
  return 2 * std::size_t(without) > ok.size();
}

bool have_alike_windows(const TrialRow& a, const TrialRow& b) { return without_window(a) == without_window(b); }

}  // namespace hopbench
