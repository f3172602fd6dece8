// `hopbench bench`: how fast hopbench itself is on this machine. `sim`: virtual time. `compute`: gradients and vector
// operations, beside what the machine could do (see bench_compute.h).
#pragma once

#include <string>
#include <vector>

namespace hopbench {

struct BenchSimOptions {
  int ranks = 64;
  int workers = 1000;    // of the Hop run
  int iterations = 100;  // of the Hop run
  int repeats = 5;
  bool json = false;
};
int command_bench_sim(const BenchSimOptions& options);

struct BenchComputeOptions {
  std::vector<std::string> models;  // empty: all
  int batch = 32, threads = 1, repeats = 15;
  bool layers = false, vectors = true, json = false;
  std::string isa;  // avx2: as on a machine without AVX-512; "": what there is
};
int command_bench_compute(const BenchComputeOptions& options);

}  // namespace hopbench
