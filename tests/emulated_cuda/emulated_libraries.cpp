// cuBLAS and cuDNN for the emulated GPU: plain loops, sums in double. Where the real libraries may be awkward, these
// are: the first proposals are of algorithms that are refused when run, or that are not deterministic, and working
// memory is overwritten.
#include <cublas_v2.h>
#include <cudnn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

float of_bf16(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t(x) << 16); }

/// To the nearest number with so many bits fewer, ties to even.
std::uint32_t rounded(float x, int bits) {
  const auto all = std::bit_cast<std::uint32_t>(x);
  if (x != x) return all;
  const std::uint32_t half = (1u << (bits - 1)) - 1 + ((all >> bits) & 1);
  return (all + half) >> bits << bits;
}

struct Format {
  bool bf16 = false;
  bool tf32 = false;  // as operands of products
};

std::vector<float> load(const void* from, Format format, std::size_t n) {
  std::vector<float> values(n);
  if (format.bf16) {
    const auto* const numbers = static_cast<const std::uint16_t*>(from);
    std::transform(numbers, numbers + n, values.begin(), of_bf16);
    return values;
  }
  std::memcpy(values.data(), from, n * sizeof(float));
  if (format.tf32) {
    for (float& value : values) value = std::bit_cast<float>(rounded(value, 13));
  }
  return values;
}

void store(void* to, Format format, std::size_t i, double value) {
  const auto x = static_cast<float>(value);
  if (format.bf16) {
    static_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(rounded(x, 16) >> 16);
  } else {
    static_cast<float*>(to)[i] = x;
  }
}

bool is(const void* at, float value) { return *static_cast<const float*>(at) == value; }

}  // namespace

// --- cuBLAS ----------------------------------------------------------------------------------------------------------

struct cublasContext {
  cudaStream_t stream = nullptr;
};

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) { return *handle = new cublasContext, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  return *value = type == MAJOR_VERSION ? CUBLAS_VER_MAJOR : 0, CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_SUCCESS";
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                               std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, const void* A,
                               cudaDataType Atype, std::int64_t lda, const void* B, cudaDataType Btype,
                               std::int64_t ldb, const void* beta, void* C, cudaDataType Ctype, std::int64_t ldc,
                               cublasComputeType_t computeType, cublasGemmAlgo_t) {
  const bool a_as_is = transa == CUBLAS_OP_N, b_as_is = transb == CUBLAS_OP_N;
  if (lda < (a_as_is ? m : k) || ldb < (b_as_is ? k : n) || ldc < m) return CUBLAS_STATUS_INVALID_VALUE;
  if (Atype != Btype || !is(alpha, 1) || !is(beta, 0)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (Atype == CUDA_R_32F && Ctype != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Format in{Atype == CUDA_R_16BF, computeType == CUBLAS_COMPUTE_32F_FAST_TF32};
  const Format out{Ctype == CUDA_R_16BF, false};
  emulated_cuda::enqueue(handle->stream, [=] {
    const auto a_step = std::size_t(lda), b_step = std::size_t(ldb);
    const std::vector<float> a = load(A, in, a_step * std::size_t(a_as_is ? k : m));
    const std::vector<float> b = load(B, in, b_step * std::size_t(b_as_is ? n : k));
    for (std::size_t j = 0; j < std::size_t(n); ++j) {
      for (std::size_t i = 0; i < std::size_t(m); ++i) {
        double sum = 0;
        for (std::size_t l = 0; l < std::size_t(k); ++l) {
          sum += double(a_as_is ? a[i + l * a_step] : a[l + i * a_step]) *
                 double(b_as_is ? b[l + j * b_step] : b[j + l * b_step]);
        }
        store(C, out, i + j * std::size_t(ldc), sum);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}

// --- cuDNN: what describes a convolution -----------------------------------------------------------------------------

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int n = 0, c = 0, h = 0, w = 0;
  std::size_t size() const { return std::size_t(n) * std::size_t(c) * std::size_t(h) * std::size_t(w); }
};
struct cudnnFilterStruct : cudnnTensorStruct {};
struct cudnnConvolutionStruct {
  int padding = 0, stride = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return *handle = new cudnnContext, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  return *value = type == MAJOR_VERSION ? CUDNN_MAJOR : 0, CUDNN_STATUS_SUCCESS;
}
std::size_t cudnnGetCudartVersion() { return 13000; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                : "CUDNN_STATUS_BAD_PARAM";
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  return *tensor = new cudnnTensorStruct, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  if (format != CUDNN_TENSOR_NHWC || n < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
  return *tensor = {type, n, c, h, w}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  delete tensor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  return *filter = new cudnnFilterStruct, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return cudnnSetTensor4dDescriptor(filter, format, type, k, c, h, w);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  delete filter;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return *convolution = new cudnnConvolutionStruct, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (pad_h != pad_w || stride_h != stride_w || dilation_h != 1 || dilation_w != 1) return CUDNN_STATUS_BAD_PARAM;
  if (mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT) return CUDNN_STATUS_BAD_PARAM;
  return *convolution = {pad_h, stride_h, CUDNN_DEFAULT_MATH}, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  return convolution->math = math, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  delete convolution;
  return CUDNN_STATUS_SUCCESS;
}

// --- cuDNN: convolutions ---------------------------------------------------------------------------------------------

namespace {

/// Descriptors by value, as a graph outlives them.
struct Task {
  cudnnTensorStruct x, w, y;
  cudnnConvolutionStruct how;
  Format format() const {
    return {x.type == CUDNN_DATA_BFLOAT16, x.type == CUDNN_DATA_FLOAT && how.math != CUDNN_FMA_MATH};
  }
  bool fits() const {
    const auto out = [&](int in, int kernel) { return (in + 2 * how.padding - kernel) / how.stride + 1; };
    return x.n == y.n && x.c == w.c && y.c == w.n && y.h == out(x.h, w.h) && y.w == out(x.w, w.w) && x.type == y.type &&
           x.type == w.type;
  }
};

/// f(i, j, k) for every product x[i] * w[j] that y[k] is a sum of.
template <class F>
void each_product(const Task& t, const F& f) {
  const auto at = [](const cudnnTensorStruct& of, int n, int h, int w) {
    return ((std::size_t(n) * std::size_t(of.h) + std::size_t(h)) * std::size_t(of.w) + std::size_t(w)) *
           std::size_t(of.c);
  };
  const auto window = [&](int n, int o, int oy, int ox) {
    for (int ky = 0; ky < t.w.h; ++ky) {
      for (int kx = 0; kx < t.w.w; ++kx) {
        const int iy = oy * t.how.stride - t.how.padding + ky, ix = ox * t.how.stride - t.how.padding + kx;
        if (iy < 0 || iy >= t.x.h || ix < 0 || ix >= t.x.w) continue;
        const std::size_t i = at(t.x, n, iy, ix), j = at(t.w, o, ky, kx), k = at(t.y, n, oy, ox) + std::size_t(o);
        for (std::size_t c = 0; c < std::size_t(t.x.c); ++c) f(i + c, j + c, k);
      }
    }
  };
  for (int n = 0; n < t.y.n; ++n) {
    for (int oy = 0; oy < t.y.h; ++oy) {
      for (int ox = 0; ox < t.y.w; ++ox) {
        for (int o = 0; o < t.y.c; ++o) window(n, o, oy, ox);
      }
    }
  }
}

constexpr int kRefused = 6;
std::atomic<int> advice{0}, run{0};

/// Returns the bytes of working memory that an algorithm wants.
std::size_t work_of(int algorithm) { return std::size_t(algorithm) * 512; }

/// to[c] = sum of a * b, where term(i, j, k) says which numbers these are.
template <class Term>
cudnnStatus_t compute(cudnnHandle_t handle, const Task& task, int algorithm, const void* alpha, const void* beta,
                      void* work, std::size_t bytes, const void* at_a, std::size_t a_size, const void* at_b,
                      std::size_t b_size, void* to, std::size_t size, const Term& term) {
  if (!task.fits() || bytes < work_of(algorithm)) return CUDNN_STATUS_BAD_PARAM;
  if (algorithm == kRefused || !is(alpha, 1) || !is(beta, 0)) return CUDNN_STATUS_NOT_SUPPORTED;
  ++run;
  emulated_cuda::enqueue(handle->stream, [=] {
    if (work_of(algorithm) > 0) std::memset(work, 0xff, work_of(algorithm));
    const std::vector<float> a = load(at_a, task.format(), a_size), b = load(at_b, task.format(), b_size);
    std::vector<double> sums(size, 0.0);
    each_product(task, [&](std::size_t i, std::size_t j, std::size_t k) {
      const auto [from_a, from_b, into] = term(i, j, k);
      sums[into] += double(a[from_a]) * double(b[from_b]);
    });
    for (std::size_t i = 0; i < size; ++i) store(to, task.format(), i, sums[i]);
  });
  return CUDNN_STATUS_SUCCESS;
}

struct Term {
  std::size_t a, b, into;
};

template <class Perf, class Algorithm = decltype(Perf::algo)>
Perf proposal(int algorithm, cudnnConvolutionDescriptor_t how, bool repeats, cudnnStatus_t status) {
  const cudnnMathType_t math = how->math == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
  return {static_cast<Algorithm>(algorithm),
          status,
          0,
          work_of(algorithm),
          repeats ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC,
          math};
}

/// The same proposal, and before it perhaps the one without tensor cores.
template <class Perf>
void add(Perf* list, int* found, const Perf& proposed) {
  if (emulated_cuda::has_trouble("fma-first")) (list[(*found)++] = proposed).mathType = CUDNN_FMA_MATH;
  list[(*found)++] = proposed;
}

/// 2 is known not to do, 6 is found out when it is run, 1 does.
cudnnStatus_t propose_forward(cudnnConvolutionDescriptor_t how, int room, int* found,
                              cudnnConvolutionFwdAlgoPerf_t* list) {
  using Perf = cudnnConvolutionFwdAlgoPerf_t;
  if (room < 6) return CUDNN_STATUS_BAD_PARAM;
  ++advice, *found = 0;
  add(list, found, proposal<Perf>(2, how, true, CUDNN_STATUS_NOT_SUPPORTED));
  add(list, found, proposal<Perf>(kRefused, how, true, CUDNN_STATUS_SUCCESS));
  add(list, found, proposal<Perf>(1, how, true, CUDNN_STATUS_SUCCESS));
  return CUDNN_STATUS_SUCCESS;
}

/// 0 is ranked first, but does not give the same bits each time.
template <class Perf>
cudnnStatus_t propose_backward(cudnnConvolutionDescriptor_t how, int room, int* found, Perf* list) {
  if (room < 4) return CUDNN_STATUS_BAD_PARAM;
  ++advice, *found = 0;
  add(list, found, proposal<Perf>(0, how, false, CUDNN_STATUS_SUCCESS));
  add(list, found, proposal<Perf>(1, how, true, CUDNN_STATUS_SUCCESS));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

int emulated_cuda::advice_asked() { return advice; }
int emulated_cuda::convolutions_run() { return run; }

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t,
                                                     int room, int* found, cudnnConvolutionFwdAlgoPerf_t* list) {
  return propose_forward(how, room, found, list);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t how,
                                                          cudnnTensorDescriptor_t dx, int room, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* list) {
  const cudnnStatus_t status = propose_backward(how, room, found, list);
  if (dx->c == 3 && emulated_cuda::has_trouble("no-first-dgrad")) *found = 1;  // the one that does not repeat its bits
  return status;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t how,
                                                            cudnnFilterDescriptor_t, int room, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* list) {
  return propose_backward(how, room, found, list);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t, cudnnTensorDescriptor_t, const void*,
                                                     cudnnFilterDescriptor_t, const void*,
                                                     cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t, void*,
                                                     int room, int* found, cudnnConvolutionFwdAlgoPerf_t* list, void*,
                                                     std::size_t) {
  return propose_forward(how, room, found, list);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t, cudnnFilterDescriptor_t, const void*,
                                                          cudnnTensorDescriptor_t, const void*,
                                                          cudnnConvolutionDescriptor_t how, cudnnTensorDescriptor_t,
                                                          void*, int room, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* list, void*, std::size_t) {
  return propose_backward(how, room, found, list);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t, cudnnTensorDescriptor_t, const void*,
                                                            cudnnTensorDescriptor_t, const void*,
                                                            cudnnConvolutionDescriptor_t how, cudnnFilterDescriptor_t,
                                                            void*, int room, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* list, void*,
                                                            std::size_t) {
  return propose_backward(how, room, found, list);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                      cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t,
                                                      cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  return *bytes = work_of(algorithm), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                           cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                           cudnnTensorDescriptor_t,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm,
                                                           std::size_t* bytes) {
  return *bytes = work_of(algorithm), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                             cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                             cudnnFilterDescriptor_t,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                                             std::size_t* bytes) {
  return *bytes = work_of(algorithm), CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x,
                                      const void* at_x, cudnnFilterDescriptor_t w, const void* at_w,
                                      cudnnConvolutionDescriptor_t how, cudnnConvolutionFwdAlgo_t algorithm, void* work,
                                      std::size_t bytes, const void* beta, cudnnTensorDescriptor_t y, void* at_y) {
  return compute(handle, {*x, *w, *y, *how}, algorithm, alpha, beta, work, bytes, at_x, x->size(), at_w, w->size(),
                 at_y, y->size(), [](std::size_t i, std::size_t j, std::size_t k) {
                   return Term{i, j, k};
                 });
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w,
                                           const void* at_w, cudnnTensorDescriptor_t dy, const void* at_dy,
                                           cudnnConvolutionDescriptor_t how, cudnnConvolutionBwdDataAlgo_t algorithm,
                                           void* work, std::size_t bytes, const void* beta, cudnnTensorDescriptor_t dx,
                                           void* at_dx) {
  return compute(handle, {*dx, *w, *dy, *how}, algorithm, alpha, beta, work, bytes, at_dy, dy->size(), at_w, w->size(),
                 at_dx, dx->size(), [](std::size_t i, std::size_t j, std::size_t k) {
                   return Term{k, j, i};
                 });
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x,
                                             const void* at_x, cudnnTensorDescriptor_t dy, const void* at_dy,
                                             cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* work, std::size_t bytes,
                                             const void* beta, cudnnFilterDescriptor_t dw, void* at_dw) {
  return compute(handle, {*x, *dw, *dy, *how}, algorithm, alpha, beta, work, bytes, at_x, x->size(), at_dy, dy->size(),
                 at_dw, dw->size(), [](std::size_t i, std::size_t j, std::size_t k) {
                   return Term{i, k, j};
                 });
}
