// The words of the summary's tables and what they mean: columns, bound rows, signs, marks. Notes below tables and
// `hopbench explain` take their definitions from here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hopbench {

struct TableWord {
  const char* name;
  const char* where;  // "column", "row", "sign", "mark", "figure", "advice"
  const char* meaning;
};

/// Returns the columns, bound rows, signs, figures of protocols' own and words of `hopbench advise`, in the order in
/// which a reader meets them, and then the marks.
std::vector<TableWord> table_words();
/// Returns what people read for a source or a confidence: "not checked (likely)" for "memory M", "not checked" for
/// "memory", others as they are.
std::string provenance(std::string_view source);
/// Returns "NAME: MEANING" of a column, row or sign, as a note below a table says it. The term must exist.
std::string explained(std::string_view name);

}  // namespace hopbench
