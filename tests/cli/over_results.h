// A folder with a small suite and a run of it, for the tests of commands over results.
#pragma once

#include <string>

#include "tests/cli/cli.h"

namespace hopbench {

class OverResults : public testing::Test {
 protected:
  OverResults() {
    folder_.write("a.toml", small_suite());
    fine({"run", "a.toml", "-o", "run", "--events", "all"});
  }

  Ended run(const Args& words, const Args& variables = {}) const { return hopbench(folder_.path(), words, variables); }
  Ended fine(const Args& words) const {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended;
  }
  std::string at(const std::string& name) const { return folder_ / name; }

  Folder folder_;
};

}  // namespace hopbench
