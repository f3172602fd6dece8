// Every key of a suite, once. All code that reads, checks, documents or completes suites uses this table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "suites/language/document.h"

namespace hopbench {

enum class KeyType {
  kBool,
  kInteger,
  kReal,
  kText,
  kFile,          // a file: beside the suite, else in the current folder
  kFolder,        // a folder whose files are read
  kName,          // one of `choices`
  kDuration,      // "40ms"
  kRate,          // "1Gbit/s", or bytes/s as a number
  kProbability,   // 0.125 or "1/n"
  kPace,          // "auto", "off" or a time
  kCount,         // an integer or "auto"
  kRanks,         // [0, 3]
  kRanksOrDrawn,  // the same, or "drawn"
  kHosts,         // 2 (number of hosts) or [0, 0, 1, 1] (the host of each worker)
  kEdges,         // [[0, 1], [1, 0]]
  kNames,         // ["a", "b"]
  kRange,         // [0.001, 1.0]: low and high, above 0
  kReals,         // [0, 0.9]: different numbers
  kValues,        // [1, 2, 4]
  kTables,        // [{ ... }, ...]: each with the keys below this one's path
};

struct SuiteKey {
  const char* path;  // "run.world_size"; of the lists "protocol.label", "scenario.compute.factor"
  KeyType type;
  const char* fallback;                                 // TOML; "" = not set; nullptr = must be given
  double low = 0, high = 0;                             // of numbers (durations in seconds), both included
  std::function<std::vector<std::string>()> choices{};  // of a name; of a rate: names that stand for a rate
  const char* meaning = "";
  const char* field = nullptr;  // of the trial (trial_json.h), which the value sets; nullptr: expand.cpp uses the value
};

/// Returns the keys in the order of the documentation, without knobs of protocols (see `hopbench list protocols`).
const std::vector<SuiteKey>& suite_keys();
/// Returns nullptr if there is no such key.
const SuiteKey* find_key(const std::string& path);
/// Returns the last part: "world_size".
std::string last_part(const std::string& path);

/// Returns the devices whose rate of vector operations is known by name. docs/suites.md says where it comes from.
std::vector<std::string> vector_rate_names();

/// Returns "1 to 100000" or "0 or more". Mentions an upper bound that is only a sanity limit only if `given` exceeds
/// it, and a least value next to 0 only if `given` lies between them.
std::string range_text(const SuiteKey& key, double given = 0);
/// Returns the type for people: "integer, 1 to 100000", "one of gloo, sim".
std::string type_text(const SuiteKey& key);
/// Returns the row of docs/suites.md: "| `run.world_size` | integer, ... | required | workers ... |".
std::string markdown_row(const SuiteKey& key);

/// Returns true for a section's key ([run], ...). Measures, profiles, the matrix and the command line may override it.
bool is_section_key(const SuiteKey& key);
/// Returns true for a section's key that only the whole suite has, which no measure or axis of the matrix may set.
bool is_of_whole_suite(const std::string& path);
/// Returns the names that may stand directly below `prefix` ("" = top), lists and groups included.
std::vector<std::string> children(const std::string& prefix);
bool is_group(const std::string& prefix);  // some key starts with prefix + "."
/// Returns the key that a group means if it is a plain value: model.split = "iid" is model.split.kind. Else "".
std::string shorthand(const std::string& group);

/// Returns the path of the section's key that an override names: by its whole path, by a group's path, or by the end of
/// a path that only one key has (samples, pace, dataset.path). Returns "" if there is no such key.
std::string resolve_key(const std::vector<std::string>& parts);
/// Returns all names that resolve_key takes, for suggestions and completion.
const std::vector<std::string>& override_names();

/// Returns why `text` can't be the name of a suite, measure, scenario or variant, or "" if it can. Names are parts of
/// trial ids, of lines in logs and of cells in tables.
std::string why_no_label(const std::string& text);

/// Returns true if the key can have the value. If not, adds what is wrong with it.
bool check_value(const SuiteKey& key, const Value& value, Mistakes& mistakes);

/// Calls `take` with each text of the value that names a file, in tables too.
void each_file(const SuiteKey& key, Value& value, const std::function<void(Value&)>& take);

/// Values by full path, as one level of precedence gives them.
using Layer = std::map<std::string, Value>;

/// Reads the entries of a table that holds keys below `prefix`. Valid ones go into `layer`; the others become mistakes,
/// and their paths go into `bad`.
void read_keys(const Value& table, const std::string& prefix, Layer& layer, std::set<std::string>& bad,
               Mistakes& mistakes);
void read_key(const Entry& entry, const std::string& path, const std::string& where, Layer& layer,
              std::set<std::string>& bad, Mistakes& mistakes);

// Convert checked values of keys.
std::int64_t duration_of(const Value& value);  // ns
double rate_of(const Value& value);            // bytes/s; also of a name: "a100"
double probability_of(const Value& value, int workers);

}  // namespace hopbench
