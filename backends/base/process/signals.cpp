#include "backends/base/process/signals.h"

#include <unistd.h>

#include <csignal>

namespace hopbench {
namespace {

// Signal handlers can reach nothing but globals.
std::atomic<int> interrupts{0};
std::atomic<int> last_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  last_signal.store(signal);
  // The second one kills the ranks, and then little is left to do here. If that hangs, the third ends it; ranks die
  // with their launcher.
  if (interrupts.fetch_add(1) >= 2) _exit(128 + signal);
}

}  // namespace

const std::atomic<int>& count_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  sigemptyset(&ignored.sa_mask);
  sigaction(SIGPIPE, &ignored, nullptr);  // a closed pipe is an error of that write, and does not end the run
  return interrupts;
}

void count_interrupt_from_elsewhere() {
  int none = 0;
  if (interrupts.compare_exchange_strong(none, 1)) last_signal.store(SIGTERM);
}

int interrupted_exit_code() { return last_signal.load() == 0 ? 0 : 128 + last_signal.load(); }

}  // namespace hopbench
