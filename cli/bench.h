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

/// `hopbench bench losses`: one worker trains, and writes into a folder what another program needs to do the same:
/// initial.f32 (parameters, in the order of backend.h), inputs.f32 and labels.i32 (of each step's batch), losses.txt.
struct BenchLossesOptions {
  std::string model, dataset, path, output, backend = "onednn";
  int batch = 32, steps = 50, threads = 1;
  float lr = 0.01f, momentum = 0.9f, weight_decay = 5e-4f;
};
int command_bench_losses(const BenchLossesOptions& options);

}  // namespace hopbench
