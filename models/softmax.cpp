// Softmax regression: one dense layer on the features of any data set with labels. Convex.
// 7 850 parameters for 784 features and 10 classes.
#include "models/sequential.h"
#include "models/workload.h"

namespace hopbench {
namespace {

std::unique_ptr<Learner> create(Backend& backend, const WorkloadSpec&, const Shape& input, int classes,
                                int largest_batch) {
  require_labels("softmax", classes);
  return make_sequential(backend, {{.type = LayerSpec::Type::kDense, .outputs = classes}}, input, largest_batch);
}

}  // namespace

ModelEntry softmax() { return {"softmax", "softmax regression: 7 850 parameters for 28x28", "fashion_mnist", create}; }

}  // namespace hopbench
