// `hopbench bench sim`: how fast virtual time is on this machine.
#pragma once

#include <string>

namespace hopbench {

struct BenchSimOptions {
  int ranks = 64;
  int workers = 1000;    // of the Hop run
  int iterations = 100;  // of the Hop run
  int repeats = 5;
  bool json = false;
};
int command_bench_sim(const BenchSimOptions& options);

}  // namespace hopbench
