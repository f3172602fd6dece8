// The data sets: one function each, one line here.
#include "backends/base/find_named.h"
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

const DatasetEntry& find_dataset(std::string_view name) { return find_named(datasets(), name, "data set"); }

}  // namespace hopbench
