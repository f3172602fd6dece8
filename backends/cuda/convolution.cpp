#include "backends/cuda/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "backends/base/error.h"
#include "backends/cuda/device.h"
#include "backends/cuda/libraries.h"

namespace hopbench::cuda {
namespace {

enum class Pass { kForward, kData, kWeights };
constexpr const char* kNames[] = {"a convolution", "the input's gradient of a convolution",
                                  "the weights' gradient of a convolution"};

/// An algorithm, and the arithmetic that it was proposed with.
struct Choice {
  int algorithm = -1;  // none
  cudnnMathType_t arithmetic = CUDNN_DEFAULT_MATH;
};

struct DestroyDescriptor {
  void operator()(cudnnTensorDescriptor_t tensor) const { dnn().cudnnDestroyTensorDescriptor(tensor); }
  void operator()(cudnnFilterDescriptor_t filter) const { dnn().cudnnDestroyFilterDescriptor(filter); }
  void operator()(cudnnConvolutionDescriptor_t way) const { dnn().cudnnDestroyConvolutionDescriptor(way); }
};
template <class Pointer>
using Descriptor = std::unique_ptr<std::remove_pointer_t<Pointer>, DestroyDescriptor>;

template <class Pointer>
Descriptor<Pointer> described(cudnnStatus_t (*create)(Pointer*), const char* what) {
  Pointer made = nullptr;
  check_dnn(create(&made), what);
  return Descriptor<Pointer>(made);
}

/// One of the three passes, with the way it is computed.
struct Way {
  Descriptor<cudnnConvolutionDescriptor_t> how;
  Choice choice;
  std::size_t bytes = 0;
};

/// The functions of cuDNN for one pass.
template <class Perf, class Run, class Room, class Rank, class Measure>
struct Functions {
  Perf listed;  // of which only the type matters: how proposals are listed
  Run run;
  Room room;
  Rank rank;
  Measure measure;
  using Algorithm = decltype(Perf::algo);
};
template <class Perf, class Run, class Room, class Rank, class Measure>
Functions(Perf, Run, Room, Rank, Measure) -> Functions<Perf, Run, Room, Rank, Measure>;

/// The arguments of a pass, which computes c from a and b.
struct Operands {
  const void *a, *b;
  void *c, *work;
};

/// A choice's key: batch, channels, height, width, outputs, kernel, stride, padding, precision, deterministic, pass.
using Key = std::array<int, 11>;

cudnnDataType_t type_of(Precision precision) {
  return precision == Precision::kBf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

// The default lets float data through tensor cores, rounded to TF32.
cudnnMathType_t arithmetic_of(Precision precision) {
  if (precision == Precision::kFp32) return CUDNN_FMA_MATH;
  return precision == Precision::kTf32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

// Returns a limit. It may not depend on the free memory, because the choice must be the same each time.
std::size_t largest_work() { return std::min<std::size_t>(std::size_t(1) << 30, Device::mine().memory() / 16); }

constexpr int kBatches = 8;  // number of batch sizes that share a choice

/// All choices of this process. Never destroyed: layers may be made at the very end of the process.
struct Choices {
  std::mutex mutex;
  std::map<Key, Choice> known;
};
Choices& choices() {
  static auto* const all = new Choices;
  return *all;
}

/// Returns the choice that is known for the key, or else makes it. Two threads may make the same.
template <class Make>
Choice choice_of(const Key& key, const Make& make) {
  const auto known = [&]() -> std::optional<Choice> {
    const std::lock_guard lock(choices().mutex);
    const auto found = choices().known.find(key);
    return found == choices().known.end() ? std::nullopt : std::optional(found->second);
  }();
  if (known) return *known;
  const Choice made = make();
  const std::lock_guard lock(choices().mutex);
  choices().known[key] = made;
  return made;
}

}  // namespace

struct Convolution::State {
  State(cudnnHandle_t handle_, Stream stream_, const Shape& shape_, Precision precision_, bool deterministic_);

  const cudnnHandle_t handle;
  const Stream stream;
  const Shape shape;
  const Precision precision;
  const bool deterministic;
  Descriptor<cudnnTensorDescriptor_t> x, y;
  Descriptor<cudnnFilterDescriptor_t> w;
  std::array<Way, 3> ways;

  Way& way(Pass pass) { return ways[std::size_t(pass)]; }
  const Way& way(Pass pass) const { return ways[std::size_t(pass)]; }

  /// Operands to run an algorithm on while choosing.
  struct Numbers {
    Numbers(const Shape& shape, Precision precision);
    Operands of(Pass pass, void* work) const;
    Buffer x, w, y;
  };

  /// Calls f(Functions, a, b, c) with the descriptions of the operands of `pass`.
  template <class F>
  auto with(Pass pass, const F& f) const;
  Descriptor<cudnnTensorDescriptor_t> tensor(const Cells& cells) const;
  /// Chooses an algorithm, so that `pass` can be computed from now on.
  void settle(Pass pass);
  void take(Pass pass, const Choice& choice);  // for the calls of cuDNN that follow
  Key key(Pass pass) const;
  bool room(Pass pass, int algorithm, std::size_t* bytes) const;
  cudnnStatus_t run(Pass pass, int algorithm, const Operands& on, std::size_t bytes) const;
  void run(Pass pass, const Operands& on) const;

  /// Runs that algorithm once, on arbitrary numbers. Returns false if it does not compute this shape.
  bool computes(Pass pass, const Choice& choice);
  Choice choose_by_shape(Pass pass);  // a choice that may be kept
  Choice choose(Pass pass);           // from cuDNN's proposals for just this shape
};

template <class F>
auto Convolution::State::with(Pass pass, const F& f) const {
  const Dnn& d = dnn();
  switch (pass) {
    case Pass::kForward:
      return f(Functions{cudnnConvolutionFwdAlgoPerf_t{}, d.cudnnConvolutionForward,
                         d.cudnnGetConvolutionForwardWorkspaceSize, d.cudnnGetConvolutionForwardAlgorithm_v7,
                         d.cudnnFindConvolutionForwardAlgorithmEx},
               x.get(), w.get(), y.get());
    case Pass::kData:
      return f(Functions{cudnnConvolutionBwdDataAlgoPerf_t{}, d.cudnnConvolutionBackwardData,
                         d.cudnnGetConvolutionBackwardDataWorkspaceSize, d.cudnnGetConvolutionBackwardDataAlgorithm_v7,
                         d.cudnnFindConvolutionBackwardDataAlgorithmEx},
               w.get(), y.get(), x.get());
    case Pass::kWeights:
      break;
  }
  return f(Functions{cudnnConvolutionBwdFilterAlgoPerf_t{}, d.cudnnConvolutionBackwardFilter,
                     d.cudnnGetConvolutionBackwardFilterWorkspaceSize, d.cudnnGetConvolutionBackwardFilterAlgorithm_v7,
                     d.cudnnFindConvolutionBackwardFilterAlgorithmEx},
           x.get(), y.get(), w.get());
}

Descriptor<cudnnTensorDescriptor_t> Convolution::State::tensor(const Cells& c) const {
  auto made = described(dnn().cudnnCreateTensorDescriptor, "describing activations");
  check_dnn(dnn().cudnnSetTensor4dDescriptor(made.get(), CUDNN_TENSOR_NHWC, type_of(precision), c.batch, c.channels,
                                             c.height, c.width),
            "describing activations");
  return made;
}

Convolution::State::State(cudnnHandle_t handle_, Stream stream_, const Shape& shape_, Precision precision_,
                          bool deterministic_)
    : handle(handle_),
      stream(stream_),
      shape(shape_),
      precision(precision_),
      deterministic(deterministic_),
      x(tensor(shape.in)),
      y(tensor(shape.out)),
      w(described(dnn().cudnnCreateFilterDescriptor, "describing weights")) {
  check_dnn(dnn().cudnnSetFilter4dDescriptor(w.get(), type_of(precision), CUDNN_TENSOR_NHWC, shape.out.channels,
                                             shape.in.channels, shape.kernel, shape.kernel),
            "describing weights");
  for (Way& way : ways) {
    way.how = described(dnn().cudnnCreateConvolutionDescriptor, "describing a convolution");
    check_dnn(dnn().cudnnSetConvolution2dDescriptor(way.how.get(), shape.padding, shape.padding, shape.stride,
                                                    shape.stride, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "describing a convolution");
    check_dnn(dnn().cudnnSetConvolutionMathType(way.how.get(), arithmetic_of(precision)), "setting the arithmetic");
  }
}

Key Convolution::State::key(Pass pass) const {
  return {shape.in.batch, shape.in.channels, shape.in.height, shape.in.width,     shape.out.channels, shape.kernel,
          shape.stride,   shape.padding,     int(precision),  int(deterministic), int(pass)};
}

bool Convolution::State::room(Pass pass, int algorithm, std::size_t* bytes) const {
  const cudnnStatus_t status = with(pass, [&](auto functions, auto a, auto b, auto c) {
    using Algorithm = typename decltype(functions)::Algorithm;
    return functions.room(handle, a, b, way(pass).how.get(), c, static_cast<Algorithm>(algorithm), bytes);
  });
  return status == CUDNN_STATUS_SUCCESS && *bytes <= largest_work();
}

cudnnStatus_t Convolution::State::run(Pass pass, int algorithm, const Operands& on, std::size_t bytes) const {
  const float one = 1, zero = 0;
  return with(pass, [&](auto functions, auto a, auto b, auto c) {
    using Algorithm = typename decltype(functions)::Algorithm;
    return functions.run(handle, &one, a, on.a, b, on.b, way(pass).how.get(), static_cast<Algorithm>(algorithm),
                         on.work, bytes, &zero, c, on.c);
  });
}

void Convolution::State::run(Pass pass, const Operands& on) const {
  Device::mine();
  HB_ASSERT(way(pass).choice.algorithm >= 0);
  check_dnn(run(pass, way(pass).choice.algorithm, on, way(pass).bytes), kNames[int(pass)]);
}

void Convolution::State::take(Pass pass, const Choice& choice) {
  check_dnn(dnn().cudnnSetConvolutionMathType(way(pass).how.get(), choice.arithmetic), "setting the arithmetic");
}

void Convolution::State::settle(Pass pass) {
  if (way(pass).choice.algorithm >= 0) return;
  const Choice choice = choice_of(key(pass), [&] { return choose_by_shape(pass); });
  take(pass, choice);
  HB_ASSERT(room(pass, choice.algorithm, &way(pass).bytes));
  way(pass).choice = choice;
}

// A choice may depend on shapes only. Therefore it is made for the next multiple of kBatches, whichever of the batch
// sizes up to it comes first.
Choice Convolution::State::choose_by_shape(Pass pass) {
  Shape wide = shape;
  wide.in.batch = wide.out.batch = (shape.in.batch + kBatches - 1) / kBatches * kBatches;
  if (wide.in.batch == shape.in.batch) return choose(pass);
  State there(handle, stream, wide, precision, deterministic);
  const Choice choice = choice_of(there.key(pass), [&] { return there.choose(pass); });
  return computes(pass, choice) ? choice : choose(pass);
}

Convolution::State::Numbers::Numbers(const Shape& shape, Precision precision)
    : x(shape.in.size() * bytes_of(number_of(precision))),
      w(std::size_t(shape.out.channels) * std::size_t(shape.in.channels) * std::size_t(shape.kernel) *
        std::size_t(shape.kernel) * bytes_of(number_of(precision))),
      y(shape.out.size() * bytes_of(number_of(precision))) {}

Operands Convolution::State::Numbers::of(Pass pass, void* work) const {
  if (pass == Pass::kForward) return {x.data(), w.data(), y.data(), work};
  if (pass == Pass::kData) return {w.data(), y.data(), x.data(), work};
  return {x.data(), y.data(), w.data(), work};
}

bool Convolution::State::computes(Pass pass, const Choice& choice) {
  take(pass, choice);
  std::size_t bytes = 0;
  if (!room(pass, choice.algorithm, &bytes)) return false;
  const Numbers numbers(shape, precision);
  const Buffer work(bytes);
  const bool computed = run(pass, choice.algorithm, numbers.of(pass, work.data()), bytes) == CUDNN_STATUS_SUCCESS;
  wait_for(stream);
  return computed;
}

// Chooses from cuDNN's proposals. A proposal may still be refused when it is run.
Choice Convolution::State::choose(Pass pass) {
  const Numbers numbers(shape, precision);
  std::string why = "nothing was proposed";
  const auto chosen = with(pass, [&](auto functions, auto a, auto b, auto c) -> std::optional<Choice> {
    using Perf = decltype(functions.listed);
    std::array<Perf, 16> list{};
    const int most = int(list.size());
    int found = 0;
    const auto how = way(pass).how.get();
    if (deterministic) {
      check_dnn(functions.rank(handle, a, b, how, c, most, &found, list.data()), kNames[int(pass)]);
    } else {
      const Buffer work(std::min(largest_work(), Device::mine().free_memory() / 4));
      const std::shared_lock hold(recording());
      const Operands on = numbers.of(pass, work.data());
      check_dnn(
          functions.measure(handle, a, on.a, b, on.b, how, c, on.c, most, &found, list.data(), on.work, work.bytes()),
          kNames[int(pass)]);
    }
    // In each direction algorithm 1 is the one for tensor cores that repeats its bits; a ranking may put a plain one
    // first, and the same algorithm without tensor cores before the one with them.
    const auto proposed = std::span(list).first(std::size_t(found));
    const auto place = [&](const Perf& perf) {
      return std::pair(int(perf.algo) != 1, precision != Precision::kFp32 && perf.mathType == CUDNN_FMA_MATH);
    };
    if (deterministic)
      std::stable_sort(proposed.begin(), proposed.end(),
                       [&](const Perf& one, const Perf& other) { return place(one) < place(other); });
    for (const Perf& perf : proposed) {
      if (perf.status != CUDNN_STATUS_SUCCESS) continue;
      if (deterministic && perf.determinism != CUDNN_DETERMINISTIC) continue;
      // fp32 never uses tensor cores, whatever is proposed. Otherwise algorithm and arithmetic are proposed together.
      const Choice choice{int(perf.algo), precision != Precision::kFp32 ? perf.mathType : arithmetic_of(precision)};
      if (computes(pass, choice)) return choice;
      why = "what is proposed is refused when it is run";
    }
    return std::nullopt;
  });
  if (chosen) return *chosen;
  throw environment_error(fmt::format(
      "cuda: {} {}x{}x{}x{} -> {} (kernel {}, stride {}, padding {}): cuDNN has no {}algorithm ({}): {}",
      kNames[int(pass)], shape.in.batch, shape.in.channels, shape.in.height, shape.in.width, shape.out.channels,
      shape.kernel, shape.stride, shape.padding, deterministic ? "deterministic " : "", why,
      deterministic ? "set compute.deterministic = false, or take another precision" : "take another precision"));
}

ConvolutionLibrary::ConvolutionLibrary(Stream stream) : stream_(stream) {
  Device::mine();
  const std::shared_lock hold(recording());
  cudnnHandle_t handle = nullptr;
  check_dnn(dnn().cudnnCreate(&handle), "opening cuDNN");
  handle_.reset(handle);
  check_dnn(dnn().cudnnSetStream(handle, stream), "setting a stream");
}

Convolution::Convolution(ConvolutionLibrary& library, const Shape& shape, Precision precision, bool deterministic,
                         bool data_gradient) {
  Device::mine();
  state_ = std::make_unique<State>(library.handle_.get(), library.stream_, shape, precision, deterministic);
  state_->settle(Pass::kForward);
  state_->settle(Pass::kWeights);
  if (data_gradient) state_->settle(Pass::kData);
}

Convolution::~Convolution() = default;

void Convolution::want_data_gradient() {
  Device::mine();
  state_->settle(Pass::kData);
}

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
  state_->run(Pass::kForward, {x, weights, y, work});
}

void Convolution::backward_data(const void* dy, const void* weights, void* dx, void* work) {
  state_->run(Pass::kData, {weights, dy, dx, work});
}

void Convolution::backward_weights(const void* x, const void* dy, void* dweights, void* work) {
  state_->run(Pass::kWeights, {x, dy, dweights, work});
}

}  // namespace hopbench::cuda
