// The meaning of each column of the tables. `hopbench list columns` shows this list, and ci/docs writes it into
// docs/results.md.
#pragma once

#include <span>

namespace hopbench {

struct Column {
  const char* table;  // "trials.csv"; "": every table begins with it
  const char* name;   // "wait_s: REASON" stands for a column for each reason
  const char* unit;   // "": a count, or text
  const char* meaning;
};
std::span<const Column> columns();

}  // namespace hopbench
