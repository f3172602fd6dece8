// What `hopbench bench compute` measures of linear models on sparse rows: nanoseconds a non-zero value, beside what
// reading the same weights takes this machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hopbench {

/// One data set. Times are CPU times of one thread, in seconds a non-zero value of the batch.
struct SparseBench {
  std::string data, skipped;              // skipped: why it was not measured; empty: it was
  std::size_t numbered = 0, columns = 0;  // as the data number them, up to; and those that are used: a model's
  double row = 0;                         // non-zeros of a row
  int batch = 0;
  /// Reading each weight of a batch once, in the order of the rows: what no step can do without, twice (it writes).
  std::vector<double> reading;
  std::vector<double> gradient, step;  // plain SGD
  std::vector<double> lazy_step;       // with momentum and weight decay
};

/// linear_svm on spamassassin's trigrams, if they are there, and on drawn rows of 3662 values with columns numbered up
/// to 16 609 143: by a power law, as text has them, and all alike, with a model of all columns.
std::vector<SparseBench> bench_sparse(int batch, int repeats);

}  // namespace hopbench
