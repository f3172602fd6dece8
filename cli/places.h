// Where the files that come with hopbench are.
#pragma once

#include <string>
#include <vector>

namespace hopbench {

/// Folders that have `suites/` in them, the one to look at first in front: $HOPBENCH_ROOT (a checkout: ci/hopbench sets
/// it), and share/hopbench beside the folder of the program, where `cmake --install` puts it. Error(kUsage) if
/// $HOPBENCH_ROOT is not empty and no folder.
std::vector<std::string> data_roots();

/// The suite that was typed: as it stands, or below one of data_roots(), with or without `suites/` and `.toml`. As
/// typed if there is none; Error(kUsage) for a folder.
std::string find_suite(const std::string& path);

/// The folder by a path whose folders are all wanted: "new/../d" is "d" if there is no folder `new`, which would else
/// be made on the way to d.
std::string without_detours(const std::string& folder);

}  // namespace hopbench
