// Convolutions, by cuDNN: activations NHWC, weights [output][kernel][kernel][input].
//
// Of the algorithms that cuDNN offers, only those are taken that give the same bits each time, the first of its own
// ranking that computes this shape and wants no more working memory than a limit that follows from the GPU alone: what
// is measured, or free, differs from process to process, and the bits would with it. Tensor cores come first where the
// precision has them. With `deterministic` off, the fastest of a measurement is taken. Either way each was run once
// when the constructor returns.
//
// A batch size takes what was chosen for the next multiple of 8, where that was: protocols that change it in every
// iteration would else wait for cuDNN's advice each time.
//
// With bf16 the gradient of the weights is written in bf16, too, as in PyTorch's automatic mixed precision; sums are
// float.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/cuda/gemm.h"
#include "backends/cuda/kernels.h"

namespace hopbench::cuda {

/// cuDNN, bound to one stream; layers of one shape are computed alike. Not thread-safe.
class ConvolutionLibrary {
 public:
  explicit ConvolutionLibrary(Stream stream);
  ~ConvolutionLibrary();
  ConvolutionLibrary(const ConvolutionLibrary&) = delete;
  ConvolutionLibrary& operator=(const ConvolutionLibrary&) = delete;

 private:
  friend class Convolution;
  struct State;
  std::unique_ptr<State> state_;
};

/// One layer for one batch size. The library must outlive it. Error(kEnvironment) in cuDNN's words if it fails.
class Convolution {
 public:
  struct Shape {
    Cells in, out;
    int kernel = 1, stride = 1, padding = 0;
  };
  /// `data_gradient`: backward_data is going to be called.
  Convolution(ConvolutionLibrary& library, const Shape& shape, Precision precision, bool deterministic,
              bool data_gradient);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  /// From now on it is, of a layer that was made without. work_bytes() may grow.
  void want_data_gradient();

  /// Bytes of working memory that every call below wants at `work`.
  std::size_t work_bytes() const;
  /// For `hopbench bench compute`: what was chosen, "forward 1, data 1, weights 1".
  std::string algorithms() const;

  void forward(const void* x, const void* weights, void* y, void* work);
  void backward_data(const void* dy, const void* weights, void* dx, void* work);
  void backward_weights(const void* x, const void* dy, void* dweights, void* work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hopbench::cuda
