// Readers of recordings. Each turns files into rows of rank, step and seconds, and remarks about what is missing in
// them. A reader takes plain and gzip files, holds 64 KiB of a file at a time, and throws Error(kUsage) with the file
// and the line or byte if it cannot be read. docs/import.md describes the formats and the numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "suites/import/imported.h"

namespace hopbench {

/// The columns of a CSV file. An empty name means the first column that has one of the usual names.
struct CsvColumns {
  std::string rank{}, step{}, seconds{}, begin{}, end{};
  std::string unit{};  // s, ms, us or ns; empty: the unit at the end of the column's name, as in step_ms
};

/// Reads files with a header, and the columns rank, step and seconds, or rank, step, begin and end. Cells are separated
/// by the first of comma, semicolon and tab that the header has. Memory: 16 bytes a row and the longest line.
void read_csv_recording(const std::vector<std::string>& paths, const CsvColumns& columns, Imported& to);

/// The ranks that make up a data-parallel replica. Members other than `replicas` are the sizes of a job whose ranks
/// count tensor first, then data, then pipeline, as Megatron-LM's do.
struct Layout {
  int data = 0, pipeline = 1, tensor = 1;  // data 0: not set
  int replicas = 0;                        // as many blocks of consecutive ranks; 0: not set
  bool grouped() const { return replicas > 0 || pipeline * tensor > 1; }
};

/// Reads "dp2 pp4 tp1", in any order, with spaces or commas. Error(kUsage) if it is something else.
Layout parse_layout(const std::string& text);

/// Reads files of the PyTorch profiler, one for each rank. Steps are the annotations ProfilerStep#N.
void read_kineto(const std::vector<std::string>& paths, const Layout& layout, Imported& to);

/// Reads Chrome JSON whose events have args.step and whose pid is a rank, or a replica with a thread for each stage.
/// `align`: the ranks' clocks differ, so that replicas of several ranks need offsets.
void read_perfetto(const std::vector<std::string>& paths, const Layout& layout, bool align, Imported& to);

}  // namespace hopbench
