// `hopbench bench`: how fast hopbench itself is on this machine. `sim` measures virtual time. `compute` measures
// gradients and vector operations and compares them with what the machine could do (see bench_compute.h).
#pragma once

#include <cstdint>
#include <optional>
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

/// The options of nccl-tests: -b, -e, -f, -n, -w.
struct BenchTransportOptions {
  std::vector<std::string> operations;         // empty: all
  std::vector<std::string> transports;         // empty: all that are here
  std::int64_t begin = 8, end = 64 << 20;      // bytes
  int factor = 8, ranks = 2, neighbours = 0;   // neighbours 0: 2, or 1 if there are 2 ranks
  int iterations = 0, warmup = 5, rounds = 5;  // iterations 0: enough for 64 MiB, from 20 to 1000
  std::string mpi_peer;                        // a program (ci/studies/mpi_peer.cpp); empty: none
  std::string interface;                       // empty: loopback
  std::string backend;                         // cuda: vectors lie on the GPU
  bool json = false;
};
/// Returns 3 if a result was wrong.
int command_bench_transport(const BenchTransportOptions& options);

struct BenchComputeOptions {
  std::vector<std::string> models;  // empty: all
  int batch = 32, threads = 1, repeats = 15;
  bool layers = false, vectors = true, json = false;
  std::string backend = "onednn", precision = "fp32";
  std::string isa;  // avx2: as on a machine without AVX-512; "": the machine's own
};
int command_bench_compute(const BenchComputeOptions& options);

/// Options of `hopbench bench losses`. One worker trains, and writes into a folder what another program needs to do the
/// same: settings.json, initial.f32 (parameters, in the order of backend.h), inputs.f32 (steps x batch x shape),
/// labels.i32 (steps x batch), losses.txt. For sparse rows inputs.f32 has the values one after another, with
/// lengths.u32 (steps x batch) and columns.u32. Error(kUsage) if one of them is there already.
struct BenchLossesOptions {
  std::string model, dataset, path, output, backend = "onednn";  // model: its name, or a suite's file
  std::vector<std::string> own;   // the other flags that were given, if a suite has a key for them
  std::vector<std::string> sets;  // KEY=VALUE, of a suite
  std::string filter;             // of a suite: the first trial whose id it matches
  std::optional<int> worker;      // the worker whose samples are used; absent: the first that trains
  int batch = 32, steps = 50, threads = 1;
  float lr = 0.01f, momentum = 0.9f, weight_decay = 5e-4f;
};
int command_bench_losses(const BenchLossesOptions& options);

}  // namespace hopbench
