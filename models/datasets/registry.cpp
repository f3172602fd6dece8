// The data sets: one function each, one line here.
#include "backends/base/error.h"
#include "backends/base/text.h"
#include "models/dataset.h"

namespace hopbench {

DatasetEntry fashion_mnist();
DatasetEntry mnist();
DatasetEntry cifar10();
DatasetEntry cifar100();
DatasetEntry synthetic();
DatasetEntry synthetic_cifar();
DatasetEntry spamassassin();
DatasetEntry spamassassin_unigram();
DatasetEntry svmlight();
DatasetEntry synthetic_sparse();
DatasetEntry quadratic_centres();

const std::vector<DatasetEntry>& datasets() {
  static const std::vector<DatasetEntry> entries = {
      fashion_mnist(), mnist(),     cifar10(),         cifar100(),         spamassassin(),     spamassassin_unigram(),
      svmlight(),      synthetic(), synthetic_cifar(), synthetic_sparse(), quadratic_centres()};
  return entries;
}

const DatasetEntry& find_dataset(std::string_view name) {
  std::vector<std::string> known;
  for (const DatasetEntry& entry : datasets()) {
    if (name == entry.name) return entry;
    known.emplace_back(entry.name);
  }
  const std::string asked(name);
  throw usage_error("unknown data set '" + asked + "': known are " + join(known, ", ") + "." +
                    did_you_mean(asked, known));
}

}  // namespace hopbench
