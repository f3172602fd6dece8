// The places that tests read: the source tree and the program under test.
#pragma once

#include <string>

namespace hopbench {

/// Returns the root of the source tree that the tests were built from.
const std::string& source_dir();

/// Returns the directory that the tests were built in.
const std::string& build_dir();

#ifdef HB_PROGRAM
/// Returns the path of the program under test.
inline std::string program() { return build_dir() + "/" HB_PROGRAM; }
#endif

}  // namespace hopbench
