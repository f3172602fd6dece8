// What the columns of the tables mean: the one list that documentation, `hopbench list columns` and tests use.
#pragma once

#include <span>
#include <string>

namespace hopbench {

struct Column {
  const char* table;  // "trials.csv"; "": every one begins with it
  const char* name;   // "wait_s: REASON" stands for a column a reason
  const char* unit;   // "": a count, or text
  const char* meaning;
};
std::span<const Column> columns();

/// A row of docs/results.md, without line end.
std::string markdown_row(const Column& column);

}  // namespace hopbench
