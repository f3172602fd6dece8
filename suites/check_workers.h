// What a suite says of single workers: where they sit, what they compute on. Inside of configuration.cpp.
#pragma once

#include "suites/draft.h"

namespace hopbench {

/// [network] hosts: as many as there are workers.
void check_hosts(const Configuration& c, Mistakes& mistakes);
/// [compute] others: each worker once, and only those that there are.
void check_others(const Configuration& c, Mistakes& mistakes);

}  // namespace hopbench
