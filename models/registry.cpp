// The models.
#include "backends/base/find_named.h"
#include "models/workload.h"

namespace hopbench {

std::vector<ModelEntry> network_models();
ModelEntry linear_svm();
ModelEntry logistic_regression();
ModelEntry quadratic();

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all = network_models();
    all.insert(all.end(),
               {linear_svm(),
                logistic_regression(),
                quadratic(),
                {"timing_only", "no numbers: model.size parameters that cost time and bytes only; reads no data", "",
                 nullptr}});
    return all;
  }();
  return entries;
}

const ModelEntry& find_model(std::string_view name) { return find_named(models(), name, "model"); }

}  // namespace hopbench
