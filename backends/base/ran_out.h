// What of the machine ran out, where a library said so by an exception that is no Error.
#pragma once

#include <exception>
#include <optional>
#include <string>

namespace hopbench {

/// "out of memory: use a smaller model ...", "cannot start a thread: ..."; nothing for any other exception.
std::optional<std::string> ran_out(const std::exception& error);

}  // namespace hopbench
