// A layer's convolution as cuDNN sees it. For convolution.cpp, which computes, and convolution_choice.cpp, which
// chooses how.
#pragma once

#include <array>
#include <cstddef>

#include "backends/cuda/convolution.h"
#include "backends/cuda/device.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {

enum class Pass { kForward, kData, kWeights };

/// An algorithm, and the arithmetic that it was proposed with.
struct Choice {
  int algorithm = -1;  // none
  cudnnMathType_t arithmetic = CUDNN_DEFAULT_MATH;
};
/// One of the three passes, with the way it is computed.
struct Way {
  cudnnConvolutionDescriptor_t how = nullptr;
  Choice choice;
  std::size_t bytes = 0;
};

/// A choice's key: batch, channels, height, width, outputs, kernel, stride, padding, precision, deterministic, pass.
using Key = std::array<int, 11>;

inline const char* name_of(Pass pass) {
  return pass == Pass::kForward ? "a convolution"
         : pass == Pass::kData  ? "the input's gradient of a convolution"
                                : "the weights' gradient of a convolution";
}

// The default lets float data through tensor cores, rounded to TF32.
inline cudnnMathType_t arithmetic_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return CUDNN_FMA_MATH;
    case Precision::kTf32:
      return CUDNN_DEFAULT_MATH;
    case Precision::kBf16:
      return CUDNN_TENSOR_OP_MATH;
  }
  return CUDNN_FMA_MATH;
}

struct Convolution::State {
  State(cudnnHandle_t handle_, Stream stream_, const Shape& shape_, Precision precision_, bool deterministic_)
      : handle(handle_), stream(stream_), shape(shape_), precision(precision_), deterministic(deterministic_) {}
  ~State() {
    for (const Way& way : ways) {
      if (way.how != nullptr) dnn().cudnnDestroyConvolutionDescriptor(way.how);
    }
    if (w != nullptr) dnn().cudnnDestroyFilterDescriptor(w);
    if (y != nullptr) dnn().cudnnDestroyTensorDescriptor(y);
    if (x != nullptr) dnn().cudnnDestroyTensorDescriptor(x);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const cudnnHandle_t handle;
  const Stream stream;
  const Shape shape;
  const Precision precision;
  const bool deterministic;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  std::array<Way, 3> ways;

  Way& way(Pass pass) { return ways[std::size_t(pass)]; }
  const Way& way(Pass pass) const { return ways[std::size_t(pass)]; }

  /// Operands to run an algorithm on while choosing.
  struct Numbers {
    Numbers(const Shape& shape, Precision precision);
    Buffer x, w, y;
  };

  void describe();  // must be called first
  void describe_tensor(cudnnTensorDescriptor_t& tensor, const Cells& cells) const;
  /// Chooses an algorithm, so that `pass` can be computed from now on.
  void settle(Pass pass);
  void take(Pass pass, const Choice& choice);  // for the calls of cuDNN that follow
  Key key(Pass pass) const;
  bool room(Pass pass, int algorithm, std::size_t* bytes) const;

  /// Runs that algorithm once, on arbitrary numbers. Returns false if it does not compute this shape.
  bool computes(Pass pass, const Choice& choice);
  Choice choose_by_shape(Pass pass);  // a choice that may be kept
  Choice choose(Pass pass);           // from cuDNN's proposals for just this shape
  template <class Perf, class Rank, class Measure>
  Choice choose(Pass pass, const Rank& rank, const Measure& measure);
  Choice choose_forward(const Numbers& on);
  Choice choose_data(const Numbers& on);
  Choice choose_weights(const Numbers& on);

  static constexpr float kOne = 1, kZero = 0;
  cudnnStatus_t run_forward(cudnnConvolutionFwdAlgo_t algorithm, const void* from, const void* filter, void* to,
                            void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionForward(handle, &kOne, x, from, w, filter, way(Pass::kForward).how, algorithm, work,
                                         bytes, &kZero, y, to);
  }
  cudnnStatus_t run_data(cudnnConvolutionBwdDataAlgo_t algorithm, const void* dy, const void* filter, void* dx,
                         void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionBackwardData(handle, &kOne, w, filter, y, dy, way(Pass::kData).how, algorithm, work,
                                              bytes, &kZero, x, dx);
  }
  cudnnStatus_t run_weights(cudnnConvolutionBwdFilterAlgo_t algorithm, const void* from, const void* dy, void* dw,
                            void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionBackwardFilter(handle, &kOne, x, from, y, dy, way(Pass::kWeights).how, algorithm, work,
                                                bytes, &kZero, w, dw);
  }
};

}  // namespace hopbench::cuda
