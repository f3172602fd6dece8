// The regular expressions of --filter and --exclude.
#pragma once

#include <regex>
#include <string>

namespace hopbench {

/// Throws Error(kUsage) naming `flag` if the text is not a regular expression. There are no back-references, so the
/// time of a search grows with what is searched, whatever the expression is.
std::regex regular_expression(const std::string& text, const char* flag);

}  // namespace hopbench
