// Converts checked values of keys into members of a trial, by the names of its fields in JSON.
#pragma once

#include <string>

#include "suites/language/keys.h"
#include "suites/trial/trial_json.h"

namespace hopbench {

/// Returns the value for a field that is `now`. A name becomes a text, or its index among the key's names if the field
/// is an enumeration; of two names for a boolean, the first is true. `workers`: n in "1/n".
OrderedJson json_of(const SuiteKey& key, const Value& value, const OrderedJson& now, int workers = 1);

/// Returns a table of the list at `path` as a record. Keys set the fields of the same names; others are ignored.
template <class Record>
Record record_of(const Value& table, const std::string& path, int workers = 1) {
  Record record{};
  for (const JsonField<Record>& field : json_fields_of(&record)) {
    const Entry* entry = table.find(field.name);
    const SuiteKey* key = find_key(path + "." + field.name);
    if (entry != nullptr && key != nullptr) field.set(record, json_of(*key, entry->value, field.get(record), workers));
  }
  return record;
}

}  // namespace hopbench
