#include "backends/base/process/tell.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "backends/base/printable.h"

namespace hopbench {

void tell(const std::string& text) { std::fputs(printable_lines(text).c_str(), stderr); }

bool under_ci() {
  const char* value = std::getenv("CI");
  const std::string ci = value == nullptr ? "" : value;
  return !ci.empty() && ci != "false" && ci != "0";
}

std::size_t terminal_columns(int descriptor, std::size_t otherwise) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : otherwise;
}

}  // namespace hopbench
