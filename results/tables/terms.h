// The words of the tables and what they mean: columns, bound rows, signs, marks. Heads of columns, notes below tables
// and `hopbench explain` take them from here.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "results/files/columns.h"
#include "results/tables/table.h"

namespace hopbench {

/// Returns the columns, bound rows, signs, figures of protocols' own and words of `hopbench advise`, in the order in
/// which a reader meets them, and then the marks. Column::table says what a word is: "column", "row", "sign", "mark",
/// "figure", "advice".
std::vector<Column> table_words();
/// Returns the word, which must exist and must not be a mark of warnings.
const Column& term(std::string_view name);
/// Return the heads of columns that the list has.
Head listed(const char* column);
std::vector<Head> listed(std::initializer_list<const char*> columns);
/// Returns "NAME: MEANING" of a word. `explain` adds it as a note about a column.
std::string explained(const char* name);
void explain(Table& table, const char* column);
/// Returns what people read for a source or a confidence: "not checked (likely)" for "memory M", "not checked" for
/// "memory", others as they are.
std::string provenance(std::string_view source);

}  // namespace hopbench
