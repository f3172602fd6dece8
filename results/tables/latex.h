// Tables for papers: booktabs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/tables/table.h"

namespace hopbench {

/// A table environment for each table, with its title as caption. Needs \usepackage{booktabs}.
///
/// `columns`: names (Head::name) of the columns to show, in this order, after the first column, which is always
/// there. If it is empty, a table shows those that fit a column of a paper (Table::narrow). A table without any of them
/// is left out. Error(kUsage) for a name that no table has.
///
/// Facts of a table stand below it. So do its numbers of repeats and its marks if these columns are not shown: a paper
/// must not lose them by accident. Notes stand once, as text after the last table.
std::string to_latex(std::span<const Table> tables, const std::vector<std::string>& columns);

}  // namespace hopbench
