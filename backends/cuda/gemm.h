// Matrix products, by cuBLAS.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/cuda/device.h"
#include "backends/cuda/kernels/kernels.h"

struct cublasContext;
struct cudnnContext;

namespace hopbench::cuda {

/// The arithmetic of products and convolutions. Sums are float in all three.
enum class Precision {
  kFp32,  // float throughout: no tensor cores
  kTf32,  // activations and weights stay float; products round them to 10 bits of mantissa
  kBf16,  // activations and weights are bf16; parameters and their gradient stay float outside the network
};
/// Returns the precision of "fp32", "tf32" or "bf16". Throws Error(kUsage), naming these, for any other.
Precision precision_of(const std::string& name);
inline Number number_of(Precision precision) { return precision == Precision::kBf16 ? Number::kBf16 : Number::kFloat; }

/// Closes a library that was opened, cuBLAS or cuDNN.
struct CloseLibrary {
  void operator()(cublasContext* handle) const;
  void operator()(cudnnContext* handle) const;
};

/// Not thread-safe; bound to one stream. It gives the same bits each time, in a graph too. Before a capture each
/// product must have been run once, so that cuBLAS has loaded what it needs.
class Gemm {
 public:
  Gemm(Stream stream, Precision precision);

  /// Computes c[m][n] = op(a) * op(b), row-major; op is the transpose if asked. a is [m][k] (else [k][m]), b [k][n]
  /// (else [n][k]). a and b are of the precision's number; c of `out`. Throws Error(kEnvironment) if cuBLAS fails.
  void run(bool transpose_a, bool transpose_b, int m, int n, int k, const void* a, const void* b, void* c, Number out);

 private:
  const Precision precision_;
  const Buffer workspace_;
  std::unique_ptr<cublasContext, CloseLibrary> handle_;
};

}  // namespace hopbench::cuda
