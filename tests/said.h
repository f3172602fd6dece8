// The error of a piece of work, for tests that read it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "backends/base/error.h"

namespace hopbench {

/// Returns the error that `work` throws, which must be of this kind; "" if it throws none.
inline std::string said_by(const std::function<void()>& work, ExitCode kind = ExitCode::kUsage) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), kind) << error.what();
    return error.what();
  }
  return "";
}

}  // namespace hopbench
