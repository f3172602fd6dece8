// The measurements of `hopbench bench compute` for linear models on sparse rows: nanoseconds per non-zero value,
// compared with the time to read the same weights on this machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hopbench {

/// The figures of one data set. Times are CPU times of one thread, in seconds per non-zero value of the batch.
struct SparseBench {
  std::string data, skipped;              // skipped: why it was not measured; empty: it was
  std::size_t numbered = 0, columns = 0;  // highest column number of the data; number of a model's columns, those used
  double row = 0;                         // non-zeros per row
  int batch = 0;
  /// Times to read each weight of a batch once, in the order of the rows. A step needs at least twice that (it writes).
  std::vector<double> reading;
  std::vector<double> gradient, step;  // plain SGD
  std::vector<double> lazy_step;       // with momentum and weight decay
};

/// Measures linear_svm on spamassassin's trigrams, if they are there, and on drawn rows of 3662 values with columns up
/// to 16 609 143: drawn by a power law, as in text, and drawn uniformly, with a model of all columns.
std::vector<SparseBench> bench_sparse(int batch, int repeats);

}  // namespace hopbench
