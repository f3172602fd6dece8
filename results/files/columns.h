// The meaning of each column of the files. `hopbench list columns` shows this list, and ci/docs writes it into
// docs/results.md. The columns and other words of the printed tables (tables/terms.h) have the same form.
#pragma once

#include <span>

namespace hopbench {

struct Column {
  const char* table;  // "trials.csv"; "": every table begins with it
  const char* name;   // "wait_s: REASON" stands for a column for each reason
  const char* unit;   // "": a count, or text
  const char* meaning;
  const char* title = nullptr;  // as it is printed, if that is more than its name
};
std::span<const Column> columns();

/// The version of the form that tables have in JSON (docs/results.md). Version 1 had texts alone.
inline constexpr int kTablesVersion = 2;

}  // namespace hopbench
