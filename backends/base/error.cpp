#include "backends/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace hopbench {
namespace {

// Global state, because an abort has no caller to ask which process this is. Written once at start-up.
std::string& process_description() {
  static std::string text;
  return text;
}

}  // namespace

void describe_process(const std::string& who_and_how_to_repeat) { process_description() = who_and_how_to_repeat; }

void assertion_failed(const char* expression, const char* file, int line, const std::string& detail) {
  std::fprintf(stderr, "hopbench: assertion failed: %s (%s:%d)%s%s%s%s\n", expression, file, line,
               detail.empty() ? "" : ": ", detail.c_str(), process_description().empty() ? "" : "; ",
               process_description().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace hopbench
