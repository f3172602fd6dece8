#include "results/files/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/base/printable.h"
#include "backends/base/record/kinds.h"
#include "results/files/columns.h"
#include "results/files/fields.h"
#include "results/files/older_rows.h"
#include "results/files/possible.h"

namespace hopbench {
namespace {

/// Returns JSON in UTF-8, which a file needs. Text from outside (a suite, an error message) need not be UTF-8.
std::string dump(const OrderedJson& j, int indent = -1) {
  return j.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

void check_schema(const OrderedJson& j, const std::string& of) {
  const std::string known = kSchemaVersion,
                    use = ": this hopbench reads " + known + ": use the version that wrote them";
  if (!j.contains("schema_version")) throw SchemaError(of + " without a schema_version cannot be read" + use);
  const OrderedJson& at = j.at("schema_version");
  if (!at.is_string()) {
    throw SchemaError(fmt::format("{} whose schema_version is {} instead of a text such as \"{}\" cannot be read{}", of,
                                  at.dump().substr(0, 30), known, use));
  }
  const std::string version = at.get<std::string>();
  if (version.substr(0, version.find('.')) != known.substr(0, known.find('.')))
    throw SchemaError(of + " of schema " + version + " cannot be read" + use);
}

/// Parses a record. `records` names the records in errors about their schema; "": they have no schema.
template <class Record, class Decode>
Record parse(const std::string& text, const std::string& what, const std::string& records, Decode decode_into) {
  const auto none = [&](const std::string& why) { return usage_error("not " + what + ": " + why); };
  if (too_deep(text)) throw none("lists in lists without end");
  Record record;
  try {
    const OrderedJson j = OrderedJson::parse(text);
    if (!j.is_object()) throw usage_error("the text is no JSON object");
    if (!records.empty()) check_schema(j, records);
    decode_into(j, record);
  } catch (const SchemaError&) {
    throw;
  } catch (const OrderedJson::exception& error) {
    throw none(json_mistake(error));
  } catch (const Error& error) {
    throw none(error.what());
  }
  return record;
}

void read_record(const OrderedJson& j, TrialRecord& record) {
  decode(j, record);
  if (!j.contains("failure_kind")) recall_failure(record);
  if (!j.contains("warning_kinds")) {
    for (Warning& warning : record.warnings) recall_kind(warning);
  }
}

bool is_list_of_words(const OrderedJson& j) {
  return j.is_array() && std::all_of(j.begin(), j.end(), [](const OrderedJson& word) { return word.is_string(); });
}

/// Reads a trial from the object that has its labels and its record.
void read_row(const OrderedJson& j, TrialRow& row) {
  decode(field_of(j, "labels"), row.labels);
  read_record(field_of(j, "record"), row.record);
  check_possible(row);
}

}  // namespace

OrderedJson encode(const RankRecord& record) {
  OrderedJson j = OrderedJson::object();
  write_fields(fields<RankRecord>(), record, j);
  return j;
}

void decode(const OrderedJson& j, RankRecord& record) { read_fields(fields<RankRecord>(), j, record); }

OrderedJson encode(TrialStatus status) { return to_string(status); }

void decode(const OrderedJson& j, TrialStatus& status) { status = status_of(j.get<std::string>()); }

OrderedJson encode(FailureKind kind) { return to_string(kind); }
void decode(const OrderedJson& j, FailureKind& kind) { kind = failure_kind(j.get<std::string>()); }

OrderedJson encode(const Warning& warning) { return in_words(warning); }
void decode(const OrderedJson& j, Warning& warning) {
  warning.kind = WarningKind::kOther;
  j.get_to(warning.text);
}

OrderedJson kinds_of(const TrialRecord& record) {
  OrderedJson kinds = OrderedJson::array();
  for (const Warning& warning : record.warnings) kinds.push_back(to_string(warning.kind));
  return kinds;
}

void set_kinds(TrialRecord& record, const OrderedJson& j) {
  const auto kinds = j.get<std::vector<std::string>>();
  if (kinds.size() != record.warnings.size())
    throw usage_error(fmt::format("{} kinds for {} warnings", kinds.size(), record.warnings.size()));
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    Warning& warning = record.warnings[i];
    warning.kind = warning_kind(kinds[i]);
    warning.text = text_without_kind(warning.kind, warning.text);
  }
}

OrderedJson encode(const IterationMark& mark) {
  return OrderedJson::array({encode(mark.end), mark.iter, mark.samples, encode(mark.compute), encode(mark.loss)});
}

void decode(const OrderedJson& j, IterationMark& mark) {
  decode(j.at(0), mark.end);
  decode(j.at(1), mark.iter);
  decode(j.at(2), mark.samples);
  decode(j.at(3), mark.compute);
  decode(j.at(4), mark.loss);
}

bool too_deep(std::string_view json) {
  constexpr int kDeepest = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kDeepest) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

void check_context(const std::string& text, const std::string& path) {
  const auto damaged = [&](const std::string& why) {
    return usage_error(path + " is damaged: " + why + ": put the run's own file there");
  };
  const OrderedJson context = too_deep(text) ? OrderedJson() : OrderedJson::parse(text, nullptr, false);
  if (!context.is_object()) throw damaged("it is not the context of a run");
  for (const char* section : {"hopbench", "machine", "environment"}) {
    if (context.contains(section) && !context.at(section).is_object())
      throw damaged(fmt::format("'{}' is no JSON object", section));
  }
  if (context.contains("command") && !is_list_of_words(context.at("command")))
    throw damaged("'command' is not a list of words");
  if (context.contains("notes") && !is_list_of_words(context.at("notes")))
    throw damaged("'notes' is not a list of texts");
}

const char* to_string(TrialStatus status) {
  static constexpr const char* kNames[] = {"ok", "failed", "interrupted"};
  return kNames[static_cast<int>(status)];
}

TrialStatus status_of(const std::string& text) {
  for (const TrialStatus status : {TrialStatus::kOk, TrialStatus::kFailed, TrialStatus::kInterrupted}) {
    if (text == to_string(status)) return status;
  }
  throw usage_error(
      fmt::format("'{}' is not a status of a trial: there are ok, failed and interrupted", quotable(text)));
}

std::string to_json(const RankRecord& record) { return dump(encode(record)); }
std::string to_json(const TrialRecord& record) { return dump(encode(record)); }
std::string to_json(const TrialRow& row) {
  return dump(
      OrderedJson{{"schema_version", kSchemaVersion}, {"labels", encode(row.labels)}, {"record", encode(row.record)}});
}

RankRecord rank_from_json(const std::string& text) {
  return parse<RankRecord>(text, "a rank's record", "", [](const OrderedJson& j, RankRecord& r) { decode(j, r); });
}

TrialRecord record_from_json(const std::string& text) {
  return parse<TrialRecord>(text, "a trial's record", "",
                            [](const OrderedJson& j, TrialRecord& r) { read_record(j, r); });
}

TrialRow row_from_json(const std::string& text) {
  return parse<TrialRow>(text, "a finished trial", "records", read_row);
}

std::string run_to_json(std::span<const TrialRow> rows, const std::string& context_json,
                        const std::string& tables_json) {
  OrderedJson trials = OrderedJson::array();
  for (const TrialRow& row : rows) {
    OrderedJson record = encode(row.record);
    for (OrderedJson& rank : record["ranks"]) rank.erase("marks");
    trials.push_back(OrderedJson{{"labels", encode(row.labels)}, {"record", std::move(record)}});
  }
  OrderedJson context = OrderedJson::parse(context_json, nullptr, false);
  if (context.is_discarded()) context = nullptr;
  OrderedJson run{{"schema_version", kSchemaVersion}, {"context", std::move(context)}, {"trials", std::move(trials)}};
  if (!tables_json.empty()) {
    run["tables_version"] = kTablesVersion;
    run["tables"] = OrderedJson::parse(tables_json);
  }
  return dump(run, 1) + "\n";
}

RunDocument run_from_json(const std::string& text, const std::string& name) {
  return parse<RunDocument>(text, "a result of run --json (" + name + ")", name + ": records",
                            [&](const OrderedJson& j, RunDocument& run) {
                              run.context_json = dump(field_of(j, "context"), 1);
                              std::set<std::string> ids;
                              for (const OrderedJson& trial : field_of(j, "trials")) {
                                TrialRow& row = run.rows.emplace_back();
                                try {
                                  read_row(trial, row);
                                } catch (const Error& error) {
                                  throw error.in(fmt::format("trial {}", run.rows.size()));
                                }
                                if (!ids.insert(row.record.id).second)
                                  throw usage_error(fmt::format("trial {} is there twice", row.record.id));
                              }
                            });
}

}  // namespace hopbench
