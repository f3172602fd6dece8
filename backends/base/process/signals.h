// ^C ends the trial in progress, flushes and marks it interrupted. A second ^C kills the ranks, and a third ends
// hopbench itself. SIGTERM counts as the first ^C.
#pragma once

#include <atomic>

namespace hopbench {

/// Installs the handlers (once) and returns the counter that they raise.
const std::atomic<int>& count_interrupts();
/// Counts a first ^C, unless there was one here, because another process of the run was told to end.
void count_interrupt_from_elsewhere();
/// Returns 128 + the signal that interrupted: 130 for ^C, 143 for SIGTERM; 0 if none did.
int interrupted_exit_code();

}  // namespace hopbench
