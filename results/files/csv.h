// The long-form tables of a run as CSV (RFC 4180, lines end in LF). Rows stand in the order of the run (`order`), so
// that neither the order in which trials ended nor a resume shows. Numbers are in the shortest form that reads back as
// the same number, in every locale; an unknown value is empty. Only host.csv has measurements of the host. The
// columns are listed in fields.cpp.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/files/csv_value.h"
#include "results/files/run_folder.h"

namespace hopbench {

std::string trials_csv(std::span<const TrialRow> rows);
std::string ranks_csv(std::span<const TrialRow> rows);  // a column for every reason of waiting that occurs in the run
std::string curve_csv(std::span<const TrialRow> rows);
std::string host_csv(std::span<const TrialRow> rows);  // rank "all": the whole trial

/// A row of trials.csv: its values by column.
using TrialCells = std::map<std::string, CsvValue>;
/// Returns these trials as rows of trials.csv, in their order.
std::vector<TrialCells> trial_cells(std::span<const TrialRow* const> rows);

/// Returns the fields of each line (RFC 4180; LF or CR LF). Error(kUsage) naming `name` and line if a quote never ends.
std::vector<std::vector<std::string>> read_csv(std::string_view text, const std::string& name);

/// Returns the text as a field, in quotes if it needs them.
std::string csv_field(std::string_view text);
/// Returns the shortest form that reads back the same; "inf" or "-inf" for infinite values, "" for NaN.
std::string csv_number(double value);

}  // namespace hopbench
