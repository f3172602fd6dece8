// A perceptron with one hidden layer of 128 ReLUs, on the features of any data set with labels.
// 101 770 parameters for 784 features and 10 classes: 100 480 + 1 290.
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec&, const Shape& input, int classes,
                                int largest_batch) {
  using Type = LayerSpec::Type;
  require_labels("mlp", classes);
  return make_sequential(
      backend,
      {{.type = Type::kDense, .outputs = 128}, {.type = Type::kRelu}, {.type = Type::kDense, .outputs = classes}},
      input, largest_batch);
}

}  // namespace

ModelEntry mlp() { return {"mlp", "one hidden layer of 128: 101 770 parameters for 28x28", "fashion_mnist", create}; }

}  // namespace hopbench
