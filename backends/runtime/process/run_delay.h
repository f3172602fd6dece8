// The time for which the calling thread was runnable and did not run: the cost of other processes on its core.
#pragma once

#include "backends/base/time.h"

namespace hopbench {

/// Returns the run delay of the calling thread since its start, by the kernel's schedstat. Always 0 if the kernel does
/// not report it. Takes about a microsecond.
Duration run_delay();

/// Returns the run delay of all threads of this process that still live.
Duration process_run_delay();

}  // namespace hopbench
