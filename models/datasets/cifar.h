// CIFAR-10 and CIFAR-100 in their binary form: what differs between the two, and small ones for tests.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "models/dataset.h"

namespace hopbench {

struct CifarLayout {
  std::string name, get;                    // get: how to get the files
  std::vector<std::string> train, test;     // files, in order
  std::size_t train_records, test_records;  // in each file, which has no header
  std::vector<int> classes;                 // of each label byte of a record; the last byte is the sample's label
  std::array<float, 3> mean, deviation;     // of the training set's red, green and blue pixels in 0 to 1
};

extern const CifarLayout kCifar10, kCifar100;

/// Loads the data set and keeps it as bytes. A sample becomes floats, (pixel / 255 - mean) / deviation, when it is
/// copied. Throws as DatasetEntry::load does.
DatasetPair load_cifar(const DatasetRequest& request, const CifarLayout& layout);

}  // namespace hopbench
