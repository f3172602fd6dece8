// The progress line of a run on a terminal.
#include "suites/campaign/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace hopbench {
namespace {

/// Returns the text that `say` writes to standard error, which is a terminal of so many columns meanwhile. Nothing if
/// this machine gives no pseudo-terminal.
template <class Say>
std::optional<std::string> on_a_terminal(unsigned short columns, const Say& say) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return std::nullopt;
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) return std::nullopt;
  const int before = dup(STDERR_FILENO);
  winsize size{};
  size.ws_col = columns;
  ioctl(slave, TIOCSWINSZ, &size);
  std::fflush(stderr);
  dup2(slave, STDERR_FILENO);
  say();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  char text[4096];
  const ssize_t n = read(master, text, sizeof text);
  for (const int descriptor : {master, slave, before}) close(descriptor);
  return std::string(text, std::size_t(n > 0 ? n : 0));
}

TEST(Progress, ItsLiveLineNeverWraps) {
  TrialSpec spec;
  spec.suite = std::string(60, 's');
  spec.label = "h\xC3\xB6p";
  const auto shown = [&](unsigned short columns) {
    return on_a_terminal(columns, [&] { Progress(1, true).begin(spec); });
  };
  if (!shown(40)) GTEST_SKIP() << "this machine gives no pseudo-terminal (/dev/ptmx)";
  EXPECT_EQ(shown(40), "[1/1] " + std::string(32, 's') + "\xE2\x80\xA6") << "a column is left for the cursor";
  EXPECT_EQ(shown(200), "[1/1] " + spec.id());
}

}  // namespace
}  // namespace hopbench
