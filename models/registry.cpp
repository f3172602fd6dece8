// The models: one file each, one line here.
#include "backends/base/error.h"
#include "backends/base/text.h"
#include "models/workload.h"

namespace hopbench {

ModelEntry lenet();
ModelEntry mlp();
ModelEntry softmax();
ModelEntry alexnet_small();
ModelEntry vgg11();
ModelEntry resnet20();
ModelEntry resnet32();
ModelEntry resnet56();
ModelEntry linear_svm();
ModelEntry logistic_regression();
ModelEntry quadratic();

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = {
      lenet(),
      mlp(),
      softmax(),
      alexnet_small(),
      vgg11(),
      resnet20(),
      resnet32(),
      resnet56(),
      linear_svm(),
      logistic_regression(),
      quadratic(),
      {"timing_only", "no numbers: model.size parameters that cost time and bytes only; reads no data", "", nullptr},
  };
  return entries;
}

const ModelEntry& find_model(std::string_view name) {
  std::vector<std::string> known;
  for (const ModelEntry& entry : models()) {
    if (name == entry.name) return entry;
    known.emplace_back(entry.name);
  }
  const std::string asked(name);
  throw usage_error("unknown model '" + asked + "': known are " + join(known, ", ") + "." + did_you_mean(asked, known));
}

}  // namespace hopbench
