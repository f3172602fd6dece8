#include "results/json.h"

#include <fmt/format.h>

#include "results/fields.h"
#include "results/possible.h"

namespace hopbench {
namespace {

template <class Record>
Json to_object(const Record& record) {
  Json j = Json::object();
  for (const Field<Record>& field : fields<Record>()) {
    if (field.get != nullptr) j[field.name] = field.get(record);
  }
  return j;
}

/// Fields that are not there keep their value, and unknown ones are passed over.
template <class Record>
void from_object(const Json& j, Record& record) {
  for (const Field<Record>& field : fields<Record>()) {
    const auto found = field.set == nullptr ? j.end() : j.find(field.name);
    if (found == j.end()) continue;
    const std::string name = fmt::format("'{}'", field.name);
    try {
      field.set(record, *found);
    } catch (const Json::exception& error) {
      throw usage_error(name + ": " + json_mistake(error));
    } catch (const Error& error) {
      throw error.in(name);
    }
  }
}

/// Text from outside (a suite, an error message) need not be UTF-8; the file has to be.
std::string dump(const Json& j, int indent = -1) { return j.dump(indent, ' ', false, Json::error_handler_t::replace); }

void check_schema(const Json& j, const std::string& of) {
  const std::string known = kSchemaVersion,
                    use = ": this hopbench reads " + known + ": use the version that wrote them";
  if (!j.contains("schema_version")) throw SchemaError(of + " without a schema_version cannot be read" + use);
  const Json& at = j.at("schema_version");
  const std::string version = at.is_string() ? at.get<std::string>() : at.dump();
  if (!at.is_string() || version.substr(0, version.find('.')) != known.substr(0, known.find('.')))
    throw SchemaError(of + " of schema " + version + " cannot be read" + use);
}

/// `records`: how its schema is to be called; "": it has none.
template <class Record, class Decode>
Record parse(const std::string& text, const std::string& what, const std::string& records, Decode decode_into) {
  const auto none = [&](const std::string& why) { return usage_error("not " + what + ": " + why); };
  if (too_deep(text)) throw none("lists in lists without end");
  Record record;
  try {
    const Json j = Json::parse(text);
    if (!j.is_object()) throw usage_error("the text is no JSON object");
    if (!records.empty()) check_schema(j, records);
    decode_into(j, record);
  } catch (const SchemaError&) {
    throw;
  } catch (const Json::exception& error) {
    throw none(json_mistake(error));
  } catch (const Error& error) {
    throw none(error.what());
  }
  return record;
}

}  // namespace

Json encode(const RankRecord& record) { return to_object(record); }
Json encode(const CurvePoint& point) { return to_object(point); }
void decode(const Json& j, RankRecord& record) { from_object(j, record); }
void decode(const Json& j, CurvePoint& point) { from_object(j, point); }

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
  if (too_deep(text) || !Json::parse(text, nullptr, false).is_object())
    throw usage_error(path + " is damaged: it is not the context of a run: put the run's own file there");
}

const char* to_string(TrialStatus status) {
  static constexpr const char* kNames[] = {"ok", "failed", "interrupted"};
  return kNames[static_cast<int>(status)];
}

TrialStatus status_of(const std::string& text) {
  for (const TrialStatus status : {TrialStatus::kOk, TrialStatus::kInterrupted}) {
    if (text == to_string(status)) return status;
  }
  return TrialStatus::kFailed;
}

std::string to_json(const RankRecord& record) { return dump(to_object(record)); }
std::string to_json(const TrialRecord& record) { return dump(to_object(record)); }
std::string to_json(const TrialRow& row) {
  return dump(
      Json{{"schema_version", kSchemaVersion}, {"labels", to_object(row.labels)}, {"record", to_object(row.record)}});
}

RankRecord rank_from_json(const std::string& text) {
  return parse<RankRecord>(text, "a rank's record", "", [](const Json& j, RankRecord& r) { from_object(j, r); });
}

TrialRecord record_from_json(const std::string& text) {
  return parse<TrialRecord>(text, "a trial's record", "", [](const Json& j, TrialRecord& r) { from_object(j, r); });
}

TrialRow row_from_json(const std::string& text) {
  return parse<TrialRow>(text, "a finished trial", "records", [](const Json& j, TrialRow& row) {
    from_object(field_of(j, "labels"), row.labels);
    from_object(field_of(j, "record"), row.record);
    check_possible(row);
  });
}

std::string run_to_json(std::span<const TrialRow> rows, const std::string& context_json,
                        const std::string& tables_json) {
  Json trials = Json::array();
  for (const TrialRow& row : rows) {
    Json record = to_object(row.record);
    for (Json& rank : record["ranks"]) rank.erase("marks");
    trials.push_back(Json{{"labels", to_object(row.labels)}, {"record", std::move(record)}});
  }
  Json context = Json::parse(context_json, nullptr, false);
  if (context.is_discarded()) context = nullptr;
  Json run{{"schema_version", kSchemaVersion}, {"context", std::move(context)}, {"trials", std::move(trials)}};
  if (!tables_json.empty()) run["tables"] = Json::parse(tables_json);
  return dump(run, 1) + "\n";
}

RunDocument run_from_json(const std::string& text, const std::string& name) {
  return parse<RunDocument>(text, "a result of run --json (" + name + ")", name + ": records",
                            [&](const Json& j, RunDocument& run) {
                              run.context_json = dump(field_of(j, "context"), 1);
                              for (const Json& trial : field_of(j, "trials")) {
                                TrialRow& row = run.rows.emplace_back();
                                from_object(field_of(trial, "labels"), row.labels);
                                from_object(field_of(trial, "record"), row.record);
                                check_possible(row);
                              }
                            });
}

}  // namespace hopbench
