// A file that says when the ranks of a cluster were not available, such as spot instances.
#pragma once

#include <string>
#include <vector>

#include "backends/base/time.h"

namespace hopbench {

struct Absence {
  int rank = 0;
  Time from{}, until{};
};

/// Reads a CSV file with the columns rank, from, until: the rank is away within [from, until), in seconds from the
/// start. Lines that begin with # are comments. Returns the absences by time. Error(kUsage), "FILE:LINE: ...", if it is
/// not such a file, if an absence is shorter than 1 ns, or if two absences of a rank overlap.
std::vector<Absence> read_absences(const std::string& path);

}  // namespace hopbench
