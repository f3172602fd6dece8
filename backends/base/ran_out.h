// Reads exceptions of libraries: the kind of failure, and which resource of the machine ran out.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "backends/base/failure.h"

namespace hopbench {

/// Returns "out of memory: use a smaller model ..." or "cannot start a thread: ..."; nullopt for any other exception.
std::optional<std::string> ran_out(const std::exception& error);

/// Returns the failure of a trial that this exception ended: kind and rank of an Error, kEnvironment if a resource ran
/// out, kError for any other exception.
Failure failure_of(const std::exception& error);

}  // namespace hopbench
