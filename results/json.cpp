#include "results/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "backends/base/error.h"
#include "backends/base/json_value.h"
#include "results/possible.h"

namespace hopbench {
namespace {

using Json = nlohmann::ordered_json;  // fields stand in the order they are listed below

// --- Values

Json encode(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}
Json encode(float v) { return encode(static_cast<double>(v)); }
Json encode(Duration v) { return v.count(); }
Json encode(Time v) { return v.time_since_epoch().count(); }
Json encode(TrialStatus v) { return to_string(v); }
template <class T>
Json encode(const T& v) {
  return v;
}
/// As an array: a trial has many.
Json encode(const IterationMark& v) {
  return Json::array({encode(v.end), v.iter, v.samples, encode(v.compute), encode(v.loss)});
}
Json encode(const std::map<std::string, Duration>& v) {
  Json j = Json::object();
  for (const auto& [reason, time] : v) j[reason] = encode(time);
  return j;
}
Json encode(const std::map<std::string, double>& v) {
  Json j = Json::object();
  for (const auto& [name, figure] : v) j[name] = encode(figure);
  return j;
}
Json encode(const RankRecord& v);
Json encode(const CurvePoint& v);
template <class T>
Json encode(const std::vector<T>& v) {
  Json j = Json::array();
  for (const T& item : v) j.push_back(encode(item));
  return j;
}

void decode(const Json& j, double& v) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (j.is_number()) {
    v = j.get<double>();
  } else if (j == "inf" || j == "-inf") {
    v = j == "inf" ? infinity : -infinity;
  } else if (j == "nan") {
    v = std::numeric_limits<double>::quiet_NaN();
  } else {
    constexpr std::size_t kShown = 30;
    const std::string found = j.is_string() ? j.get<std::string>() : j.type_name();
    throw usage_error(found.substr(0, kShown) + " stands where a number belongs");
  }
}
void decode(const Json& j, float& v) {
  double wide = 0;
  decode(j, wide);
  v = static_cast<float>(wide);
}
void decode(const Json& j, Duration& v) { v = Duration(integer_of<Duration::rep>(j)); }
void decode(const Json& j, Time& v) { v = Time(Duration(integer_of<Duration::rep>(j))); }
void decode(const Json& j, TrialStatus& v) {
  const auto text = j.get<std::string>();
  v = text == "ok" ? TrialStatus::kOk : text == "interrupted" ? TrialStatus::kInterrupted : TrialStatus::kFailed;
}
template <class T>
void decode(const Json& j, T& v) {
  read_value(j, v);
}
void decode(const Json& j, IterationMark& v) {
  decode(j.at(0), v.end);
  decode(j.at(1), v.iter);
  decode(j.at(2), v.samples);
  decode(j.at(3), v.compute);
  decode(j.at(4), v.loss);
}
void decode(const Json& j, std::map<std::string, Duration>& v) {
  v.clear();
  for (const auto& [reason, time] : j.items()) decode(time, v[reason]);
}
void decode(const Json& j, std::map<std::string, double>& v) {
  v.clear();
  for (const auto& [name, figure] : j.items()) decode(figure, v[name]);
}
void decode(const Json& j, RankRecord& v);
void decode(const Json& j, CurvePoint& v);
template <class T>
void decode(const Json& j, std::vector<T>& v) {
  v.clear();
  for (const Json& item : j) decode(item, v.emplace_back());
}

// --- Records: each listed once, for both ways

template <class Record, class Visit>
void fields_of_rank(Record& r, Visit visit) {
  visit("rank", r.rank);
  visit("server", r.server);
  visit("finished", r.finished);
  visit("lost", r.lost);
  visit("compute", r.compute);
  visit("injected_delay", r.injected_delay);
  visit("vector_ops", r.vector_ops);
  visit("waits", r.waits);
  visit("iters", r.iters);
  visit("iters_jumped", r.iters_jumped);
  visit("gradients", r.gradients);
  visit("gradients_lost", r.gradients_lost);
  visit("samples", r.samples);
  visit("messages_sent", r.messages_sent);
  visit("bytes_sent", r.bytes_sent);
  visit("host", r.host);
  visit("bytes_to", r.bytes_to);
  visit("slow_events", r.slow_events);
  visit("overruns", r.overruns);
  visit("staleness_mean", r.staleness_mean);
  visit("staleness_max", r.staleness_max);
  visit("gap_mean", r.gap_mean);
  visit("gap_max", r.gap_max);
  visit("queue_max", r.queue_max);
  visit("figures", r.figures);
  visit("cpu_s", r.cpu_s);
  visit("cpu_wait_s", r.cpu_wait_s);
  visit("contended_s", r.contended_s);
  visit("max_rss_bytes", r.max_rss_bytes);
  visit("link_late_median_s", r.link_late_median_s);
  visit("link_late_p99_s", r.link_late_p99_s);
  visit("machine", r.machine);
  visit("marks", r.marks);
}

template <class Record, class Visit>
void fields_of_point(Record& r, Visit visit) {
  visit("model", r.model);
  visit("time", r.time);
  visit("iteration", r.iteration);
  visit("samples", r.samples);
  visit("loss", r.loss);
  visit("accuracy", r.accuracy);
  visit("consensus_distance", r.consensus_distance);
}

template <class Record, class Visit>
void fields_of_trial(Record& r, Visit visit) {
  visit("id", r.id);
  visit("hash", r.hash);
  visit("status", r.status);
  visit("reason", r.reason);
  visit("warnings", r.warnings);
  visit("time_s", r.time_s);
  visit("ranks_lost", r.ranks_lost);
  visit("first_lost_s", r.first_lost_s);
  visit("params_hash", r.params_hash);
  visit("window_start_s", r.window_start_s);
  visit("window_end_s", r.window_end_s);
  visit("samples_per_s", r.samples_per_s);
  visit("iters_per_s", r.iters_per_s);
  visit("wait_share", r.wait_share);
  visit("median_iteration_s", r.median_iteration_s);
  visit("main_wait", r.main_wait);
  visit("path", r.path);
  visit("window_ideal_samples_per_s", r.window_ideal_samples_per_s);
  visit("slowest_rank_samples_per_s", r.slowest_rank_samples_per_s);
  visit("without_slowest_samples_per_s", r.without_slowest_samples_per_s);
  visit("gap_bound", r.gap_bound);
  visit("overrun_share", r.overrun_share);
  visit("wall_s", r.wall_s);
  visit("cpu_s", r.cpu_s);
  visit("max_rss_bytes", r.max_rss_bytes);
  visit("ranks", r.ranks);
  visit("curve", r.curve);
}

template <class Labels, class Visit>
void fields_of_labels(Labels& r, Visit visit) {
  visit("suite", r.suite);
  visit("measure", r.measure);
  visit("what", r.what);
  visit("scenario", r.scenario);
  visit("protocol", r.protocol);
  visit("variant", r.variant);
  visit("knobs", r.knobs);
  visit("backend", r.backend);
  visit("transport", r.transport);
  visit("clock", r.clock);
  visit("model", r.model);
  visit("dataset", r.dataset);
  visit("split", r.split);
  visit("optimizer", r.optimizer);
  visit("topology", r.topology);
  visit("network", r.network);
  visit("status_mark", r.status_mark);
  visit("world", r.world);
  visit("hosts", r.hosts);
  visit("batch", r.batch);
  visit("cost_s", r.cost_s);
  visit("seed", r.seed);
  visit("repeat", r.repeat);
  visit("order", r.order);
  visit("place", r.place);
  visit("target_loss", r.target_loss);
  visit("target_hold", r.target_hold);
  visit("learns", r.learns);
  visit("tuned", r.tuned);
  visit("experimental", r.experimental);
  visit("source", r.source);
  visit("reading", r.reading);
  visit("faults", r.faults);
  visit("unharmed", r.unharmed);
}

struct Write {
  Json& j;
  template <class T>
  void operator()(const char* name, const T& value) const {
    j[name] = encode(value);
  }
};

struct Read {
  const Json& j;
  template <class T>
  void operator()(const char* name, T& value) const {
    const auto it = j.find(name);
    if (it == j.end()) return;
    try {
      decode(*it, value);
    } catch (const Json::exception& error) {
      throw usage_error(std::string("'") + name + "': " + json_mistake(error));
    } catch (const Error& error) {
      throw error.in(std::string("'") + name + "'");
    }
  }
};

Json encode(const RankRecord& v) {
  Json j = Json::object();
  fields_of_rank(v, Write{j});
  return j;
}
Json encode(const CurvePoint& v) {
  Json j = Json::object();
  fields_of_point(v, Write{j});
  return j;
}
Json encode(const TrialRecord& v) {
  Json j = Json::object();
  fields_of_trial(v, Write{j});
  return j;
}
Json encode(const TrialLabels& v) {
  Json j = Json::object();
  fields_of_labels(v, Write{j});
  return j;
}

void decode(const Json& j, RankRecord& v) { fields_of_rank(v, Read{j}); }
void decode(const Json& j, CurvePoint& v) { fields_of_point(v, Read{j}); }
void decode(const Json& j, TrialRecord& v) { fields_of_trial(v, Read{j}); }
void decode(const Json& j, TrialLabels& v) { fields_of_labels(v, Read{j}); }

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
  switch (status) {
    case TrialStatus::kOk:
      return "ok";
    case TrialStatus::kFailed:
      return "failed";
    case TrialStatus::kInterrupted:
      return "interrupted";
  }
  return "failed";
}

std::string to_json(const RankRecord& record) { return dump(encode(record)); }
std::string to_json(const TrialRecord& record) { return dump(encode(record)); }
std::string to_json(const TrialRow& row) {
  return dump(Json{{"schema_version", kSchemaVersion}, {"labels", encode(row.labels)}, {"record", encode(row.record)}});
}

RankRecord rank_from_json(const std::string& text) {
  return parse<RankRecord>(text, "a rank's record", "", [](const Json& j, RankRecord& r) { decode(j, r); });
}

TrialRecord record_from_json(const std::string& text) {
  return parse<TrialRecord>(text, "a trial's record", "", [](const Json& j, TrialRecord& r) { decode(j, r); });
}

TrialRow row_from_json(const std::string& text) {
  return parse<TrialRow>(text, "a finished trial", "records", [](const Json& j, TrialRow& row) {
    decode(field_of(j, "labels"), row.labels);
    decode(field_of(j, "record"), row.record);
    check_possible(row);
  });
}

std::string run_to_json(std::span<const TrialRow> rows, const std::string& context_json,
                        const std::string& tables_json) {
  Json trials = Json::array();
  for (const TrialRow& row : rows) {
    Json record = encode(row.record);
    for (Json& rank : record["ranks"]) rank.erase("marks");
    trials.push_back(Json{{"labels", encode(row.labels)}, {"record", std::move(record)}});
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
                                decode(field_of(trial, "labels"), row.labels);
                                decode(field_of(trial, "record"), row.record);
                                check_possible(row);
                              }
                            });
}

}  // namespace hopbench
