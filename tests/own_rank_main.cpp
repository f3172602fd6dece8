// For tests that start ranks: this binary is the program of theirs.
#include <gtest/gtest.h>

#include <cstring>

#include "suites/execute.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "rank") == 0) return hopbench::rank_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
