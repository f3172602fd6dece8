// cuBLAS and cuDNN, loaded on first use: a run on the CPU needs neither, and a machine may hold them where no linker
// looks, inside PyTorch. For the .cpp files that call them.
#pragma once

#include <cublas_v2.h>
#include <cudnn.h>

#include <string>

namespace hopbench::cuda {

// cublasGemmEx is overloaded in C++; its 64-bit form is not.
#define HB_CUBLAS_FUNCTIONS(F) \
  F(cublasCreate_v2)           \
  F(cublasDestroy_v2)          \
  F(cublasGemmEx_64)           \
  F(cublasGetProperty)         \
  F(cublasGetStatusString)     \
  F(cublasSetMathMode)         \
  F(cublasSetStream_v2)        \
  F(cublasSetWorkspace_v2)

#define HB_CUDNN_FUNCTIONS(F)                       \
  F(cudnnConvolutionBackwardData)                   \
  F(cudnnConvolutionBackwardFilter)                 \
  F(cudnnConvolutionForward)                        \
  F(cudnnCreate)                                    \
  F(cudnnCreateConvolutionDescriptor)               \
  F(cudnnCreateFilterDescriptor)                    \
  F(cudnnCreateTensorDescriptor)                    \
  F(cudnnDestroy)                                   \
  F(cudnnDestroyConvolutionDescriptor)              \
  F(cudnnDestroyFilterDescriptor)                   \
  F(cudnnDestroyTensorDescriptor)                   \
  F(cudnnFindConvolutionBackwardDataAlgorithmEx)    \
  F(cudnnFindConvolutionBackwardFilterAlgorithmEx)  \
  F(cudnnFindConvolutionForwardAlgorithmEx)         \
  F(cudnnGetConvolutionBackwardDataAlgorithm_v7)    \
  F(cudnnGetConvolutionBackwardDataWorkspaceSize)   \
  F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)  \
  F(cudnnGetConvolutionBackwardFilterWorkspaceSize) \
  F(cudnnGetConvolutionForwardAlgorithm_v7)         \
  F(cudnnGetConvolutionForwardWorkspaceSize)        \
  F(cudnnGetCudartVersion)                          \
  F(cudnnGetErrorString)                            \
  F(cudnnGetProperty)                               \
  F(cudnnSetConvolution2dDescriptor)                \
  F(cudnnSetConvolutionMathType)                    \
  F(cudnnSetFilter4dDescriptor)                     \
  F(cudnnSetStream)                                 \
  F(cudnnSetTensor4dDescriptor)

#define HB_MEMBER(function) decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses)
struct Blas {
  HB_CUBLAS_FUNCTIONS(HB_MEMBER)
};
struct Dnn {
  HB_CUDNN_FUNCTIONS(HB_MEMBER)
};
#undef HB_MEMBER

/// Throws Error(kEnvironment) if no library of this build's versions, of CUDA too, can be loaded.
const Blas& blas();
const Dnn& dnn();
/// Throws Error(kEnvironment) "cuda: WHAT: cuBLAS: its words" unless `status` is success.
void check_blas(cublasStatus_t status, const char* what);
void check_dnn(cudnnStatus_t status, const char* what);

}  // namespace hopbench::cuda
