// Checks of what a suite says about single workers: where they are and what they compute on. Part of configuration.cpp.
#pragma once

#include "suites/language/draft.h"

namespace hopbench {

/// Checks [network] hosts, which has one host for each worker if it is a list, and the links and racks.
void check_hosts(const Configuration& c, Mistakes& mistakes);
/// Checks `without` of a [[protocol]]: workers that exist, each once, and not all of them. No scenario may have faults,
/// since faults name ranks. Returns true if it is right.
bool check_without(const Draft& draft, const Configuration& c, const VariantDraft& variant, Mistakes& mistakes);
/// Checks [compute] others, which names each worker at most once, and only workers that exist.
void check_others(const Configuration& c, Mistakes& mistakes);

}  // namespace hopbench
