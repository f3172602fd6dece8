// results/published/hopbench/figures.toml: the figures that the documentation publishes about hopbench.
// docs/figures.md has every key.
#pragma once

#include <string>

#include "results/judge/published.h"

namespace hopbench {

/// Throws SuiteError with every mistake.
Published parse_published(const std::string& text, const std::string& file);

}  // namespace hopbench
