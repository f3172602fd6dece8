// LeNet: two convolutions and three dense layers, after LeCun, Bottou, Bengio, Haffner, "Gradient-based learning
// applied to document recognition" (1998), with ReLUs, max-pooling and full connections between the feature maps.
//
//   1x28x28 -conv 5x5, pad 2-> 6x28x28 -pool-> 6x14x14 -conv 5x5-> 16x10x10 -pool-> 400 -dense-> 120 -> 84 -> 10
//
// 61 706 parameters for 1x28x28 and 10 classes: 156 + 2 416 + 48 120 + 10 164 + 850. Small on purpose: eight workers
// must be able to share two cores.
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec&, const Shape& input, int classes,
                                int largest_batch) {
  using Type = LayerSpec::Type;
  require_labels("lenet", classes);
  const LayerSpec relu{.type = Type::kRelu};
  const LayerSpec pool{.type = Type::kMaxPool, .kernel = 2, .stride = 2};
  return make_sequential(backend,
                         {{.type = Type::kConv, .outputs = 6, .kernel = 5, .padding = 2},
                          relu,
                          pool,
                          {.type = Type::kConv, .outputs = 16, .kernel = 5},
                          relu,
                          pool,
                          {.type = Type::kDense, .outputs = 120},
                          relu,
                          {.type = Type::kDense, .outputs = 84},
                          relu,
                          {.type = Type::kDense, .outputs = classes}},
                         input, largest_batch);
}

}  // namespace

ModelEntry lenet() { return {"lenet", "LeNet with ReLUs: 61 706 parameters for 28x28", "fashion_mnist", create}; }

}  // namespace hopbench
