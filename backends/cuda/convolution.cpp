#include "backends/cuda/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "backends/base/error.h"
#include "backends/cuda/device.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {
namespace {

// Whatever is to be the same each time may not depend on how much memory is free.
std::size_t largest_work() { return std::min<std::size_t>(std::size_t(1) << 30, Device::mine().memory() / 16); }

cudnnDataType_t type_of(Precision precision) {
  return precision == Precision::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

// The default lets float data through tensor cores, rounded to TF32.
cudnnMathType_t arithmetic_of(Precision precision) {
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

constexpr float kOne = 1, kZero = 0;

/// One of the three: how it is computed.
struct Way {
  cudnnConvolutionDescriptor_t how = nullptr;
  int algorithm = -1;  // none chosen
  std::size_t bytes = 0;
  cudnnMathType_t arithmetic = CUDNN_DEFAULT_MATH;
};
/// What was chosen for layers of one shape: batch, channels, height, width, outputs, kernel, stride, padding,
/// precision, deterministic.
using Key = std::array<int, 10>;
struct Chosen {
  Way forward, data, weights;
};

}  // namespace

struct ConvolutionLibrary::State {
  Stream stream = nullptr;
  cudnnHandle_t handle = nullptr;
  std::map<Key, Chosen> known;

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

struct Convolution::State {
  cudnnHandle_t handle = nullptr;
  Stream stream = nullptr;
  Shape shape;
  Precision precision = Precision::kFp32;
  bool deterministic = true;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  Way forward, data, weights;

  ~State() {
    for (const Way* way : {&forward, &data, &weights}) {
      if (way->how != nullptr) dnn().cudnnDestroyConvolutionDescriptor(way->how);
    }
    if (w != nullptr) dnn().cudnnDestroyFilterDescriptor(w);
    if (y != nullptr) dnn().cudnnDestroyTensorDescriptor(y);
    if (x != nullptr) dnn().cudnnDestroyTensorDescriptor(x);
  }

  void describe();
  void take(Way& way, const Way& chosen) const {
    way.algorithm = chosen.algorithm, way.bytes = chosen.bytes, way.arithmetic = chosen.arithmetic;
    check_dnn(dnn().cudnnSetConvolutionMathType(way.how, way.arithmetic), "setting the arithmetic");
  }
  void describe_tensor(cudnnTensorDescriptor_t& tensor, const Cells& cells) const;

  template <class Perf, class Rank, class Measure, class Bytes, class Run>
  void choose(Way& way, const char* what, const Rank& rank, const Measure& measure, const Bytes& bytes, const Run& run);
  void choose_forward(void* at_x, void* at_w, void* at_y);
  void choose_data(void* at_x, void* at_w, void* at_y);
  void choose_weights(void* at_x, void* at_w, void* at_y);

  cudnnStatus_t run_forward(cudnnConvolutionFwdAlgo_t algorithm, const void* from, const void* filter, void* to,
                            void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionForward(handle, &kOne, x, from, w, filter, forward.how, algorithm, work, bytes, &kZero,
                                         y, to);
  }
  cudnnStatus_t run_data(cudnnConvolutionBwdDataAlgo_t algorithm, const void* dy, const void* filter, void* dx,
                         void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionBackwardData(handle, &kOne, w, filter, y, dy, data.how, algorithm, work, bytes, &kZero,
                                              x, dx);
  }
  cudnnStatus_t run_weights(cudnnConvolutionBwdFilterAlgo_t algorithm, const void* from, const void* dy, void* dw,
                            void* work, std::size_t bytes) const {
    return dnn().cudnnConvolutionBackwardFilter(handle, &kOne, x, from, y, dy, weights.how, algorithm, work, bytes,
                                                &kZero, w, dw);
  }
};

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
  for (Way* way : {&forward, &data, &weights}) {
    check_dnn(dnn().cudnnCreateConvolutionDescriptor(&way->how), "describing a convolution");
    check_dnn(dnn().cudnnSetConvolution2dDescriptor(way->how, shape.padding, shape.padding, shape.stride, shape.stride,
                                                    1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "describing a convolution");
    check_dnn(dnn().cudnnSetConvolutionMathType(way->how, arithmetic_of(precision)), "setting the arithmetic");
  }
}

/// rank(room, &found, list) and measure(room, &found, list, work, bytes) are cuDNN's proposals; bytes(algorithm, &n)
/// what one wants to work in; run(algorithm, work, n) runs it. What is proposed may still be refused when it is run.
template <class Perf, class Rank, class Measure, class Bytes, class Run>
void Convolution::State::choose(Way& way, const char* what, const Rank& rank, const Measure& measure,
                                const Bytes& bytes, const Run& run) {
  std::array<Perf, 16> list{};
  int found = 0;
  if (deterministic) {
    check_dnn(rank(int(list.size()), &found, list.data()), what);
  } else {
    const Buffer work(std::min(largest_work(), Device::mine().free_memory() / 4));
    const std::shared_lock hold(recording());
    check_dnn(measure(int(list.size()), &found, list.data(), work.data(), work.bytes()), what);
  }
  // Of each direction algorithm 1 is the one for tensor cores that repeats its bits; a ranking may put a plain one
  // first.
  const auto proposed = std::span(list).first(std::size_t(found));
  if (deterministic)
    std::stable_partition(proposed.begin(), proposed.end(), [](const Perf& perf) { return int(perf.algo) == 1; });
  std::string why = "nothing was proposed";
  for (const Perf& perf : proposed) {
    if (perf.status != CUDNN_STATUS_SUCCESS) continue;
    if (deterministic && perf.determinism != CUDNN_DETERMINISTIC) continue;
    // fp32 stays without tensor cores whatever is proposed; else algorithm and arithmetic are proposed together.
    if (precision != Precision::kFp32) {
      check_dnn(dnn().cudnnSetConvolutionMathType(way.how, perf.mathType), "setting the arithmetic");
    }
    std::size_t wanted = 0;
    if (bytes(perf.algo, &wanted) != CUDNN_STATUS_SUCCESS || wanted > largest_work()) continue;
    const Buffer work(wanted);
    const cudnnStatus_t status = run(perf.algo, work.data(), wanted);
    if (status == CUDNN_STATUS_SUCCESS) {
      wait_for(stream);
      way.algorithm = int(perf.algo);
      way.bytes = wanted;
      way.arithmetic = precision != Precision::kFp32 ? perf.mathType : arithmetic_of(precision);
      return;
    }
    why = dnn().cudnnGetErrorString(status);
  }
  throw environment_error(fmt::format(
      "cuda: {} {}x{}x{}x{} -> {} (kernel {}, stride {}, padding {}): cuDNN has no {}algorithm ({}): {}", what,
      shape.in.batch, shape.in.channels, shape.in.height, shape.in.width, shape.out.channels, shape.kernel,
      shape.stride, shape.padding, deterministic ? "deterministic " : "", why,
      deterministic ? "set compute.deterministic = false, or take another precision" : "take another precision"));
}

void Convolution::State::choose_forward(void* at_x, void* at_w, void* at_y) {
  choose<cudnnConvolutionFwdAlgoPerf_t>(
      forward, "a convolution",
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, forward.how, y, room, found, list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionForwardAlgorithmEx(handle, x, at_x, w, at_w, forward.how, y, at_y, room, found,
                                                            list, work, bytes);
      },
      [&](auto algorithm, std::size_t* bytes) {
        return dnn().cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, forward.how, y, algorithm, bytes);
      },
      [&](auto algorithm, void* work, std::size_t bytes) {
        return run_forward(algorithm, at_x, at_w, at_y, work, bytes);
      });
}

void Convolution::State::choose_data(void* at_x, void* at_w, void* at_y) {
  choose<cudnnConvolutionBwdDataAlgoPerf_t>(
      data, "the input's gradient of a convolution",
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, data.how, x, room, found, list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionBackwardDataAlgorithmEx(handle, w, at_w, y, at_y, data.how, x, at_x, room,
                                                                 found, list, work, bytes);
      },
      [&](auto algorithm, std::size_t* bytes) {
        return dnn().cudnnGetConvolutionBackwardDataWorkspaceSize(handle, w, y, data.how, x, algorithm, bytes);
      },
      [&](auto algorithm, void* work, std::size_t bytes) {
        return run_data(algorithm, at_y, at_w, at_x, work, bytes);
      });
}

void Convolution::State::choose_weights(void* at_x, void* at_w, void* at_y) {
  choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
      weights, "the weights' gradient of a convolution",
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, y, weights.how, w, room, found, list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, x, at_x, y, at_y, weights.how, w, at_w, room,
                                                                   found, list, work, bytes);
      },
      [&](auto algorithm, std::size_t* bytes) {
        return dnn().cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x, y, weights.how, w, algorithm, bytes);
      },
      [&](auto algorithm, void* work, std::size_t bytes) {
        return run_weights(algorithm, at_x, at_y, at_w, work, bytes);
      });
}

Convolution::Convolution(ConvolutionLibrary& library, const Shape& shape, Precision precision, bool deterministic,
                         bool data_gradient)
    : state_(std::make_unique<State>()) {
  Device::mine();
  State& s = *state_;
  s.handle = library.state_->handle;
  s.stream = library.state_->stream;
  s.shape = shape;
  s.precision = precision;
  s.deterministic = deterministic;
  s.describe();
  const Key key = {shape.in.batch, shape.in.channels, shape.in.height, shape.in.width, shape.out.channels,
                   shape.kernel,   shape.stride,      shape.padding,   int(precision), int(deterministic)};
  if (const auto known = library.state_->known.find(key);
      known != library.state_->known.end() && (!data_gradient || known->second.data.algorithm >= 0)) {
    s.take(s.forward, known->second.forward);
    s.take(s.weights, known->second.weights);
    if (data_gradient) s.take(s.data, known->second.data);
    return;
  }
  // Something to run on, for the choice's sake.
  const std::size_t each = bytes_of(number_of(precision));
  const std::size_t weights = std::size_t(shape.out.channels) * std::size_t(shape.in.channels) *
                              std::size_t(shape.kernel) * std::size_t(shape.kernel);
  const Buffer x(shape.in.size() * each), w(weights * each), y(shape.out.size() * each);
  s.choose_forward(x.data(), w.data(), y.data());
  s.choose_weights(x.data(), w.data(), y.data());
  if (data_gradient) s.choose_data(x.data(), w.data(), y.data());
  library.state_->known[key] = {s.forward, s.data, s.weights};
}

Convolution::~Convolution() = default;

std::size_t Convolution::work_bytes() const {
  return std::max({state_->forward.bytes, state_->data.bytes, state_->weights.bytes});
}

std::string Convolution::algorithms() const {
  const std::string data = state_->data.algorithm < 0 ? "" : fmt::format(", data {}", state_->data.algorithm);
  return fmt::format("forward {}{}, weights {}", state_->forward.algorithm, data, state_->weights.algorithm);
}

void Convolution::forward(const void* x, const void* weights, void* y, void* work) {
  Device::mine();
  const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(state_->forward.algorithm);
  check_dnn(state_->run_forward(algorithm, x, weights, y, work, state_->forward.bytes), "a convolution");
}

void Convolution::backward_data(const void* dy, const void* weights, void* dx, void* work) {
  HB_ASSERT(state_->data.algorithm >= 0);
  Device::mine();
  const auto algorithm = static_cast<cudnnConvolutionBwdDataAlgo_t>(state_->data.algorithm);
  check_dnn(state_->run_data(algorithm, dy, weights, dx, work, state_->data.bytes),
            "the input's gradient of a convolution");
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights, void* work) {
  Device::mine();
  const auto algorithm = static_cast<cudnnConvolutionBwdFilterAlgo_t>(state_->weights.algorithm);
  check_dnn(state_->run_weights(algorithm, x, dy, dweights, work, state_->weights.bytes),
            "the weights' gradient of a convolution");
}

}  // namespace hopbench::cuda
