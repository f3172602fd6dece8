// `hopbench bench`: how fast hopbench itself is on this machine. `sim`: virtual time. `compute`: gradients and vector
// operations, beside what the machine could do (see bench_compute.h).
#pragma once

#include <string>
#include <vector>

namespace hopbench {

struct BenchSimOptions {
  int ranks = 256;         // of the exchange
  int incast = 1000;       // workers that push to one server
  int messages = 400'000;  // of the exchange, and pushes
  int workers = 1000;      // of the Hop run
  int iterations = 100;    // of the Hop run
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

/// `hopbench bench losses`: one worker trains, and writes into a folder what another program needs to do the same:
/// settings.json, initial.f32 (parameters, in the order of backend.h), inputs.f32 (steps x batch x shape), labels.i32
/// (steps x batch), losses.txt; of sparse rows inputs.f32 has the values one after another, with lengths.u32
/// (steps x batch) and columns.u32 beside it. Error(kUsage) if one of them is there already.
struct BenchLossesOptions {
  std::string model, dataset, path, output, backend = "onednn";
  int batch = 32, steps = 50, threads = 1;
  float lr = 0.01f, momentum = 0.9f, weight_decay = 5e-4f;
};
int command_bench_losses(const BenchLossesOptions& options);

}  // namespace hopbench
