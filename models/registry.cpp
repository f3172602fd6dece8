// The models.
#include "backends/base/error.h"
#include "backends/base/text.h"
#include "models/workload.h"

namespace hopbench {

std::vector<ModelEntry> networks();
ModelEntry linear_svm();
ModelEntry logistic_regression();
ModelEntry quadratic();

const std::vector<ModelEntry>& models() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> all = networks();
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
