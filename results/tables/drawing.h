// Tables drawn with characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "results/tables/table.h"

namespace hopbench {

/// Returns the number of code points, not of bytes: "µ" takes one column.
std::size_t display_width(std::string_view text);
/// Returns the words of a cell. What stands in brackets is one word: "(1268 .. 1303)".
std::vector<std::string> words_of(const std::string& text);
/// Returns the texts of the heads, and of each row.
std::vector<std::vector<std::string>> texts_of(const Table& table);
/// Returns the widths at which no cell is wrapped.
std::vector<std::size_t> natural_widths(const Table& table);
/// Returns the text in lines of at most `columns` if no word is longer, later ones indented.
std::string fitted_text(const std::string& text, std::size_t columns);
/// Returns the table with columns of these widths; longer cells are wrapped, and words that are longer still are
/// broken. The title and the notes are wrapped at `columns`, at most at 120.
std::string drawn(const Table& table, const std::vector<std::size_t>& widths, std::size_t columns, bool colour);

}  // namespace hopbench
