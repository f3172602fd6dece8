// Records as JSON text and back, and events as JSON lines.
//
// Times are whole nanoseconds of the trial's clock, so that a round trip is exact; numbers that are not finite are the
// strings "nan", "inf" and "-inf". Unknown fields are ignored and missing ones keep their default: a reader copes with
// every file of the same major schema version.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/json_fields.h"
#include "results/record.h"
#include "results/run_folder.h"

namespace hopbench {

/// Of everything hopbench writes as JSON: major.minor, major only when an old reader would misread.
inline constexpr const char* kSchemaVersion = "1.3";

/// Records of another schema than this program reads. They are not damaged.
class SchemaError : public Error {
 public:
  explicit SchemaError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// The record that a rank sends, as JSON and back. decode() throws as the readers below do.
OrderedJson encode(const RankRecord& record);
void decode(const OrderedJson& j, RankRecord& record);

/// One line each, without its line break. The readers throw Error(kUsage) for what is not such a record or has values
/// that no trial has (results/possible.h), and SchemaError.
std::string to_json(const RankRecord& record);
std::string to_json(const TrialRecord& record);
std::string to_json(const TrialRow& row);  // {"schema_version", "labels", "record"}
RankRecord rank_from_json(const std::string& text);
TrialRecord record_from_json(const std::string& text);
TrialRow row_from_json(const std::string& text);

/// The whole run as one document: {"schema_version", "context", "trials"}, without the marks of single iterations.
/// `tables_json`: the printed tables, as to_json(Grid) has them; "" leaves them out.
std::string run_to_json(std::span<const TrialRow> rows, const std::string& context_json,
                        const std::string& tables_json = "");

/// Such a document. Error(kUsage) naming `name` if the text is none.
struct RunDocument {
  std::vector<TrialRow> rows;
  std::string context_json;
};
RunDocument run_from_json(const std::string& text, const std::string& name);

/// Whether lists and objects stand in each other deeper than anything that hopbench writes: what walks through them
/// would run out of its stack. Of text that is no JSON it says nothing.
bool too_deep(std::string_view json);

/// Error(kUsage) naming the file if the text of a context.json is no JSON object, or its parts have other types than
/// hopbench writes: it tells machines and versions apart, so a run without a whole one is not compared.
void check_context(const std::string& text, const std::string& path);

/// First line of an event log, and a line an event, line break included. Fields that say nothing are left out.
std::string event_log_head(const std::string& trial_id);
void append_event(std::string& lines, const Event& event);
const char* to_string(EventKind kind);
/// Events that most of a full log consists of: only --events all has them.
bool of_a_message(EventKind kind);
const char* to_string(TrialStatus status);
/// Error(kUsage) names the statuses that there are if `text` is none of them.
TrialStatus status_of(const std::string& text);

}  // namespace hopbench
