#include "backends/cuda/gemm.h"

#include <chrono>
#include <map>
#include <vector>

#include "backends/base/error.h"
#include "backends/base/find_named.h"
#include "backends/cuda/backend.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {
namespace {

// All work on one handle shares cuBLAS's own memory, and cuBLAS chooses algorithms by its size. With memory of a fixed
// size for this stream alone, the choice is the same each time, in a graph and out of it.
constexpr std::size_t kWorkspace = std::size_t(32) << 20;

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }
cudaDataType type_of(Number number) { return number == Number::kBf16 ? CUDA_R_16BF : CUDA_R_32F; }

}  // namespace

Precision precision_of(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "tf32") return Precision::kTf32;
  if (name == "bf16") return Precision::kBf16;
  throw_unknown("precision", name, std::vector<std::string>{"fp32", "tf32", "bf16"});
}

Gemm::Gemm(Stream stream, Precision precision) : precision_(precision), workspace_(kWorkspace) {
  const std::shared_lock hold(recording());
  cublasHandle_t handle = nullptr;
  check_blas(blas().cublasCreate_v2(&handle), "opening cuBLAS");
  handle_.reset(handle);
  check_blas(blas().cublasSetStream_v2(handle, stream), "setting a stream");
  // Set after the stream, because setting the stream would undo it.
  check_blas(blas().cublasSetWorkspace_v2(handle, workspace_.data(), kWorkspace), "setting a workspace");
  // By default parts of a sum of bf16 products may be added up in bf16.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  check_blas(blas().cublasSetMathMode(handle, mode), "setting the arithmetic");
}

// cuBLAS is column-major, where a row-major matrix is its own transpose. It is asked for c^T = op(b)^T op(a)^T.
void Gemm::run(bool transpose_a, bool transpose_b, int m, int n, int k, const void* a, const void* b, void* c,
               Number out) {
  HB_ASSERT(m > 0 && n > 0 && k > 0);
  Device::mine();
  const float one = 1, zero = 0;
  const cudaDataType in = type_of(number_of(precision_));
  const cublasComputeType_t compute =
      precision_ == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_blas(blas().cublasGemmEx_64(handle_.get(), operation(transpose_b), operation(transpose_a), n, m, k, &one, b, in,
                                    transpose_b ? k : n, a, in, transpose_a ? m : k, &zero, c, type_of(out), n, compute,
                                    CUBLAS_GEMM_DEFAULT),
             "a matrix product");
}

namespace {

constexpr int kSize = 8192;
constexpr std::size_t kNumbers = std::size_t(kSize) * kSize;

struct Products {
  StreamOwner stream;
  Buffer a{kNumbers * 4}, b{kNumbers * 4}, c{kNumbers * 4};

  // Uses random-looking numbers: products of zeros draw less power, and run faster than any network does.
  Products() {
    Pinned numbers(kNumbers * 4);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kNumbers; ++i) {  // halves of a word are bf16 of the same kind: 0.5 to 1, either sign
      state = state * 1664525 + 1013904223;
      numbers.as<std::uint32_t>()[i] = (state & 0x807F807F) | 0x3F003F00;
    }
    for (const Buffer* operand : {&a, &b}) copy(stream, operand->data(), numbers.as<char>(), kNumbers * 4);
    wait_for(stream);
  }
};

}  // namespace

double matrix_rate(const std::string& precision) {
  const Precision wanted = precision_of(precision);
  Device::mine();
  // Never destroyed: at the process's end cuBLAS may be destroyed first.
  static auto& products = *new Products;
  static auto& gemms = *new std::map<Precision, Gemm>;
  Gemm& gemm = gemms.try_emplace(wanted, products.stream, wanted).first->second;
  const auto multiply = [&](int size) {
    const auto begin = std::chrono::steady_clock::now();
    gemm.run(false, true, size, kSize, kSize, products.a.data(), products.b.data(), products.c.data(),
             number_of(wanted));
    wait_for(products.stream);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  multiply(kSize / 8);  // the clock rises under load
  return 2.0 * kSize * kSize * kSize / multiply(kSize);
}

}  // namespace hopbench::cuda
