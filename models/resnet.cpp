// Residual networks for CIFAR: He, Zhang, Ren, Sun, "Deep residual learning for image recognition" (2016), section 4.2.
//
//   conv 3x3 16 - n blocks of 16 - n of 32 - n of 64 - mean of each map - dense; 6n + 2 layers
//
// A block: conv 3x3 - batch norm - ReLU - conv 3x3 - batch norm - add its input - ReLU. The first block of 32 and of 64
// halves the maps. Shortcuts are of option A, without parameters. Convolutions have no bias, because the batch norm
// after each has a shift.
//
// Parameters for 10 classes: 269 722 (n = 3), 464 154 (5), 853 018 (9). In addition, there is one running statistic for
// each scale and shift.
#include "backends/base/error.h"
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

using Type = LayerSpec::Type;

void add_conv(std::vector<LayerSpec>& layers, int channels, int stride) {
  layers.push_back(
      {.type = Type::kConv, .outputs = channels, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  layers.push_back({.type = Type::kBatchNorm});
}

void add_block(std::vector<LayerSpec>& layers, int channels, int stride) {
  const int from = int(layers.size()) - 1;
  add_conv(layers, channels, stride);
  layers.push_back({.type = Type::kRelu});
  add_conv(layers, channels, 1);
  layers.push_back({.type = Type::kAdd, .stride = stride, .from = from});
  layers.push_back({.type = Type::kRelu});
}

template <int n>
std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec& spec, const Shape& input, int classes,
                                int largest_batch) {
  require_labels(spec.model, classes);
  if (input.height != input.width || input.height % 4 != 0)
    throw usage_error("model " + spec.model + " cannot be trained on samples of " + to_string(input) +
                      ": it needs square maps whose side is a multiple of 4: take another data set");
  std::vector<LayerSpec> layers;
  add_conv(layers, 16, 1);
  layers.push_back({.type = Type::kRelu});
  for (const int channels : {16, 32, 64}) {
    for (int block = 0; block < n; ++block) add_block(layers, channels, block == 0 && channels > 16 ? 2 : 1);
  }
  layers.push_back({.type = Type::kAvgPool, .kernel = input.height / 4});
  layers.push_back({.type = Type::kDense, .outputs = classes});
  return make_sequential(backend, std::move(layers), input, largest_batch, Initial::kHe, spec.statistics);
}

}  // namespace

ModelEntry resnet20() {
  return {"resnet20", "ResNet-20 with batch norms: 269 722 parameters for 3x32x32", "cifar10", create<3>};
}
ModelEntry resnet32() {
  return {"resnet32", "ResNet-32 with batch norms: 464 154 parameters for 3x32x32", "cifar10", create<5>};
}
ModelEntry resnet56() {
  return {"resnet56", "ResNet-56 with batch norms: 853 018 parameters for 3x32x32", "cifar10", create<9>};
}

}  // namespace hopbench
