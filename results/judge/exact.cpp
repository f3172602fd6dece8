#include "results/judge/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "backends/base/record/event.h"
#include "backends/base/text.h"
#include "results/arithmetic/groups.h"
#include "results/files/event_reader.h"
#include "results/files/fields.h"
#include "results/files/record_json.h"

namespace hopbench {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kShown = 6;  // differences of a trial; more of them add nothing

/// Returns "at 0.0125 s rank 2 in iteration 3: wait for 'parameters' since 0.01 s".
std::string in_words(const nlohmann::json& event) {
  const nlohmann::json& iter = event.at("iter");
  const bool of_none = iter.is_number() && iter.get<double>() < 0;  // of a server, for example
  std::string text = fmt::format("at {} s rank {}{}: {}", event.at("t").get<double>() / 1e9, event.at("rank").dump(),
                                 of_none ? "" : " in iteration " + iter.dump(), event.value("what", ""));
  if (event.contains("text")) text += fmt::format(" '{}'", event.at("text").get<std::string>());
  for (const auto& [name, value] : event.items()) {
    if (name == "t" || name == "rank" || name == "iter" || name == "what" || name == "text") continue;
    text += name == "since" ? fmt::format(" since {} s", value.get<double>() / 1e9)
                            : fmt::format(" {} {}", name, value.dump());
  }
  return text;
}

std::string in_words(const std::optional<std::string>& line) {
  if (!line) return "the log ends";
  try {
    if (!too_deep(*line)) return in_words(nlohmann::json::parse(*line));
  } catch (const nlohmann::json::exception&) {  // not JSON, or not the JSON of an event
  }
  return "a damaged line (" + line->substr(0, 40) + ")";
}

void flatten(const OrderedJson& value, const std::string& path, const std::set<std::string>& without, Cells& fields) {
  if (value.is_object()) {
    for (const auto& [name, inside] : value.items()) {
      if (!without.contains(name)) flatten(inside, path.empty() ? name : path + "." + name, without, fields);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) flatten(value[i], fmt::format("{}[{}]", path, i), without, fields);
  } else {
    fields.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

std::vector<std::string> differences_of(const TrialRow& base, const TrialRow& head) {
  const bool values = base.labels.backend == "reference";
  Cells before = exact_fields(base.record, values), after = exact_fields(head.record, values);
  const auto leave_out = [&](const char* name) {
    for (Cells* fields : {&before, &after})
      std::erase_if(*fields, [&](const auto& field) { return field.first == name; });
  };
  // An older row has no such field to compare with.
  if (base.record.window_ideal_samples_per_s < 0) leave_out("window_ideal_samples_per_s");
  if (base.record.samples_heard_per_s < 0) leave_out("samples_heard_per_s");
  const std::map<std::string, std::string> a(before.begin(), before.end()), b(after.begin(), after.end());
  std::vector<std::string> differences;
  const auto at = [](const std::map<std::string, std::string>& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string("none") : found->second;
  };
  const auto look = [&](const std::string& name) {
    if (at(a, name) != at(b, name))
      differences.push_back(fmt::format("{}: base {}, head {}", name, at(a, name), at(b, name)));
  };
  for (const auto& [name, value] : before) look(name);
  for (const auto& [name, value] : after) {
    if (!a.contains(name)) look(name);
  }
  if (differences.size() > kShown) {
    const std::size_t more = differences.size() - kShown;
    differences.resize(kShown);
    differences.push_back(fmt::format("and {} more", more));
  }
  return differences;
}

/// Returns the labels of settings that differ: ": base sgd, lr 0.05, head sgd, lr 0.04"; "" if none does.
std::string changed_labels(const TrialRow& base, const TrialRow& head) {
  static constexpr std::string TrialLabels::*kSettings[] = {
      &TrialLabels::backend, &TrialLabels::transport, &TrialLabels::model,   &TrialLabels::dataset,
      &TrialLabels::split,   &TrialLabels::topology,  &TrialLabels::network, &TrialLabels::optimizer};
  std::string text;
  for (const auto setting : kSettings) {
    const std::string &a = base.labels.*setting, &b = head.labels.*setting;
    if (a != b) text += fmt::format("{} base {}, head {}", text.empty() ? ":" : ";", a, b);
  }
  return text;
}

bool shows_a_message(const std::string& line) {
  for (int k = 0; k <= static_cast<int>(EventKind::kFault); ++k) {
    const auto kind = static_cast<EventKind>(k);
    if (of_a_message(kind) && line.find(fmt::format(R"("what":"{}")", to_string(kind))) != std::string::npos)
      return true;
  }
  return false;
}

/// Returns the value of --events that the results show: "none", "all", "brief"; "" if the log is not kept.
std::string events_of(const RunFolder& folder, const TrialRow& row) {
  if (row.record.path.empty()) return "none";
  EventLines log(find_event_log(folder, row.record.id));
  if (!log.there()) return "";
  while (const std::optional<std::string> line = log.next()) {
    if (shows_a_message(*line)) return "all";
  }
  return "brief";
}

/// Returns "made with --events brief, the baseline with --events all"; "" if they are alike.
std::string other_events(const RunFolder& base_folder, const TrialRow& base, const RunFolder& head_folder,
                         const TrialRow& head) {
  const std::string before = events_of(base_folder, base), after = events_of(head_folder, head);
  if (before == after || before.empty() || after.empty()) return "";
  return fmt::format("made with --events {}, the baseline with --events {}: run it with that again", after, before);
}

/// Returns the row of a trial; its times are NaN on the side where it is not there.
GateRow row_of(const std::string& trial, Verdict verdict, double base_s, double head_s) {
  return {.name = trial,
          .metric = "exact",
          .verdict = verdict,
          .n = 1,
          .base = base_s,
          .head = head_s,
          .speed_up = base_s / head_s};
}

GateRow compare_trial(const RunFolder& base_folder, const TrialRow& base, const RunFolder& head_folder,
                      const TrialRow& head) {
  const std::string& trial = base.record.id;
  GateRow row = row_of(trial, Verdict::kNoChange, base.record.time_s, head.record.time_s);
  if (base.record.hash != head.record.hash) {
    row.verdict = Verdict::kIncomparable;
    row.notes = {"its settings are not those that it had in the baseline" + changed_labels(base, head)};
    return row;
  }
  if (head.record.status != TrialStatus::kOk && base.record.status == TrialStatus::kOk) {
    row.verdict = Verdict::kFailed;
    row.notes = {head.record.failure.text};
    return row;
  }
  row.notes = differences_of(base, head);
  const std::string base_log = find_event_log(base_folder, trial), head_log = find_event_log(head_folder, trial);
  for (const std::string& log : {base_log, head_log}) check_log_head(log, trial);
  const std::string first_event = first_difference(base_log, head_log);
  if (row.notes.empty() && first_event.empty()) return row;
  if (const std::string events = other_events(base_folder, base, head_folder, head); !events.empty()) {
    row.verdict = Verdict::kIncomparable;
    row.notes = {events};
    return row;
  }
  row.notes.push_back(first_event.empty() ? "no first event: an event log is not there, or both are alike"
                                          : "first differing event: " + first_event);
  row.verdict = row.head < row.base ? Verdict::kImprovement : Verdict::kRegression;
  return row;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> exact_fields(const TrialRecord& record, bool values) {
  std::set<std::string> without = names_with(Agreement::kNot);
  if (!values) without.merge(names_with(Agreement::kSameArithmetic));
  Cells fields;
  for (const Field<TrialRecord>& field : hopbench::fields<TrialRecord>()) {
    const bool compared = field.get != nullptr && !without.contains(field.name);
    if (compared) flatten(field.get(record), field.name, without, fields);
  }
  return fields;
}

std::string first_difference(const std::string& base_log, const std::string& head_log) {
  EventLines base(base_log), head(head_log);
  if (!base.there() || !head.there()) return "";
  base.next(), head.next();  // the first lines name the schema and the trial
  while (true) {
    const std::optional<std::string> a = base.next(), b = head.next();
    if (!a && !b) return "";
    if (a != b) return fmt::format("base {}; head {}", in_words(a), in_words(b));
  }
}

std::vector<GateRow> compare_exact(const RunFolder& base, const RunFolder& head) {
  const auto find = [](const RunFolder& folder, const std::string& id) -> const TrialRow* {
    const auto hit = std::find_if(folder.rows().begin(), folder.rows().end(),
                                  [&](const TrialRow& row) { return row.record.id == id; });
    return hit == folder.rows().end() ? nullptr : &*hit;
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<GateRow> rows;
  for (const TrialRow* row : in_table_order(base.rows())) {
    if (row->labels.clock != "virtual") continue;
    const TrialRow* other = find(head, row->record.id);
    rows.push_back(other != nullptr ? compare_trial(base, *row, head, *other)
                                    : row_of(row->record.id, Verdict::kMissing, row->record.time_s, kNaN));
  }
  for (const TrialRow* row : in_table_order(head.rows())) {
    const bool known = row->labels.clock != "virtual" || find(base, row->record.id) != nullptr;
    if (!known) rows.push_back(row_of(row->record.id, Verdict::kNew, kNaN, row->record.time_s));
  }
  return rows;
}

}  // namespace hopbench
