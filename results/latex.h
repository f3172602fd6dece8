// Tables for papers: booktabs.
#pragma once

#include <span>
#include <string>

#include "results/table.h"

namespace hopbench {

/// A table environment for each grid: its title as caption, its notes below in small print. Needs
/// \usepackage{booktabs}.
std::string to_latex(std::span<const Grid> grids);

}  // namespace hopbench
