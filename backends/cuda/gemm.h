// Matrix products, by cuBLAS.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/cuda/kernels.h"

namespace hopbench::cuda {

/// How products and convolutions are computed. Sums are float in all three.
enum class Precision {
  kFp32,  // float throughout: no tensor cores
  kTf32,  // activations and weights stay float; products round them to 10 bits of mantissa
  kBf16,  // activations and weights are bf16; parameters and their gradient stay float outside the network
};
/// "fp32", "tf32", "bf16". Error(kUsage) for another, with these.
Precision precision_of(const std::string& name);
inline Number number_of(Precision precision) { return precision == Precision::kBf16 ? Number::kBf16 : Number::kFloat; }

/// Not thread-safe; bound to one stream. The same bits each time, in a graph, too; before it is captured each product
/// is to have been run once, so that cuBLAS has loaded what it needs.
class Gemm {
 public:
  Gemm(Stream stream, Precision precision);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  /// Row-major: c[m][n] = op(a) * op(b), with op the transpose where asked: a is [m][k] (else [k][m]), b [k][n] (else
  /// [n][k]). a and b are of the precision's number; c of `out`. Error(kEnvironment) if cuBLAS fails.
  void run(bool transpose_a, bool transpose_b, int m, int n, int k, const void* a, const void* b, void* c, Number out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hopbench::cuda
