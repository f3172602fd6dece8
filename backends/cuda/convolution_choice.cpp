// Chooses the algorithm of cuDNN that computes a layer.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "backends/base/error.h"
#include "backends/cuda/convolution_state.h"
#include "backends/cuda/device.h"

namespace hopbench::cuda {
namespace {

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

std::optional<Choice> known_choice(const Key& key) {
  const std::lock_guard lock(choices().mutex);
  const auto found = choices().known.find(key);
  return found == choices().known.end() ? std::nullopt : std::optional(found->second);
}
void keep_choice(const Key& key, const Choice& choice) {
  const std::lock_guard lock(choices().mutex);
  choices().known[key] = choice;
}

}  // namespace

Key Convolution::State::key(Pass pass) const {
  return {shape.in.batch, shape.in.channels, shape.in.height, shape.in.width,     shape.out.channels, shape.kernel,
          shape.stride,   shape.padding,     int(precision),  int(deterministic), int(pass)};
}

bool Convolution::State::room(Pass pass, int algorithm, std::size_t* bytes) const {
  const auto status = [&] {
    switch (pass) {
      case Pass::kForward:
        return dnn().cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, way(pass).how, y,
                                                             static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), bytes);
      case Pass::kData:
        return dnn().cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, w, y, way(pass).how, x, static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm), bytes);
      case Pass::kWeights:
        break;
    }
    return dnn().cudnnGetConvolutionBackwardFilterWorkspaceSize(
        handle, x, y, way(pass).how, w, static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm), bytes);
  };
  return status() == CUDNN_STATUS_SUCCESS && *bytes <= largest_work();
}

void Convolution::State::take(Pass pass, const Choice& choice) {
  check_dnn(dnn().cudnnSetConvolutionMathType(way(pass).how, choice.arithmetic), "setting the arithmetic");
}

void Convolution::State::settle(Pass pass) {
  if (way(pass).choice.algorithm >= 0) return;
  const auto known = known_choice(key(pass));
  const Choice choice = known ? *known : choose_by_shape(pass);
  if (!known) keep_choice(key(pass), choice);
  std::size_t bytes = 0;
  take(pass, choice);
  HB_ASSERT(room(pass, choice.algorithm, &bytes));
  way(pass).choice = choice, way(pass).bytes = bytes;
}

// A choice may depend on shapes only. Therefore it is made for the next multiple of kBatches, whichever of the batch
// sizes up to it comes first.
Choice Convolution::State::choose_by_shape(Pass pass) {
  Shape wide = shape;
  wide.in.batch = wide.out.batch = (shape.in.batch + kBatches - 1) / kBatches * kBatches;
  if (wide.in.batch == shape.in.batch) return choose(pass);
  State there(handle, stream, wide, precision, deterministic);
  there.describe();
  auto choice = known_choice(there.key(pass));
  if (!choice) {
    choice = there.choose(pass);
    keep_choice(there.key(pass), *choice);
  }
  return computes(pass, *choice) ? *choice : choose(pass);
}

Convolution::State::Numbers::Numbers(const Shape& shape, Precision precision)
    : x(shape.in.size() * bytes_of(number_of(precision))),
      w(std::size_t(shape.out.channels) * std::size_t(shape.in.channels) * std::size_t(shape.kernel) *
        std::size_t(shape.kernel) * bytes_of(number_of(precision))),
      y(shape.out.size() * bytes_of(number_of(precision))) {}

bool Convolution::State::computes(Pass pass, const Choice& choice) {
  take(pass, choice);
  std::size_t bytes = 0;
  if (!room(pass, choice.algorithm, &bytes)) return false;
  const Numbers on(shape, precision);
  const Buffer work(bytes);
  const auto status = [&] {
    switch (pass) {
      case Pass::kForward:
        return run_forward(static_cast<cudnnConvolutionFwdAlgo_t>(choice.algorithm), on.x.data(), on.w.data(),
                           on.y.data(), work.data(), bytes);
      case Pass::kData:
        return run_data(static_cast<cudnnConvolutionBwdDataAlgo_t>(choice.algorithm), on.y.data(), on.w.data(),
                        on.x.data(), work.data(), bytes);
      case Pass::kWeights:
        break;
    }
    return run_weights(static_cast<cudnnConvolutionBwdFilterAlgo_t>(choice.algorithm), on.x.data(), on.y.data(),
                       on.w.data(), work.data(), bytes);
  };
  const bool computed = status() == CUDNN_STATUS_SUCCESS;
  wait_for(stream);
  return computed;
}

Choice Convolution::State::choose(Pass pass) {
  const Numbers on(shape, precision);
  switch (pass) {
    case Pass::kForward:
      return choose_forward(on);
    case Pass::kData:
      return choose_data(on);
    case Pass::kWeights:
      break;
  }
  return choose_weights(on);
}

/// Chooses from cuDNN's proposals, which rank(room, &found, list) and measure(room, &found, list, work, bytes) return.
/// A proposal may still be refused when it is run.
template <class Perf, class Rank, class Measure>
Choice Convolution::State::choose(Pass pass, const Rank& rank, const Measure& measure) {
  const char* const what = name_of(pass);
  std::array<Perf, 16> list{};
  int found = 0;
  if (deterministic) {
    check_dnn(rank(int(list.size()), &found, list.data()), what);
  } else {
    const Buffer work(std::min(largest_work(), Device::mine().free_memory() / 4));
    const std::shared_lock hold(recording());
    check_dnn(measure(int(list.size()), &found, list.data(), work.data(), work.bytes()), what);
  }
  // In each direction algorithm 1 is the one for tensor cores that repeats its bits; a ranking may put a plain one
  // first, and the same algorithm without tensor cores before the one with them.
  const auto proposed = std::span(list).first(std::size_t(found));
  const auto place = [&](const Perf& perf) {
    return std::pair(int(perf.algo) != 1, precision != Precision::kFp32 && perf.mathType == CUDNN_FMA_MATH);
  };
  if (deterministic)
    std::stable_sort(proposed.begin(), proposed.end(),
                     [&](const Perf& a, const Perf& b) { return place(a) < place(b); });
  std::string why = "nothing was proposed";
  for (const Perf& perf : proposed) {
    if (perf.status != CUDNN_STATUS_SUCCESS) continue;
    if (deterministic && perf.determinism != CUDNN_DETERMINISTIC) continue;
    // fp32 never uses tensor cores, whatever is proposed. Otherwise algorithm and arithmetic are proposed together.
    const Choice choice{int(perf.algo), precision != Precision::kFp32 ? perf.mathType : arithmetic_of(precision)};
    if (computes(pass, choice)) return choice;
    why = "what is proposed is refused when it is run";
  }
  throw environment_error(fmt::format(
      "cuda: {} {}x{}x{}x{} -> {} (kernel {}, stride {}, padding {}): cuDNN has no {}algorithm ({}): {}", what,
      shape.in.batch, shape.in.channels, shape.in.height, shape.in.width, shape.out.channels, shape.kernel,
      shape.stride, shape.padding, deterministic ? "deterministic " : "", why,
      deterministic ? "set compute.deterministic = false, or take another precision" : "take another precision"));
}

Choice Convolution::State::choose_forward(const Numbers& on) {
  return choose<cudnnConvolutionFwdAlgoPerf_t>(
      Pass::kForward,
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, way(Pass::kForward).how, y, room, found,
                                                            list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionForwardAlgorithmEx(handle, x, on.x.data(), w, on.w.data(),
                                                            way(Pass::kForward).how, y, on.y.data(), room, found, list,
                                                            work, bytes);
      });
}

Choice Convolution::State::choose_data(const Numbers& on) {
  return choose<cudnnConvolutionBwdDataAlgoPerf_t>(
      Pass::kData,
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, way(Pass::kData).how, x, room, found,
                                                                 list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionBackwardDataAlgorithmEx(handle, w, on.w.data(), y, on.y.data(),
                                                                 way(Pass::kData).how, x, on.x.data(), room, found,
                                                                 list, work, bytes);
      });
}

Choice Convolution::State::choose_weights(const Numbers& on) {
  return choose<cudnnConvolutionBwdFilterAlgoPerf_t>(
      Pass::kWeights,
      [&](int room, int* found, auto* list) {
        return dnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, y, way(Pass::kWeights).how, w, room,
                                                                   found, list);
      },
      [&](int room, int* found, auto* list, void* work, std::size_t bytes) {
        return dnn().cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, x, on.x.data(), y, on.y.data(),
                                                                   way(Pass::kWeights).how, w, on.w.data(), room, found,
                                                                   list, work, bytes);
      });
}

}  // namespace hopbench::cuda
