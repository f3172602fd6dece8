// The regular expressions of --filter and --exclude.
#pragma once

#include <regex>
#include <string>

namespace hopbench {

/// Error(kUsage) naming `flag` if the text is none. Searching with it takes a time that grows with what is searched,
/// whatever was written: there are no back-references.
std::regex regular_expression(const std::string& text, const char* flag);

}  // namespace hopbench
