// Convolutions, by cuDNN: activations NHWC, weights [output][kernel][kernel][input].
//
// Only algorithms of cuDNN that give the same bits each time are used. The first in cuDNN's own ranking is taken that
// computes this shape and needs no more working memory than a limit. The limit follows from the GPU alone: measurements
// and free memory differ from process to process, and the bits would differ too. If the precision has tensor cores,
// they come first. With `deterministic` off, the fastest of a measurement is taken. Either way, each chosen algorithm
// has been run once when the constructor returns.
//
// A batch size takes the choice for the next multiple of 8 if that computes it. Otherwise protocols that change the
// batch size in every iteration would wait for cuDNN's advice each time.
//
// With bf16 the gradient of the weights is written in bf16, too, as in PyTorch's automatic mixed precision; sums are
// float.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/cuda/gemm.h"
#include "backends/cuda/kernels/kernels.h"

namespace hopbench::cuda {

/// cuDNN, bound to one stream; layers of one shape are computed alike. Not thread-safe.
class ConvolutionLibrary {
 public:
  explicit ConvolutionLibrary(Stream stream);

 private:
  friend class Convolution;
  const Stream stream_;
  std::unique_ptr<cudnnContext, CloseLibrary> handle_;
};

/// One layer for one batch size. The library must outlive it. Throws Error(kEnvironment) in cuDNN's words if it fails.
class Convolution {
 public:
  struct Shape {
    Cells in, out;
    int kernel = 1, stride = 1, padding = 0;
  };
  /// `data_gradient`: backward_data will be called.
  Convolution(ConvolutionLibrary& library, const Shape& shape, Precision precision, bool deterministic,
              bool data_gradient);
  ~Convolution();

  /// Allows backward_data from now on, for a layer made without data_gradient. work_bytes() may grow.
  void want_data_gradient();

  /// Returns the bytes of working memory that every call below needs at `work`.
  std::size_t work_bytes() const;
  /// For `hopbench bench compute`: returns the chosen algorithms, "forward 1, data 1, weights 1".
  std::string algorithms() const;

  void forward(const void* x, const void* weights, void* y, void* work);
  void backward_data(const void* dy, const void* weights, void* dx, void* work);
  void backward_weights(const void* x, const void* dy, void* dweights, void* work);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hopbench::cuda
