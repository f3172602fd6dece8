#include <fmt/format.h>

#include "backends/base/error.h"
#include "backends/compute/backend.h"

namespace hopbench {
namespace {

using Type = LayerSpec::Type;

bool has_window(Type type) { return type == Type::kConv || type == Type::kMaxPool || type == Type::kAvgPool; }
bool has_outputs(Type type) { return type == Type::kConv || type == Type::kDense; }

[[noreturn]] void does_not_fit(const LayerSpec& layer, const Shape& input, const std::string& why) {
  throw usage_error(fmt::format("{} does not fit its input {}: {}", to_string(layer), to_string(input), why));
}

void check(const LayerSpec& layer, const Shape& input) {
  if (input.channels < 1 || input.height < 1 || input.width < 1) {
    does_not_fit(layer, input, "the input is empty: every extent must be at least 1");
  }
  if (has_outputs(layer.type) && layer.outputs < 1) {
    does_not_fit(layer, input, fmt::format("it has {} outputs: give it at least 1", layer.outputs));
  }
  if (layer.type == Type::kAdd && layer.stride < 1) does_not_fit(layer, input, "its stride must be at least 1");
  if (!has_window(layer.type)) return;
  if (layer.kernel < 1 || layer.stride < 1 || layer.padding < 0) {
    does_not_fit(layer, input, "kernel and stride must be at least 1, padding at least 0");
  }
  if (layer.padding >= layer.kernel) {
    does_not_fit(layer, input, "a window could lie wholly in the padding: take a padding below the kernel");
  }
  if (input.height + 2 * layer.padding < layer.kernel || input.width + 2 * layer.padding < layer.kernel) {
    does_not_fit(layer, input,
                 fmt::format("the {0}x{0} window is larger than the padded input {1}x{2}: take a smaller kernel or "
                             "fewer layers before it",
                             layer.kernel, input.height + 2 * layer.padding, input.width + 2 * layer.padding));
  }
}

int windows(const LayerSpec& layer, int extent) {
  return (extent + 2 * layer.padding - layer.kernel) / layer.stride + 1;
}

/// Returns the number of inputs that one output of a conv or dense layer is computed from.
std::size_t fan_in(const LayerSpec& layer, const Shape& input) {
  if (layer.type == Type::kDense) return input.size();
  return std::size_t(input.channels) * std::size_t(layer.kernel) * std::size_t(layer.kernel);
}

}  // namespace

const char* to_string(LayerSpec::Type type) {
  static constexpr const char* kNames[] = {"conv", "dense", "relu", "max pool", "average pool", "batch norm", "add"};
  return kNames[std::size_t(type)];
}

std::string to_string(const Shape& shape) { return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width); }

std::string to_string(const LayerSpec& layer) {
  std::string text = to_string(layer.type);
  if (has_window(layer.type)) text += fmt::format(" {0}x{0}", layer.kernel);
  if (has_outputs(layer.type)) text += fmt::format(" -> {}", layer.outputs);
  if (has_window(layer.type)) text += fmt::format(" (stride {}, padding {})", layer.stride, layer.padding);
  if (has_outputs(layer.type) && !layer.bias) text += " without bias";
  if (layer.type == Type::kAdd) text += fmt::format(" layer {} (stride {})", layer.from, layer.stride);
  return text;
}

Shape output_shape(const LayerSpec& layer, const Shape& input) {
  check(layer, input);
  if (layer.type == Type::kDense) return {layer.outputs, 1, 1};
  if (!has_window(layer.type)) return input;
  const int channels = has_outputs(layer.type) ? layer.outputs : input.channels;
  return {channels, windows(layer, input.height), windows(layer, input.width)};
}

std::size_t parameter_count(const LayerSpec& layer, const Shape& input) {
  check(layer, input);
  if (layer.type == Type::kBatchNorm) return 2 * std::size_t(input.channels);
  if (!has_outputs(layer.type)) return 0;
  return std::size_t(layer.outputs) * (fan_in(layer, input) + (layer.bias ? 1 : 0));
}

std::size_t statistic_count(const LayerSpec& layer, const Shape& input) {
  return layer.type == Type::kBatchNorm ? 2 * std::size_t(input.channels) : 0;
}

double forward_flops(const LayerSpec& layer, const Shape& input) {
  const Shape output = output_shape(layer, input);
  if (!has_outputs(layer.type)) return 0;
  return 2.0 * double(output.size()) * double(fan_in(layer, input));
}

}  // namespace hopbench
