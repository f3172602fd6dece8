// Lists the fields of records. An entry has the field's name in JSON, its table column with unit and meaning, and
// whether two runs of one trial must agree in it. JSON, tables, documentation, comparisons (outcome.h) and the exact
// gate use these lists. To add a field, add a member to the record and an entry to fields.cpp.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json_fields.h"
#include "results/files/columns.h"
#include "results/files/csv_value.h"
#include "results/files/run_folder.h"

namespace hopbench {

/// The condition under which two runs of one trial must agree in a field.
enum class Agreement {
  kAlways,
  kSameArithmetic,  // where both computed with the `reference` backend
  kNot,             // measured of the host, or a name
};

/// A field of a record. Without `get` it is only a column, which is computed from other fields.
template <class Record>
struct Field : JsonField<Record> {
  using Cell = CsvValue (*)(const Record&, const std::string& key);
  using Keys = void (*)(const Record&, std::set<std::string>&);

  Agreement agreement = Agreement::kAlways;
  Column column{};      // without a table: it is in none
  Cell cell = nullptr;  // its value in the table
  bool number = false;  // the cell is a number, or empty
  Keys keys = nullptr;  // of "figure: NAME", which is a column for each key: adds those that a record has

  bool is_in(std::string_view table) const { return column.table != nullptr && column.table == table; }

  // The same field with something changed.
  constexpr Field named(const char* title) const {
    return with([=](Field& f) { f.column.name = title; });
  }
  constexpr Field shown(Cell text) const {
    return with([=](Field& f) { f.cell = text; });
  }
  constexpr Field for_each(Keys those) const {
    return with([=](Field& f) { f.keys = those; });
  }
  constexpr Field as_text() const {
    return with([](Field& f) { f.number = false; });
  }
  constexpr Field never_compared() const {
    return with([](Field& f) { f.agreement = Agreement::kNot; });
  }
  constexpr Field of_arithmetic() const {
    return with([](Field& f) { f.agreement = Agreement::kSameArithmetic; });
  }

 private:
  template <class Change>
  constexpr Field with(const Change& change) const {
    Field changed = *this;
    change(changed);
    return changed;
  }
};

/// A line of a table. It belongs to a trial and, except in trials.csv, to one of its ranks or points. In host.csv rank
/// -1 stands for the whole trial.
struct TableLine {
  const TrialRow* trial;
  const RankRecord* rank = nullptr;
  const CurvePoint* point = nullptr;
};

const char* to_string(TrialStatus status);
OrderedJson encode(TrialStatus status);
OrderedJson encode(FailureKind kind);
void decode(const OrderedJson& j, FailureKind& kind);
OrderedJson encode(const Warning& warning);  // in words
void decode(const OrderedJson& j, Warning& warning);
OrderedJson kinds_of(const TrialRecord& record);  // of its warnings
void set_kinds(TrialRecord& record, const OrderedJson& j);
void decode(const OrderedJson& j, TrialStatus& status);  // Error(kUsage) if no status is called that
OrderedJson encode(const IterationMark& mark);           // as a list: a trial has many
void decode(const OrderedJson& j, IterationMark& mark);

// Return the lists, in the order of JSON and of the tables. Fields of a TableLine are only columns.
std::span<const Field<TrialLabels>> json_fields_of(const TrialLabels*);
std::span<const Field<TrialRecord>> json_fields_of(const TrialRecord*);
std::span<const Field<RankRecord>> json_fields_of(const RankRecord*);
std::span<const Field<CurvePoint>> json_fields_of(const CurvePoint*);
std::span<const Field<TableLine>> json_fields_of(const TableLine*);
template <class Record>
auto fields() {
  return json_fields_of(static_cast<const Record*>(nullptr));
}

/// Calls visit(table, fields, record_of) for each list that has columns of a table, in their order. Columns of every
/// table ("") come first. record_of(line) returns the record that holds the list's fields.
template <class Visit>
void visit_columns(const char* table, const Visit& visit) {
  const auto labels = [](const TableLine& line) { return &line.trial->labels; };
  const auto trial = [](const TableLine& line) { return &line.trial->record; };
  visit("", fields<TrialRecord>(), trial);
  visit("", fields<TrialLabels>(), labels);
  visit(table, fields<TrialLabels>(), labels);
  visit(table, fields<TrialRecord>(), trial);
  visit(table, fields<TableLine>(), [](const TableLine& line) { return &line; });
  visit(table, fields<RankRecord>(), [](const TableLine& line) { return line.rank; });
  visit(table, fields<CurvePoint>(), [](const TableLine& line) { return line.point; });
}

/// Returns the bytes that all ranks sent for each sample; nothing without samples.
std::optional<double> bytes_per_sample(const TrialRecord& record);

/// Returns the columns of trials.csv that hold numbers, or those that hold texts. Figures of protocols' own are
/// neither.
std::set<std::string> trial_columns(bool numbers);

/// Returns the JSON names of all fields with this agreement, over all kinds of records.
std::set<std::string> names_with(Agreement agreement);

}  // namespace hopbench
