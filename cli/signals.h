// ^C: once ends the trial in progress, flushes and marks it interrupted; twice kills the ranks, three
// times hopbench itself. SIGTERM counts as the first ^C.
#pragma once

#include <atomic>

namespace hopbench {

/// Installs the handlers (once) and returns the counter that they raise.
const std::atomic<int>& count_interrupts();
/// Another process of the run was told to end: counts as a first ^C, unless there was one here.
void count_interrupt_from_elsewhere();
/// 128 + the signal that interrupted: 130 for ^C, 143 for SIGTERM; 0 if none did.
int interrupted_exit_code();

}  // namespace hopbench
