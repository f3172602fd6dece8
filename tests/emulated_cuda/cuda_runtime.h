// In place of CUDA's header where the CUDA backend is compiled for the host, so that its tests run without a GPU.
//
// A "device" pointer is a host pointer, a block is one thread, a warp is one thread, and what is launched onto a stream
// is done as late as it may be: when somebody waits for it. So the arithmetic, the indices, the order of launches and
// what waits for what are tested; races between threads of a kernel, alignment, limits of the hardware, and what cuBLAS
// and cuDNN really do, are not.
#pragma once

#include "tests/emulated_cuda/kernel_language.h"
#include "tests/emulated_cuda/runtime_api.h"
