// How long the calling thread was runnable and did not run: what other processes on its core cost it.
#pragma once

#include "backends/base/time.h"

namespace hopbench {

/// Of the calling thread since it was started, by the kernel's schedstat; always 0 where the kernel does not say. About
/// a microsecond.
Duration run_delay();

/// Of all threads of this process that still live.
Duration process_run_delay();

}  // namespace hopbench
