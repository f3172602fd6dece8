// In place of CUDA's header of this name: see cuda_runtime.h.
#pragma once

#include "tests/emulated_cuda/runtime_api.h"
