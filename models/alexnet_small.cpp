// A downsized AlexNet for 3x32x32: three convolutions and two dense layers. Zhao et al., "Dynamic stale synchronous
// parallel distributed training for deep learning" (ICDCS 2019), train such a network on CIFAR-10, but we know of no
// publication of its layer widths. The widths here are those of Krizhevsky's small CIFAR-10 network (cuda-convnet;
// Caffe's cifar10_quick), with AlexNet's overlapping max-pools and its ReLU after the first dense layer.
//
//   conv 5x5 32 - pool - conv 5x5 32 - pool - conv 5x5 64 - pool - dense 64 - dense
//
// 145 578 parameters for 3x32x32 and 10 classes: 2 432 + 25 632 + 51 264 + 65 600 + 650.
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec&, const Shape& input, int classes,
                                int largest_batch) {
  using Type = LayerSpec::Type;
  require_labels("alexnet_small", classes);
  std::vector<LayerSpec> layers;
  for (const int channels : {32, 32, 64}) {
    layers.push_back({.type = Type::kConv, .outputs = channels, .kernel = 5, .padding = 2});
    layers.push_back({.type = Type::kRelu});
    layers.push_back({.type = Type::kMaxPool, .kernel = 3, .stride = 2, .padding = 1});
  }
  layers.push_back({.type = Type::kDense, .outputs = 64});
  layers.push_back({.type = Type::kRelu});
  layers.push_back({.type = Type::kDense, .outputs = classes});
  return make_sequential(backend, std::move(layers), input, largest_batch, Initial::kHe);
}

}  // namespace

ModelEntry alexnet_small() {
  return {"alexnet_small", "3 convolutions, 2 dense layers: 145 578 parameters for 3x32x32", "cifar10", create};
}

}  // namespace hopbench
