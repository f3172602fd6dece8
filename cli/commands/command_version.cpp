#include <fmt/format.h>

#include "cli/commands.h"
#include "results/files/context.h"

namespace hopbench {

std::string version_line() { return "hopbench " + version_with_commit(); }

int command_version(const VersionOptions&) {
  fmt::print("{}\n", version_line());
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace hopbench
