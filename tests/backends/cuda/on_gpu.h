// The beginning of all tests that want a GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "backends/cuda/backend.h"
#include "backends/cuda/device.h"

namespace hopbench::cuda {

/// Skips where there is no GPU.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = unavailable(); !reason.empty()) {
      if (std::getenv("HB_GPU_REQUIRED") != nullptr) FAIL() << reason;
      GTEST_SKIP() << reason;
    }
  }
};

}  // namespace hopbench::cuda
