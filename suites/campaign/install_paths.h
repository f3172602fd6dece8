// Finds the files that come with hopbench.
#pragma once

#include <string>
#include <vector>

namespace hopbench {

/// Returns the folders that have `suites/` in them, in the order of search: $HOPBENCH_ROOT (a checkout: ci/hopbench
/// sets it), and share/hopbench beside the folder of the program, where `cmake --install` puts it. Error(kUsage) if
/// $HOPBENCH_ROOT is not empty and is not a folder.
std::vector<std::string> data_roots();

/// Returns the path of a file that comes with the program, "suites/advice/candidates.toml". Error(kEnvironment) if it
/// is in none of data_roots().
std::string shipped_file(const std::string& name);

/// Returns the suite that was typed: as it stands, or below one of data_roots(), with or without `suites/` and `.toml`.
/// Returns it as typed if there is no such file. Error(kUsage) for a folder.
std::string find_suite(const std::string& path);

/// Returns the path without folders that it only passes through: "new/../d" is "d" if there is no folder `new`, which
/// would otherwise be made on the way to d.
std::string without_detours(const std::string& folder);

}  // namespace hopbench
