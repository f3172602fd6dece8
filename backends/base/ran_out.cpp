#include "backends/base/ran_out.h"

#include <new>
#include <system_error>

#include "backends/base/error.h"

namespace hopbench {

std::optional<std::string> ran_out(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory: use a smaller model or batch, or fewer workers (see ulimit -v)";
  }
  // Among the calls that throw this error, only starting a std::thread leads here.
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return std::string("cannot start a thread: ") + error.what() +
           ": allow more processes or more memory (ulimit -u, ulimit -v)";
  }
  return std::nullopt;
}

Failure failure_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return {ours->kind(), ours->rank(), error.what()};
  if (const std::optional<std::string> what = ran_out(error)) return {FailureKind::kEnvironment, -1, *what};
  return {FailureKind::kError, -1, error.what()};
}

}  // namespace hopbench
