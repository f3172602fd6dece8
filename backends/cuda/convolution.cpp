#include "backends/cuda/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/base/error.h"
#include "backends/cuda/convolution_state.h"
#include "backends/cuda/device.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {
namespace {

cudnnDataType_t type_of(Precision precision) {
  return precision == Precision::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

}  // namespace

struct ConvolutionLibrary::State {
  Stream stream = nullptr;
  cudnnHandle_t handle = nullptr;

  ~State() {
    const std::shared_lock hold(recording());
    if (handle != nullptr) dnn().cudnnDestroy(handle);
  }
};

ConvolutionLibrary::ConvolutionLibrary(Stream stream) : state_(std::make_unique<State>()) {
  Device::mine();
  state_->stream = stream;
  const std::shared_lock hold(recording());
  check_dnn(dnn().cudnnCreate(&state_->handle), "opening cuDNN");
  check_dnn(dnn().cudnnSetStream(state_->handle, stream), "setting a stream");
}

ConvolutionLibrary::~ConvolutionLibrary() = default;

void Convolution::State::describe_tensor(cudnnTensorDescriptor_t& tensor, const Cells& c) const {
  check_dnn(dnn().cudnnCreateTensorDescriptor(&tensor), "describing activations");
  check_dnn(dnn().cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, type_of(precision), c.batch, c.channels,
                                             c.height, c.width),
            "describing activations");
}

void Convolution::State::describe() {
  describe_tensor(x, shape.in);
  describe_tensor(y, shape.out);
  check_dnn(dnn().cudnnCreateFilterDescriptor(&w), "describing weights");
  check_dnn(dnn().cudnnSetFilter4dDescriptor(w, type_of(precision), CUDNN_TENSOR_NHWC, shape.out.channels,
                                             shape.in.channels, shape.kernel, shape.kernel),
            "describing weights");
  for (Way& way : ways) {
    check_dnn(dnn().cudnnCreateConvolutionDescriptor(&way.how), "describing a convolution");
    check_dnn(dnn().cudnnSetConvolution2dDescriptor(way.how, shape.padding, shape.padding, shape.stride, shape.stride,
                                                    1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "describing a convolution");
    check_dnn(dnn().cudnnSetConvolutionMathType(way.how, arithmetic_of(precision)), "setting the arithmetic");
  }
}

Convolution::Convolution(ConvolutionLibrary& library, const Shape& shape, Precision precision, bool deterministic,
                         bool data_gradient) {
  Device::mine();
  state_ = std::make_unique<State>(library.state_->handle, library.state_->stream, shape, precision, deterministic);
  state_->describe();
  state_->settle(Pass::kForward);
  state_->settle(Pass::kWeights);
  if (data_gradient) state_->settle(Pass::kData);
}

void Convolution::want_data_gradient() {
  Device::mine();
  state_->settle(Pass::kData);
}

Convolution::~Convolution() = default;

std::size_t Convolution::work_bytes() const {
  std::size_t most = 0;
  for (const Way& way : state_->ways) most = std::max(most, way.bytes);
  return most;
}

std::string Convolution::algorithms() const {
  const auto of = [&](Pass pass) { return state_->way(pass).choice.algorithm; };
  const std::string data = of(Pass::kData) < 0 ? "" : fmt::format(", data {}", of(Pass::kData));
  return fmt::format("forward {}{}, weights {}", of(Pass::kForward), data, of(Pass::kWeights));
}

void Convolution::forward(const void* x, const void* weights, void* y, void* work) {
  Device::mine();
  const Way& way = state_->way(Pass::kForward);
  const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(way.choice.algorithm);
  check_dnn(state_->run_forward(algorithm, x, weights, y, work, way.bytes), name_of(Pass::kForward));
}

void Convolution::backward_data(const void* dy, const void* weights, void* dx, void* work) {
  Device::mine();
  const Way& way = state_->way(Pass::kData);
  HB_ASSERT(way.choice.algorithm >= 0);
  const auto algorithm = static_cast<cudnnConvolutionBwdDataAlgo_t>(way.choice.algorithm);
  check_dnn(state_->run_data(algorithm, dy, weights, dx, work, way.bytes), name_of(Pass::kData));
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights, void* work) {
  Device::mine();
  const Way& way = state_->way(Pass::kWeights);
  const auto algorithm = static_cast<cudnnConvolutionBwdFilterAlgo_t>(way.choice.algorithm);
  check_dnn(state_->run_weights(algorithm, x, dy, dweights, work, way.bytes), name_of(Pass::kWeights));
}

}  // namespace hopbench::cuda
