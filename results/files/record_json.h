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
#include "backends/base/record/event.h"
#include "backends/base/record/trial_record.h"
#include "results/files/run_folder.h"

namespace hopbench {

/// The schema of all JSON that hopbench writes: major.minor. Major changes only if an old reader would misread.
inline constexpr const char* kSchemaVersion = "1.3";

/// The error for records of another schema than this program reads. They are not damaged.
class SchemaError : public Error {
 public:
  explicit SchemaError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// Convert the record that a rank sends into JSON and back. decode() throws as the readers below do.
OrderedJson encode(const RankRecord& record);
void decode(const OrderedJson& j, RankRecord& record);

/// Write records as one line each, without its line break, and read them. The readers throw SchemaError, and
/// Error(kUsage) if the text is not such a record or has values that no trial has (results/files/possible.h).
std::string to_json(const RankRecord& record);
std::string to_json(const TrialRecord& record);
std::string to_json(const TrialRow& row);  // {"schema_version", "labels", "record"}
RankRecord rank_from_json(const std::string& text);
TrialRecord record_from_json(const std::string& text);
TrialRow row_from_json(const std::string& text);

/// Returns the run as one document: {"schema_version", "context", "trials"}, without the marks of single iterations.
/// `tables_json`: the printed tables, in the form of to_json(Table); "" leaves them out.
std::string run_to_json(std::span<const TrialRow> rows, const std::string& context_json,
                        const std::string& tables_json = "");

/// A document that run_from_json() has read. It throws Error(kUsage) naming `name` if the text is not such a document.
struct RunDocument {
  std::vector<TrialRow> rows;
  std::string context_json;
};
RunDocument run_from_json(const std::string& text, const std::string& name);

/// Returns true if lists and objects are nested deeper than anything that hopbench writes, so that code that walks
/// through them would run out of its stack. For text that is not JSON the result means nothing.
bool too_deep(std::string_view json);

/// Checks the text of a context.json. Error(kUsage) naming the file if it is not a JSON object, or its parts have other
/// types than hopbench writes. It tells machines and versions apart, so a run without a whole one is not compared.
void check_context(const std::string& text, const std::string& path);

/// Return the first line of an event log, and add a line for an event, with line breaks. Omits fields at their default.
std::string event_log_head(const std::string& trial_id);
void append_event(std::string& lines, const Event& event);
const char* to_string(EventKind kind);
/// Returns true for the kinds of events that most of a full log consists of. Only --events all has them.
bool of_a_message(EventKind kind);
const char* to_string(TrialStatus status);
/// Returns the status that `text` names. Error(kUsage) names the known statuses if it is not one of them.
TrialStatus status_of(const std::string& text);

}  // namespace hopbench
