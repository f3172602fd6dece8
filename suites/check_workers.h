// What a suite says of single workers: where they sit, what they compute on. Inside of configuration.cpp.
#pragma once

#include "suites/draft.h"

namespace hopbench {

/// [network] hosts: as many as there are workers.
void check_hosts(const Configuration& c, Mistakes& mistakes);
/// [[protocol]] without: workers that there are, each once, and not all of them; no scenario with faults, which name
/// ranks. Returns whether it is right.
bool check_without(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes);
/// [compute] others: each worker once, and only those that there are.
void check_others(const Configuration& c, Mistakes& mistakes);

}  // namespace hopbench
