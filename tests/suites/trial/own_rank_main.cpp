// For tests that start ranks: this binary is the program of theirs.
#include <gtest/gtest.h>

#include <cstring>

#include "suites/trial/rank.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "rank") == 0) {
    constexpr hopbench::Role kRoles[] = {{"rank", hopbench::run_rank, true},
                                         {"simulate", hopbench::run_simulation},
                                         {"simulate_elsewhere", hopbench::run_simulation_elsewhere, true}};
    return hopbench::rank_main(kRoles);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
