#include "suites/language/trial_field.h"

#include "suites/language/draft.h"
#include "suites/language/keys.h"

namespace hopbench {

std::vector<JsonField<TrialSpec>> fields_of_keys(bool limits) {
  std::vector<JsonField<TrialSpec>> fields;
  for (const SuiteKey& key : suite_keys()) {
    if (key.field.name != nullptr && key.field.limit == limits) fields.push_back(key.field);
  }
  return fields;
}

double real_value(const SuiteKey& key, const Value& value) {
  return key.type == KeyType::kRate ? rate_of(value) : value.as_real();
}

std::int64_t time_value(const Value& value) { return duration_of(value); }

int choice_value(const SuiteKey& key, const Value& value) {
  const std::vector<std::string> names = key.choices();
  return static_cast<int>(std::find(names.begin(), names.end(), value.text) - names.begin());
}

void take_seed(TrialSpec& spec, const SuiteKey&, const Value& value) {
  spec.seed = spec.workload.seed = std::uint64_t(value.integer);
}

void take_step_rule(TrialSpec& spec, const SuiteKey&, const Value& value) {
  spec.optimizer.per_sample = value.text == "per_sample";
}

void take_lr_steps(TrialSpec& spec, const SuiteKey&, const Value& value) {
  for (const Value& step : value.items) {
    spec.optimizer.steps.emplace_back(step.find("iteration")->value.as_real(),
                                      float(step.find("factor")->value.as_real()));
  }
}

void take_others(TrialSpec& spec, const SuiteKey&, const Value& value) {
  for (const Value& other : value.items) {
    OtherBackend& added = spec.workload.others.emplace_back();
    added.backend = other.find("backend")->value.text;
    for (const Value& rank : other.find("ranks")->value.items) added.ranks.push_back(int(rank.integer));
  }
}

void take_vector_rate(TrialSpec& spec, const SuiteKey& key, const Value& value) {
  spec.costs.vector_bytes_per_s = rate_of(value);
  // A name of a device is the user's choice, even if it means the default rate.
  spec.default_vector_rate = value.number() && spec.costs.vector_bytes_per_s == rate_of(default_layer().at(key.path));
}

void take_links(TrialSpec& spec, const SuiteKey&, const Value& value) {
  for (const Value& item : value.items) spec.network.links.push_back(link_of(item));
}

void take_edges(TrialSpec& spec, const SuiteKey&, const Value& value) {
  for (const Value& edge : value.items) spec.edges.emplace_back(int(edge.items[0].integer), int(edge.items[1].integer));
}

NetworkSpec::Link link_of(const Value& table) {
  NetworkSpec::Link link;
  link.a = int(table.find("a")->value.integer);
  if (const Entry* b = table.find("b")) link.b = int(b->value.integer);
  if (const Entry* bandwidth = table.find("bandwidth")) link.bandwidth = rate_of(bandwidth->value);
  if (const Entry* latency = table.find("latency")) link.latency = Duration(duration_of(latency->value));
  if (const Entry* one_way = table.find("one_way")) link.one_way = one_way->value.flag;
  if (const Entry* from = table.find("from")) link.from = Time(Duration(duration_of(from->value)));
  if (const Entry* until = table.find("until")) link.until = Time(Duration(duration_of(until->value)));
  return link;
}

}  // namespace hopbench
