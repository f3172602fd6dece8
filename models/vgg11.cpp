// VGG-11 for 3x32x32: configuration A of Simonyan, Zisserman, "Very deep convolutional networks for large-scale image
// recognition" (2015), without batch norms, with one dense layer instead of three, as is usual for CIFAR.
//
//   conv 64 - pool - 128 - pool - 256 256 - pool - 512 512 - pool - 512 512 - pool - dense; all 3x3 with a ReLU
//
// 9 225 610 parameters for 10 classes: convolutions 9 220 480, dense 5 130.
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec&, const Shape& input, int classes,
                                int largest_batch) {
  using Type = LayerSpec::Type;
  require_labels("vgg11", classes);
  std::vector<LayerSpec> layers;
  for (const int channels : {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}) {
    if (channels == 0) {
      layers.push_back({.type = Type::kMaxPool, .kernel = 2, .stride = 2});
      continue;
    }
    layers.push_back({.type = Type::kConv, .outputs = channels, .kernel = 3, .padding = 1});
    layers.push_back({.type = Type::kRelu});
  }
  layers.push_back({.type = Type::kDense, .outputs = classes});
  return make_sequential(backend, std::move(layers), input, largest_batch, Initial::kHe);
}

}  // namespace

ModelEntry vgg11() { return {"vgg11", "VGG-11: 9 225 610 parameters for 3x32x32", "cifar10", create}; }

}  // namespace hopbench
